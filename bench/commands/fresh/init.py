"""`tokbench init`: a commented config, from the files that are there and from flags.

Text files whose names differ only by a language code become one corpus; others become a corpus
each. What was guessed is said in a comment beside it. The config is loaded before it is written, so
that `tokbench validate` finds nothing wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokbench.bench.commands.fresh.globs import globs
from tokbench.bench.commands.fresh.text_files import (
    FORMATS,
    PACKINGS,
    UNKNOWN,
    TextFile,
    lexer_of,
    look_at,
    suffix_of,
)
from tokbench.bench.config.corpora import FilesCorpus
from tokbench.bench.config.corpus_options import LanguageOptions
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.resolve import key_of, resolve, unused
from tokbench.bench.config.schema import Config, load_config
from tokbench.bench.corpus.find_files import source_files
from tokbench.bench.corpus.read_files import look
from tokbench.bench.errors import CorpusError, InputError, TokbenchError, UsageError
from tokbench.bench.files import write_whole
from tokbench.bench.markup import listed, plural
from tokbench.bench.run.preflight import lacks, told

NAME = "tokbench.yaml"
DEEP = 3
"""Folders below the one that is looked through."""
MOST = 2000
"""Files that are looked at."""
READY = ("o200k_base", "cl100k_base")
"""Tokenizers of a config where there are none."""

_TOKENIZERS = ("tokenizer.json", "tekken.json", "vocab.txt", ".model", ".tiktoken")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A config to be written, and what is said of it."""

    text: str
    config: Config
    notes: Sequence[str] = ()
    """What was left out, and why."""


@dataclass(kw_only=True)
class _Files:
    texts: list[TextFile] = field(default_factory=list)
    tokenizers: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def draft(
    folder: Path,
    *,
    name: str | None = None,
    tokenizers: Sequence[str] = (),
    named: Sequence[str] = (),
    parallel: bool = False,
    pivot: str | None = None,
) -> Draft:
    """Return a config for what is in a folder.

    `tokenizers` are measured beside those found there; `named` are ``LANGUAGE=FILE`` and take the
    place of the text that was found. With `parallel` the languages of a corpus are translations.
    Raises `UsageError` where a flag says what cannot be.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    found = _look_through(folder, named)
    for one in tokenizers:
        entry = resolve(one, folder, taken=found.tokenizers)
        found.tokenizers[entry.key] = entry.entry
    corpora = _corpora(folder, found.texts, parallel=parallel, pivot=pivot, together=bool(named))
    title = name or key_of(folder.resolve().name)
    text = _text(title, corpora, found.tokenizers)
    path = folder / NAME
    config = _loaded(path, text, folder)
    return Draft(text=text, config=config, notes=found.notes)


def write(text: str, path: Path, *, force: bool = False) -> None:
    """Write a config; raises `UsageError` where there is one and `force` is not given."""
    if path.exists() and not force:
        raise UsageError(f"{path}: exists; give --force to replace it, or another --output")
    write_whole(path, text)


def _loaded(path: Path, text: str, folder: Path) -> Config:
    """Return the config that a text is; what `validate` would find wrong with it is an error."""
    import io

    from ruamel.yaml import YAML

    values = YAML(typ="safe", pure=True).load(io.StringIO(text))
    config = load_config(values, folder=folder, shown=str(path))
    if missing := lacks(config):
        raise InputError(told(config, missing))
    return config


def _look_through(folder: Path, named: Sequence[str]) -> _Files:
    found = _Files()
    for one in named:
        language, sign, file = one.partition("=")
        if not (sign and language and file and (folder / file).is_file()):
            raise UsageError(f"--language {one}: write LANGUAGE=FILE, with a file in {folder}")
        found.texts.append(look_at(folder / file, file, language))
    for path in _files(folder):
        written = path.relative_to(folder).as_posix()
        if path.name.removesuffix(".gz").endswith(_TOKENIZERS):
            _add_tokenizer(found, written, folder)
        elif not named and _is_text(path):
            _add_text(found, path, written, folder)
    return found


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder that are not hidden, nor in a folder of runs."""
    files: list[Path] = []
    waiting = [(folder, 0)]
    while waiting and len(files) < MOST:
        here, depth = waiting.pop(0)
        for path in sorted(here.iterdir()):
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_file():
                files.append(path)
            elif path.is_dir() and depth < DEEP and not _is_ours(path):
                waiting.append((path, depth + 1))
    return files


