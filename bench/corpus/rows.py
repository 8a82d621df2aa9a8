"""Rows on their way from a source to a slice: what readers yield and what is refused.

A reader yields every row it finds, good or bad; this module is the one place that decides
which of them have text and an id. Rows are counted from 0, per split or file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tokbench.bench.config.corpora import Corpus
from tokbench.bench.errors import CorpusError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.workers import heartbeat

ROWS_BETWEEN_WORDS = 4096

DEEPEST = 8
"""Highest number of dots in a column name."""

_NO_LABELS: Mapping[str, Sequence[str]] = {}


class Row(NamedTuple):
    """One row as read, before any check."""

    part: str
    """Name of the split or file."""
    number: int
    """Row within the part, counted from 0; skipped rows count."""
    text: object
    id: object = None
    cluster: object = None
    skip: str | None = None
    """Why there is no text, if the reader knows."""
    line: int | None = None
    """Line of the file, counted from 1, where rows have lines."""
    stripped: int = 0
    """Bytes of the line end that was taken off the text."""
    remark: str | None = None
    """What is unusual about the row; such rows are counted and reported together."""
    weight: object = None


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
    matched_by: str = "row number"
    """The key that joins rows of two languages: row number, line number or id."""
    offered: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Values of the columns of `where` in rows that were not taken, filled as rows are read."""


class Document(NamedTuple):
    """A row that has text and an id."""

    part: str
    id: str
    text: str
    cluster: str | None
    bytes: int
    stripped: int = 0
    weight: int = 1
    """How often training sees it."""


@dataclass(kw_only=True)
class RowCounts:
    """Counts of rows taken and left out in a reading."""

    seen: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)


def documents(reading: Reading, entry: Corpus, tally: RowCounts) -> Iterator[Document]:
    """Yield the rows that hold text; count the others in the tally.

    Raises `CorpusError` with row and column for what the entry refuses, and always for text
    that cannot be UTF-8 and for ids that are missing.
    """
    several = len(reading.parts) > 1
    for row in reading.rows:
        tally.seen += 1
        if tally.seen % ROWS_BETWEEN_WORDS == 0:  # also where no row has text
            heartbeat.at("rows")
        if row.remark is not None:
            tally.remarks[row.remark] += 1
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
            stripped=row.stripped,
            weight=_weight(row, entry),
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
        f"{_where(row, entry.id)} has {what} instead of an id; ids are text or whole numbers; name "
        "another column in `id` or leave it out"
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


MOST = 2**53
"""Trainers cannot represent larger weights exactly."""


def _weight(row: Row, entry: Corpus) -> int:
    if entry.weight is None:
        return 1
    value = row.weight
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST:
        return value
    raise CorpusError(
        f"{_where(row, entry.weight)} holds {value!r:.40}; weights are whole numbers from 1 on; "
        "correct the row or name another column in `weight`"
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
    named = (entry.text, entry.id, entry.cluster, entry.weight, *(entry.where or ()))
    return list(dict.fromkeys(column for column in named if column is not None))


class Filter:
    """Which rows have the values that an entry's `where` asks for.

    A whole number is matched by its digits, a class by its digits or its name.

    >>> from tokbench.bench.config.corpora import FilesCorpus
    >>> entry = FilesCorpus(source="files", path="a.csv", language="de", where={"lang": "deu"})
    >>> taken = Filter(entry)
    >>> taken({"lang": "deu"}), taken({"lang": 1}, {"lang": ["eng", "deu"]}), taken({"lang": "fra"})
    (True, True, False)
    >>> taken.offered
    {'lang': {'fra': None}}
    """

    SHOWN = 20

    def __init__(self, entry: Corpus) -> None:
        self.wanted = dict(entry.where or {})
        self.offered: dict[str, dict[str, None]] = {name: {} for name in self.wanted}
        """Values of each column in rows that were not taken, the first `SHOWN` of them."""

    def __call__(
        self, cells: Mapping[str, object], labels: Mapping[str, Sequence[str]] = _NO_LABELS
    ) -> bool:
        """Return whether a row is taken; `cells` holds at least the requested columns."""
        fits = True
        for name, wanted in self.wanted.items():
            spellings = _spellings(cell(cells, name), labels.get(name, ()))
            if wanted in spellings:
                continue
            fits = False
            if len(self.offered[name]) < self.SHOWN:
                self.offered[name].update(dict.fromkeys(spellings[:1]))
        return fits


def _spellings(value: object, names: Sequence[str]) -> list[str]:
    """Return how a value may be written in `where`, the best way first."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, int):
        return []
    if not isinstance(value, bool) and 0 <= value < len(names):
        return [names[value], str(value)]
    return [str(value)]


def cell(cells: Mapping[str, object], column: str) -> object:
    """Return the value of a column; ``a.b`` is column ``a.b``, else member b of column a.

    >>> cell({"translation": {"de": "Hallo"}}, "translation.de")
    'Hallo'
    """
    if column in cells or "." not in column:
        return cells.get(column)
    value: object = cells
    for name in column.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def names_in(cells: Mapping[str, object], before: str = "") -> Iterator[str]:
    """Yield the columns of an object, and the members of those that are objects, dotted."""
    for name, value in cells.items():
        yield before + name
        if isinstance(value, Mapping) and before.count(".") < DEEPEST:
            yield from names_in(value, f"{before}{name}.")
