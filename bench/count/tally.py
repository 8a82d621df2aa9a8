"""Tallies: what has been counted, per document and per token id.

A tally is made of arrays only. Tallies of parts of a corpus merge into the tally of the whole
(concatenate documents, add histograms), so batches, processes and machines give the same numbers
as one pass. Metrics are pure functions of tallies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.neighbours import Neighbours
from tokbench.bench.model import Finding, IntArray, Kind, Place, Status
from tokbench.bench.reasons import Reason

if TYPE_CHECKING:
    from tokbench.bench.corpus.slice_file import Slice

EXACT, NORMALIZED, LOSSY = 0, 1, 2
ROUND_TRIP = ("exact", "normalized", "lossy")
"""Names of the round-trip classes, by their number in `Tally.documents`."""

LOSS_CAUSES = (
    "unknown",
    "marks",
    "case",
    "compatibility",
    "spacing",
    "line_ends",
    "indentation",
    "other",
)

WORD_COLUMNS = ("words", "word_tokens", "continued_words", "single_token_words")
CUT_COLUMNS = (
    "placed",
    "word_ends_inside",
    "multi_word_tokens",
    "tokens_inside_character",
    "split_characters",
    "split_graphemes",
)
"""Columns that are 0 unless a suite needs ``cuts``; `placed` is 1 where tokens have positions."""

Need = Literal["cuts", "neighbours"]
"""What is counted only where a suite needs it."""

COLUMNS = (
    "bytes",
    "characters",
    "graphemes",
    "tokens",
    "unknown",
    "byte_fallback",
    "partial_character",
    *(f"lost_{cause}" for cause in LOSS_CAUSES),
    *WORD_COLUMNS,
    "spells_special",
    "byte_sum_breach",
    "round_trip",
    *CUT_COLUMNS,
)
"""The int64 columns of `Tally.documents`; docs/results.md says what each counts, and the metrics of
suite `boundaries` say it of `CUT_COLUMNS`."""


class CellKey(NamedTuple):
    """One cell of a run: a tokenizer on one language of a corpus."""

    tokenizer: str
    corpus: str
    language: str

    @property
    def place(self) -> Place:
        """Corpus and language."""
        return Place(self.corpus, self.language)


class Tally(Protocol):
    """The counts of one cell, or of a part of it, in memory or in files.

    `rows` are the documents' row numbers in the slice; every array of `documents` is int64 and
    of the same length. `ids_hash` holds XXH3-64 of each document's ids as little-endian uint32.
    `histogram_ids` is sorted and distinct.
    """

    @property
    def n(self) -> int:
        """Documents counted."""

    @property
    def rows(self) -> IntArray:
        """Row numbers of its documents."""

    @property
    def documents(self) -> Mapping[str, IntArray]:
        """The columns named in `COLUMNS`."""

    @property
    def ids_hash(self) -> npt.NDArray[np.uint64]:
        """Hash of each document's ids."""

    @property
    def histogram_ids(self) -> IntArray:
        """The distinct ids."""

    @property
    def histogram_counts(self) -> IntArray:
        """How often each of them occurs."""

    @property
    def ids(self) -> tuple[npt.NDArray[np.uint32], ...] | None:
        """The ids of each document, when the config keeps them."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Witnesses and failures."""

    @property
    def failed_rows(self) -> tuple[int, ...]:
        """Rows that could not be counted."""

    @property
    def neighbours(self) -> Neighbours | None:
        """What stands beside what, where a suite needs it."""

    def parts(self) -> Iterator[ArrayTally]:
        """Yield tallies that together are this one, each in memory and small enough for it."""

    def total(self, column: str) -> int:
        """Sum of one column over all documents."""

    def round_trip_count(self, kind: int) -> int:
        """Documents of one round-trip class."""


class _TallyColumns(Protocol):
    @property
    def documents(self) -> Mapping[str, IntArray]:
        """The columns."""

    @property
    def _totals(self) -> dict[str, int]:
        """Sums made before."""


class Sums:
    """Sums over columns, made once; what tallies in memory and in files share."""

    @cached_property
    def _totals(self) -> dict[str, int]:
        return {}

    def total(self: _TallyColumns, column: str) -> int:
        """Sum of one column over all documents."""
        if column not in self._totals:
            self._totals[column] = int(self.documents[column].sum())
        return self._totals[column]

    def round_trip_count(self: _TallyColumns, kind: int) -> int:
        """Documents of one round-trip class."""
        return int((self.documents["round_trip"] == kind).sum())


@dataclass(frozen=True, kw_only=True)
class ArrayTally(Sums):
    """A tally in memory; see `Tally` for what the fields are."""

    rows: IntArray
    documents: Mapping[str, IntArray]
    ids_hash: npt.NDArray[np.uint64]
    histogram_ids: IntArray
    histogram_counts: IntArray
    ids: tuple[npt.NDArray[np.uint32], ...] | None = None
    findings: tuple[Finding, ...] = ()
    failed_rows: tuple[int, ...] = ()
    neighbours: Neighbours | None = None

    @property
    def n(self) -> int:
        """Documents counted."""
        return len(self.rows)

    def parts(self) -> Iterator[ArrayTally]:
        """Yield itself, unless it is of no documents."""
        if self.n:
            yield self