def _is_ours(folder: Path) -> bool:
    return (folder / "plan.json").exists() or folder.name in ("node_modules", "__pycache__")


def _is_text(path: Path) -> bool:
    """Whether a file may be a corpus: by its suffix, or a program that is none of a project."""
    if path.name.lower().startswith(("readme", "license", "requirements")):
        return False
    suffix = suffix_of(path)
    return suffix in FORMATS or (lexer_of(path) is not None and suffix in _PROGRAMS)


_PROGRAMS = (".py", ".js", ".ts", ".java", ".go", ".rs", ".c", ".cpp", ".rb", ".kt", ".swift")


def _add_tokenizer(found: _Files, written: str, folder: Path) -> None:
    try:
        entry = resolve(f"./{written}", folder, taken=found.tokenizers)
    except TokbenchError as exc:
        found.notes.append(f"left out: {exc}")
        return
    found.tokenizers[entry.key] = {**entry.entry, "file": written}


def _add_text(found: _Files, path: Path, written: str, folder: Path) -> None:
    try:
        one = look_at(path, written)
        _refuse_unreadable(one, folder)
    except TokbenchError as exc:
        found.notes.append(f"left out: {exc}")
    else:
        found.texts.append(one)


def _refuse_unreadable(one: TextFile, folder: Path) -> None:
    """Raise `CorpusError` for what a run would not read."""
    entry = FilesCorpus(
        source="files",
        languages={UNKNOWN: LanguageOptions(file=one.written)},
        kind=one.kind,
        format="txt" if one.format else None,
    )
    for file in source_files(entry, UNKNOWN, folder):
        look(file, entry, Limits())
        if file.path.stat().st_size == 0:
            raise CorpusError(f"{file.part} is empty")


@dataclass(frozen=True, kw_only=True)
class _Corpus:
    values: Mapping[str, Any]
    comments: Mapping[str, str]


def _corpora(
    folder: Path,
    texts: Sequence[TextFile],
    *,
    parallel: bool,
    pivot: str | None,
    together: bool,
) -> dict[str, _Corpus]:
    """Return corpora by name: files that differ by a language code, and each other file."""
    groups: dict[tuple[str, str], list[TextFile]] = {}
    shared_globs = globs(folder, texts)
    for one in texts:
        shared = one.pattern or ("code" if one.kind == "code" else shared_globs.get(one.written))
        shared = "texts" if together else shared or one.written
        groups.setdefault((shared, json.dumps(one.options())), []).append(one)
    found: dict[str, _Corpus] = {}
    for (stem, _), some in groups.items():
        name = unused(_corpus_name(stem), found)
        found[name] = (
            _gathered(stem, some)
            if "*" in stem
            else _corpus(folder, some, parallel=parallel, pivot=pivot)
        )
    if not found:
        values = {
            "source": "builtin",
            "dataset": "sentences",
            "parallel": True,
            "pivot": "eng_Latn",
        }
        why = "no text was found: bundled sentences in 27 languages, too few to decide by"
        found["sentences"] = _Corpus(values=values, comments={"source": why})
    return found


def _corpus_name(shared: str) -> str:
    """Return a name for a corpus: of its files without codes and suffixes, or their folder.

    >>> _corpus_name("a/news.{language}.txt.gz"), _corpus_name("talks/{language}.jsonl")
    ('news', 'talks')
    >>> _corpus_name("{language}/b.csv"), _corpus_name("{language}.txt")
    ('b', 'texts')
    """
    path = Path(shared)
    name = path.name
    for suffix in (*PACKINGS, *FORMATS):
        name = name.removesuffix(suffix)
    plain = name.replace("{language}", "").strip("._-* ")
    folder = path.parent.name.replace("{language}", "").strip("._-* ")
    return key_of(plain or folder or "texts")


def _gathered(glob: str, some: Sequence[TextFile]) -> _Corpus:
    """Return the corpus of many files in no known language."""
    values = {"source": "files", "path": glob, "language": UNKNOWN, **some[0].options()}
    comments = {"path": plural(len(some), "file"), "language": _UND}
    return _Corpus(values=values, comments=comments)


_UND = "und: no language in the file name; write its code (en, sw)"


