"""Rows on their way from a source to a slice: what readers yield and what is refused.

A reader yields every row it finds, good or bad; this module is the one place that decides
which of them have text and an id. Rows are counted from 0, per split or file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tokbench.bench.config.corpora import Corpus
from tokbench.bench.config.languages import did_you_mean
from tokbench.bench.errors import CorpusError


class Row(NamedTuple):
    """One row as a reader found it; nothing in it is trusted yet."""

    part: str
    """Name of the split or file."""
    number: int
    """Row within the part, counted from 0; skipped rows count."""
    text: object
    id: object = None
    cluster: object = None
    skip: str | None = None
    """Why the reader found no text here, where that is known."""
    line: int | None = None
    """Line of the file, counted from 1, where rows have lines."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A source opened for one language."""

    rows: Iterator[Row]
    parts: tuple[str, ...]
    """Splits or files, in reading order."""
    sources: tuple[Mapping[str, Any], ...]
    """What was read: paths as the user wrote them and SHA-256, or Hub id and revision."""
    unit: str
    line_ends: str | None = None
    bytes_in_files: int | None = None
    notes: tuple[str, ...] = ()


class Document(NamedTuple):
    """A row that has text and an id."""

    part: str
    id: str
    text: str
    cluster: str | None
    bytes: int


@dataclass(kw_only=True)
class Tally:
    """What happened to the rows of a reading."""

    seen: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


def documents(reading: Reading, entry: Corpus, tally: Tally) -> Iterator[Document]:
    """Yield the rows that hold text; count the others in the tally.

    Raises `CorpusError` with row and column for what the entry refuses, and always for text
    that cannot be UTF-8 and for ids that are missing.
    """
    several = len(reading.parts) > 1
    for row in reading.rows:
        tally.seen += 1
        if reason := _why_skipped(row, entry):
            tally.skipped[reason] += 1
            continue
        text = str(row.text)
        yield Document(
            part=row.part,
            id=_id(row, entry, several),
            text=text,
            cluster=_cluster(row, entry),
            bytes=_utf8_length(text, row, entry),
        )


def _why_skipped(row: Row, entry: Corpus) -> str | None:
    if row.skip is not None:
        return row.skip
    if isinstance(row.text, str):
        return None
    if row.text is None:
        if entry.missing == "skip":
            return "missing"
        raise CorpusError(
            f"{_where(row, entry.text)} has no value; use `missing: skip` to leave such rows out"
        )
    if entry.not_text == "skip":
        return "not text"
    raise CorpusError(
        f"{_where(row, entry.text)} holds {type(row.text).__name__} {row.text!r:.40}, not text; "
        "use `not_text: skip` to leave such rows out, or name another column in `text`"
    )


def _id(row: Row, entry: Corpus, several: bool) -> str:
    if entry.id is None:
        return f"{row.part}:{row.number}" if several else str(row.number)
    if isinstance(row.id, str) or (isinstance(row.id, int) and not isinstance(row.id, bool)):
        return str(row.id)
    what = "no value" if row.id is None else f"a {type(row.id).__name__}"
    raise CorpusError(
        f"{_where(row, entry.id)} has {what} where an id is needed; "
        "ids are text or whole numbers; name another column in `id` or leave it out"
    )


def _cluster(row: Row, entry: Corpus) -> str | None:
    if row.cluster is None or isinstance(row.cluster, str):
        return row.cluster
    if isinstance(row.cluster, int):
        return str(row.cluster)
    raise CorpusError(
        f"{_where(row, str(entry.cluster))} has a {type(row.cluster).__name__}; "
        "clusters are text or whole numbers; name another column in `cluster`"
    )


def _utf8_length(text: str, row: Row, entry: Corpus) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as exc:
        raise CorpusError(
            f"{_where(row, entry.text)} has a lone surrogate (U+{ord(text[exc.start]):04X}) at "
            f"character {exc.start}, byte {len(text[: exc.start].encode())}: such text cannot be "
            "UTF-8; correct the row or leave it out"
        ) from exc


def _where(row: Row, column: str) -> str:
    line = "" if row.line is None else f" (line {row.line})"
    return f"{row.part}, row {row.number}{line}, column {column!r}"


def no_column(column: str, known: list[str], where: str) -> CorpusError:
    """Return the error for a column that is not there."""
    return CorpusError(
        f"{where} has no column {column!r}{did_you_mean(column, known)}; "
        f"its columns are: {', '.join(known) or 'none'}"
    )


def columns_of(entry: Corpus) -> list[str]:
    """Return the columns an entry reads, text first, each once."""
    named = (entry.text, entry.id, entry.cluster, *(entry.where or ()))
    return list(dict.fromkeys(column for column in named if column is not None))


def matches(cells: Mapping[str, object], entry: Corpus) -> bool:
    """Whether a row has the values that its entry asks for; whole numbers are told by digits."""
    return all(
        value == wanted or (isinstance(value, int) and str(value) == wanted)
        for name, wanted in (entry.where or {}).items()
        for value in (cells.get(name),)
    )