def merge(parts: Sequence[ArrayTally]) -> ArrayTally:
    """Return the tally of all parts, documents in the order of their rows.

    >>> a, b = empty_tally(), empty_tally()
    >>> merge([a, b]).n
    0
    """
    if not parts:
        return empty_tally()
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([part.rows for part in parts])
    order = np.argsort(rows, kind="stable")
    ids, counts = merge_histograms([(p.histogram_ids, p.histogram_counts) for p in parts])
    kept: tuple[npt.NDArray[np.uint32], ...] | None = None
    if all(part.ids is not None for part in parts):
        flat = [ids_ for part in parts for ids_ in part.ids or ()]
        kept = tuple(flat[i] for i in order.tolist())
    return ArrayTally(
        rows=rows[order],
        documents={
            c: np.concatenate([part.documents[c] for part in parts])[order] for c in COLUMNS
        },
        ids_hash=np.concatenate([part.ids_hash for part in parts])[order],
        histogram_ids=ids,
        histogram_counts=counts,
        ids=kept,
        findings=first_of_each(finding for part in parts for finding in part.findings),
        failed_rows=tuple(sorted(row for part in parts for row in part.failed_rows)),
        neighbours=next(filter(None, (part.neighbours for part in parts)), None),
    )


def first_of_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep every failure and the first witness of each class."""
    kept: dict[object, Finding] = {}
    for finding in findings:
        what = finding.document_id if finding.kind == "failure" else finding.data.get("class")
        kept.setdefault((finding.kind, what), finding)
    return tuple(kept.values())


def merge_histograms(parts: Sequence[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Return distinct ids, sorted, and their counts over all parts.

    >>> one, two = (np.array([3, 5]), np.array([1, 2])), (np.array([5]), np.array([4]))
    >>> [values.tolist() for values in merge_histograms([one, two])]
    [[3, 5], [1, 6]]
    """
    if len(parts) == 1:
        return parts[0]
    ids = np.concatenate([ids for ids, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    distinct, place = np.unique(ids, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, place, counts)
    return distinct, total


def empty_tally() -> ArrayTally:
    """Return the tally of no documents."""
    none = np.zeros(0, np.int64)
    return ArrayTally(
        rows=none,
        documents=dict.fromkeys(COLUMNS, none),
        ids_hash=np.zeros(0, np.uint64),
        histogram_ids=none,
        histogram_counts=none,
        ids=(),
    )


@dataclass(frozen=True, kw_only=True)
class TokenizerFacts:
    """Facts about a tokenizer that suites and reports need after it has been unloaded."""

    fingerprint: str
    fingerprint_parts: Mapping[str, str]
    n_entries: int
    n_ids: int
    n_special: int
    special_ids: tuple[int, ...]
    byte_exact: bool
    notes: tuple[str, ...] = ()
    matched_special: int = 0
    """Special tokens that a text which spells them gets; the others are ordinary text."""
    encode_call: str = ""
    """The call that encodes and is timed, such as ``tokenizers.Tokenizer.encode_batch_fast``."""
    added_special_tokens: int = 0
    """Special tokens that its own template adds to a text; tokbench leaves them out."""
    trained: Mapping[str, Any] | None = None
    """Facts of its training, for a tokenizer that this run trained."""


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """What suites need to know of one language of a corpus."""

    corpus: str
    language: str
    tag: str | None
    script: str | None
    kind: Kind
    parallel: bool
    pivot: str | None
    sha256: str
    document_ids: Sequence[str]
    clusters: tuple[str, ...] | None
    words_reason: str | None
    """Why words are undefined here, None where they are defined."""
    parallel_refusal: str | None = None
    """Why a corpus declared parallel is not, None where its ids agree."""

    @classmethod
    def of(cls, part: Slice, parallel_refusal: str | None) -> CorpusFacts:
        """Take the facts from a slice."""
        meta, clusters = part.meta, part.clusters()
        return cls(
            corpus=meta.corpus,
            language=meta.language,
            tag=meta.tag,
            script=meta.script,
            kind=meta.kind,
            parallel=meta.parallel,
            pivot=meta.pivot,
            sha256=meta.sha256,
            document_ids=part.ids,
            clusters=None if clusters is None else tuple(c or "" for c in clusters),
            words_reason=meta.words_reason,
            parallel_refusal=parallel_refusal,
        )

    @property
    def place(self) -> Place:
        """Corpus and language."""
        return Place(self.corpus, self.language)

    @property
    def aligned(self) -> bool:
        """Whether row i is the same document in every language of the corpus."""
        return self.parallel and self.parallel_refusal is None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The result of one cell: its tally, or the reason why there is none."""

    key: CellKey
    status: Status
    tally: Tally = field(default_factory=empty_tally)
    reason: Reason | None = None
    detail: str | None = None
