"""What a text file is, from its name and its first rows: language, kind, format, columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.bench.config.languages import normalise, resolve
from tokbench.bench.errors import UsageError
from tokbench.bench.model import Kind

FORMATS = {
    ".txt": "txt",
    ".text": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
"""Formats by suffix, as `source: files` reads them; a packing such as ``.gz`` may follow."""

PACKINGS = (".gz", ".bz2", ".xz", ".zst")
TEXT_COLUMNS = ("text", "sentence", "content", "document", "body")
"""Columns that are taken for the text, the first that there is."""
UNKNOWN = "und"
"""BCP-47 for a language that is not determined."""
HEAD_BYTES = 1 << 20

_CODE = re.compile(r"[a-z]{2,3}(?:[_-][A-Z][a-z]{3})?(?:[_-][A-Z]{2})?")


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A file that can be a corpus, or one language of it."""

    path: Path
    written: str
    """As it was found or given."""
    language: str
    """A BCP-47 code that the name holds, a Pygments alias for code, else ``und``."""
    kind: Kind = "natural"
    format: str | None = None
    """None if the suffix decides."""
    text: str | None = None
    """The column of the text; None for plain text."""
    id: str | None = None
    pattern: str | None = None
    """The path with ``{language}`` in place of the code; None where the name holds none."""

    def options(self) -> dict[str, Any]:
        """Return what a config says beside the path and the languages."""
        given: Mapping[str, Any] = {
            "kind": self.kind if self.kind == "code" else None,
            "format": self.format,
            "unit": "document" if self.kind == "code" else None,
            "text": self.text if self.text != "text" else None,
            "id": self.id,
        }
        return {key: value for key, value in given.items() if value is not None}


def look_at(path: Path, written: str, language: str | None = None) -> TextFile:
    """Return what a file is; a language that is given is taken as it is.

    Raises `UsageError` for a language that is none, and where a table has no column of text.
    """
    format_ = FORMATS.get(suffix_of(path))
    text, id_ = _columns(path, format_)
    code, pattern = code_in(written) or (None, None)
    alias = lexer_of(path) if format_ is None and code is None else None
    if language is not None:
        resolve(language)
        alias = None
    return TextFile(
        path=path,
        written=written,
        language=language or alias or code or UNKNOWN,
        kind="code" if alias else "natural",
        format="txt" if format_ is None else None,
        text=text,
        id=id_,
        pattern=pattern if language is None else None,
    )


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format, below a packing.

    >>> suffix_of(Path("news.EN.txt.gz")), suffix_of(Path("train.en"))
    ('.txt', '.en')
    """
    suffixes = [one.lower() for one in path.suffixes]
    if suffixes and suffixes[-1] in PACKINGS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def code_in(written: str) -> tuple[str, str] | None:
    """Return the language code at the end of a file's name, or that its folder is named by.

    With it comes the path with ``{language}`` in its place.

    >>> code_in("data/news.en.txt"), code_in("sw_Latn/a.jsonl"), code_in("train.de")
    (('en', 'data/news.{language}.txt'), ('sw_Latn', '{language}/a.jsonl'), ('de', 'train.{language}'))
    >>> code_in("my data.txt"), code_in("the.txt")
    (None, None)
    """
    folder, slash, name = written.rpartition("/")
    end = len(name)
    while (dot := name.rfind(".", 0, end)) > 0 and name[dot:end].lower() in (*FORMATS, *PACKINGS):
        end = dot
    stem = name[:end]
    for start in _starts(stem):
        if is_code(stem[start:]):
            pattern = f"{folder}{slash}{name[:start]}{{language}}{name[end:]}"
            return stem[start:], pattern
    before, slash2, last = folder.rpartition("/")
    if is_code(last):
        return last, f"{before}{slash2}{{language}}/{name}"
    return None


def _starts(stem: str) -> Sequence[int]:
    """Return where a code at the end of a name may begin, the longest first."""
    return [0, *(found.end() for found in re.finditer(r"[._-]", stem))]


def is_code(text: str) -> bool:
    """Whether a text is a language code and no word that happens to be one, such as ``the``."""
    if not _CODE.fullmatch(text):
        return False
    tag = normalise(text)
    return tag is not None and (len(text) == 2 or len(tag) == 2 or "-" in tag or "_" in text)


def lexer_of(path: Path) -> str | None:
    """Return the Pygments alias of a program's language, by the file's name."""
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(path.name)
    name = str(found.aliases[0]) if found is not None and found.aliases else None
    return None if name in (None, "text") else name


def _columns(path: Path, format_: str | None) -> tuple[str | None, str | None]:
    """Return the columns of text and of ids; a packed file is taken to have a column `text`."""
    if format_ in (None, "txt"):
        return None, None
    names = [] if path.suffix.lower() in PACKINGS else _names(path, format_)
    if not names:
        return "text", None
    text = next((one for one in TEXT_COLUMNS if one in names), None)
    if text is None:
        raise UsageError(
            f"{path}: no column is called {', '.join(TEXT_COLUMNS)}; there are: "
            f"{', '.join(names)}. "
            "Write a config and say `text: COLUMN`"
        )
    return text, "id" if "id" in names else None


def _names(path: Path, format_: str | None) -> list[str]:
    """Return the names of columns, none where the file cannot be read: a run says why."""
    try:
        if format_ == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        with path.open("rb") as file:
            line = file.readline(HEAD_BYTES).decode("utf-8-sig")
        if format_ == "jsonl":
            row = json.loads(line)
            return list(row) if isinstance(row, dict) else []
        import csv

        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        return next(csv.reader([line], delimiter=delimiter), [])
    except (OSError, ValueError, RecursionError):
        return []
