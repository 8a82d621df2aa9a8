"""`tokbench size`: tokens, bytes per token and premiums of some files, without a config.

It is a run of the suites `efficiency`, `fidelity` and, of parallel files, `multilingual`: values,
intervals and refusals are those of any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokbench.bench.commands.fresh.text_files import TextFile, look_at
from tokbench.bench.config.resolve import key_of, resolve, unused
from tokbench.bench.config.schema import Config, load_config
from tokbench.bench.corpus.slices import INTERSECT
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, number, plural, table
from tokbench.bench.results.run_folder import Results

TOGETHER = "files"
"""Name of the corpus of parallel files."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """One file under one tokenizer."""

    file: str
    language: str
    tokenizer: str
    status: str
    documents: int | None = None
    tokens: int | None = None
    bytes_per_token: float | None = None
    bytes_per_token_interval: tuple[float, float] | None = None
    premium: float | None = None
    """Against the first language of parallel files; None elsewhere."""
    premium_interval: tuple[float, float] | None = None
    reasons: tuple[str, ...] = ()
    """Why values are missing, or may not be compared."""


def files_of(written: Sequence[str], named: Sequence[str]) -> list[TextFile]:
    """Return the files to read: those given alone, and those given as ``LANGUAGE=FILE``.

    Raises `UsageError` where one is missing, or a language is none.
    """
    pairs: list[tuple[str | None, str]] = [(None, one) for one in written]
    for one in named:
        language, sign, file = one.partition("=")
        if not sign or not language or not file:
            raise UsageError(f"--language {one}: write LANGUAGE=FILE, such as en=news.txt")
        pairs.append((language, file))
    if not pairs:
        raise UsageError("give a FILE, or --language LANGUAGE=FILE")
    for _, file in pairs:
        if not Path(file).is_file():
            what = "is a folder" if Path(file).is_dir() else "the file does not exist"
            raise UsageError(f"{file}: {what}")
    return [look_at(Path(file), file, language) for language, file in pairs]


def config_for(
    files: Sequence[TextFile], tokenizers: Sequence[str], *, parallel: bool = False
) -> Config:
    """Return the config of a run that measures the files.

    Parallel files are the languages of one corpus, and the first is what premiums are relative to;
    others are a corpus each. Raises `UsageError` for what cannot be measured so.
    """
    entries: dict[str, Any] = {}
    for one in tokenizers:
        found = resolve(one, Path.cwd(), taken=entries)
        entries[found.key] = dict(found.entry)
    return load_config(
        {
            "name": "size",
            "corpora": _together(files) if parallel else _apart(files),
            "tokenizers": entries,
            "suites": ["efficiency", "fidelity", *(["multilingual"] if parallel else [])],
            "reports": [],
        }
    )


def _apart(files: Sequence[TextFile]) -> dict[str, Any]:
    corpora: dict[str, Any] = {}
    for one in files:
        languages = {one.language: {"file": str(one.path)}}
        name = unused(key_of(one.written), corpora)
        corpora[name] = {"source": "files", "languages": languages, **one.options()}
    return corpora


def _together(files: Sequence[TextFile]) -> dict[str, Any]:
    if len(files) < 2:
        raise UsageError("--parallel needs two files or more: the first is what is paid for others")
    languages: dict[str, Any] = {}
    for one in files:
        if one.language == "und":
            raise UsageError(
                f"{one.written}: cannot find the language in the file name; give --language "
                "CODE=FILE"
            )
        if one.language in languages:
            raise UsageError(f"two files are {one.language}; one language is one file")
        languages[one.language] = {"file": str(one.path)}
    options = files[0].options()
    if other := next((one for one in files if one.options() != options), None):
        raise UsageError(
            f"{files[0].written} and {other.written} are not of one format; parallel files are"
        )
    corpus = {"source": "files", "languages": languages, "parallel": True, "pivot": next(iter(languages))}  # fmt: skip
    return {TOGETHER: {**corpus, **options}}


def sizes_of(files: Sequence[TextFile], config: Config, results: Results) -> list[Size]:
    """Return one size for each file and tokenizer, in the order in which they were given."""
    values: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in results.measurements.to_pylist():
        if row["language"] is not None and row["metric"] in (*_VALUES, "lost_byte_share"):
            place = (row["tokenizer"], row["corpus"], row["language"], row["metric"])
            values.setdefault(place, row)
    cells = {(c["tokenizer"], c["corpus"], c["language"]): c for c in results.run["cells"]}
    names = [(corpus, key) for corpus, e in config.run.corpora.items() for key in e.options()]
    return [
        _size(one.written, cells[tokenizer, *place], values)
        for one, place in zip(files, names, strict=True)
        for tokenizer in config.tokenizers
    ]


_SAME_LINES = "with --parallel line n says the same in every file; leave it out to count alone"
"""What to do without a config, where files have different lines."""

_VALUES = ("tokens", "bytes_per_token", "premium")


def _size(
    file: str, cell: Mapping[str, Any], values: Mapping[tuple[str, ...], Mapping[str, Any]]
) -> Size:
    place = (cell["tokenizer"], cell["corpus"], cell["language"])
    rows = {name: values.get((*place, name), {}) for name in (*_VALUES, "lost_byte_share")}
    said = [cell["detail"], *(row.get("detail") for row in rows.values())]
    tokens = rows["tokens"].get("value")
    return Size(
        file=file,
        language=cell["language"],
        tokenizer=cell["tokenizer"],
        status=cell["status"],
        documents=cell["n"],
        tokens=None if tokens is None else int(tokens),
        bytes_per_token=rows["bytes_per_token"].get("value"),
        bytes_per_token_interval=_interval(rows["bytes_per_token"]),
        premium=rows["premium"].get("value"),
        premium_interval=_interval(rows["premium"]),
        reasons=tuple(dict.fromkeys(one.replace(INTERSECT, _SAME_LINES) for one in said if one)),
    )


def _interval(row: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = row.get("ci_low"), row.get("ci_high")
    return None if low is None or high is None else (low, high)


def to_json(sizes: Sequence[Size]) -> list[dict[str, Any]]:
    """Return plain values."""
    return [asdict(one) for one in sizes]


def render(sizes: Sequence[Size], *, parallel: bool) -> str:
    """Return a table with intervals, and below it why values are missing or marked."""
    header = ["file", "language", "tokenizer", "n", "tokens", "bytes/token"]
    header += ["premium"] if parallel else []
    reasons = list(dict.fromkeys(reason for one in sizes for reason in one.reasons))
    rows = [_row(one, parallel, reasons) for one in sizes]
    lines = [table(header, rows, right=range(3, len(header)))]
    lines += [f"[{i}] {reason}" for i, reason in enumerate(reasons, 1)]
    if any(one.bytes_per_token_interval for one in sizes):
        n = plural(sizes[0].documents or 0, "document")
        lines.append(f"In brackets: 95 % intervals over documents ({n} in the first file).")
    return "\n".join(lines)


def _row(one: Size, parallel: bool, reasons: Sequence[str]) -> list[str]:
    marks = "".join(f" [{reasons.index(reason) + 1}]" for reason in one.reasons)
    cells = [one.file, one.language, one.tokenizer + marks, count(one.documents), count(one.tokens)]
    cells.append(_with(one.bytes_per_token, one.bytes_per_token_interval))
    return [*cells, *([_with(one.premium, one.premium_interval)] if parallel else [])]


def _with(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None or interval is None:
        return number(value)
    return f"{number(value)} ({number(interval[0])} to {number(interval[1])})"