def _corpus(
    folder: Path, some: Sequence[TextFile], *, parallel: bool, pivot: str | None
) -> _Corpus:
    languages: dict[str, Any] = {}
    for one in some:
        languages.setdefault(one.language, []).append(one.written)
    single = some[0].pattern if all(one.pattern == some[0].pattern for one in some) else None
    values: dict[str, Any] = {"source": "files"}
    comments: dict[str, str] = {}
    if single and len(languages) == len(some):
        values |= {"path": single, "languages": list(languages)}
    else:
        values["languages"] = {key: {"file": files[0]} for key, files in languages.items()}
        if len(languages) < len(some):
            left = [file for files in languages.values() for file in files[1:]]
            comments["languages"] = f"one file of each language; not: {listed(left, 3)}"
    if "und" in languages:
        comments["languages"] = _UND
    values |= some[0].options()
    values |= _parallel(folder, some, list(languages), parallel, pivot, comments)
    return _Corpus(values=values, comments=comments)


def _parallel(
    folder: Path,
    some: Sequence[TextFile],
    languages: Sequence[str],
    wanted: bool,
    pivot: str | None,
    comments: dict[str, str],
) -> dict[str, Any]:
    if len(languages) < 2 or some[0].kind == "code":
        return {}
    lines = {_lines(folder / one.written) for one in some}
    if not wanted and (None in lines or len(lines) != 1):
        comments["languages"] = (
            "are these translations, line by line? then add `parallel: true` and a `pivot`"
        )
        return {}
    first = pivot or next((one for one in languages if one in ("en", "eng_Latn")), languages[0])
    if first not in languages:
        raise UsageError(f"--pivot {first}: there is no such language; there are: {languages}")
    equal = f"all files have {plural(lines.pop() or 0, 'line')}; are they translations?"
    comments["parallel"] = "as asked" if wanted else equal
    comments["pivot"] = "premiums are relative to this language"
    return {"parallel": True, "pivot": first}


def _lines(path: Path) -> int | None:
    """Return the number of lines of a plain text, None for other files and large ones."""
    if suffix_of(path) != ".txt" or path.suffix != ".txt" or path.stat().st_size > 10**8:
        return None
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _text(
    name: str, corpora: Mapping[str, _Corpus], tokenizers: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the config as YAML with comments; strings are as in JSON, which YAML reads."""
    return "\n".join([*_head(name), *_of_corpora(corpora), "", *_of_tokenizers(tokenizers), *_END])


def _head(name: str) -> list[str]:
    return [
        "# Written by `tokbench init`. Check what is marked, then:",
        f"#   tokbench validate {NAME}   finds mistakes and missing files",
        f"#   tokbench run {NAME}        measures, and writes runs/{name}-1/report.md",
        f"name: {_scalar(name)}",
        "",
    ]


def _of_corpora(corpora: Mapping[str, _Corpus]) -> Iterator[str]:
    yield "# The text that is measured: bring some of what your users write."
    yield "corpora:"
    for name, corpus in corpora.items():
        yield f"  {_scalar(name)}:"
        for key, value in corpus.values.items():
            comment = f"  # {corpus.comments[key]}" if key in corpus.comments else ""
            yield f"    {key}: {_scalar(value)}{comment}"
        if "sample" not in corpus.values:
            yield "    # limit: {rows: 1000}   # a part is enough for a first look"


def _of_tokenizers(tokenizers: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "# Names (tokbench list tokenizers), files, or Hub repositories (owner/name)."
    yield "tokenizers:"
    for key, entry in tokenizers.items():
        yield f"  {_scalar(key)}: {_scalar(dict(entry))}"
    for one in READY if len(tokenizers) < 2 else ():
        if one not in tokenizers:
            yield f"  {one}: {one}  # to compare with"


_END = (
    "",
    "# What is computed: `tokbench list suites` has them all.",
    "suites:",
    "  efficiency: {}    # tokens, bytes per token, words",
    "  multilingual: {}  # what each language pays, where text is parallel",
    "  fidelity: {}      # whether the text survives",
    "  # throughput: {}  # speed; run it on an idle machine",
    "",
)


def _scalar(value: Any) -> str:
    """Return a value on one line: JSON is YAML, and plain words need no quotation marks.

    >>> _scalar("news"), _scalar("no"), _scalar(["en", "a b"]), _scalar({"file": "x.json"})
    ('news', '"no"', '[en, "a b"]', '{file: x.json}')
    """
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_scalar(key)}: {_scalar(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return text
    plain = (
        value.isascii() and value[:1].isalpha() and all(c.isalnum() or c in "_-./" for c in value)
    )
    return value if plain and value.lower() not in _WORDS else text


_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
