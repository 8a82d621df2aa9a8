"""Where two tokenizations of one text differ: segments between the cuts that both make.

The tokens of both sides of a document spell the same bytes (up to one space that one side puts
before the text), so a cut is a byte position. Between two neighbouring cuts that both sides make
lies a segment: either one token on both sides, with the same bytes, or a place where they differ.
All documents are laid one after the other, so that this is arithmetic on sorted arrays.

Documents whose bytes cannot be matched (text was normalized, an unknown token has no bytes) are
matched piece by piece instead, as a diff matches lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray

TokenIds = npt.NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class AlignedSide:
    """The documents of one side: ids, and the bytes and byte length of every id."""

    ids: Sequence[TokenIds]
    token_bytes: Sequence[bytes | None]
    """By id; None where an id has no content."""
    byte_lengths: IntArray
    """By id; 0 where an id has no content."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A place where the two sides cut a document differently."""

    document: int
    """Index into the given documents."""
    base: TokenIds
    candidate: TokenIds
    matched: bool
    """Whether both sides spell the same bytes here."""


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """All differences between two sides."""

    changes: Sequence[Change]
    renumbered: int
    """Tokens with the same bytes on both sides, but another id."""
    unmatched: int
    """Documents whose bytes could not be matched."""


def align(base: AlignedSide, candidate: AlignedSide) -> Alignment:
    """Return where two sides differ; document i is the same text on both.

    >>> vocabulary = [b"a", b"b", b"ab", b"c"]
    >>> def side(*ids):
    ...     arrays = [np.array(i, np.uint32) for i in ids]
    ...     sizes = np.array([1, 1, 2, 1])
    ...     return AlignedSide(ids=arrays, token_bytes=vocabulary, byte_lengths=sizes)
    >>> found = align(side([0, 1, 3], [3]), side([2, 3], [3]))
    >>> [(c.document, c.base.tolist(), c.candidate.tolist()) for c in found.changes]
    [(0, [0, 1], [2])]
    """
    gaps = [_gap(a, b, base, candidate) for a, b in zip(base.ids, candidate.ids, strict=True)]
    matched = [i for i, gap in enumerate(gaps) if gap is not None]
    # Documents without tokens have nothing to differ in, and no end to lay others behind.
    matched = [i for i in matched if len(base.ids[i])]
    changes, renumbered = (
        _by_bytes(base, candidate, matched, [gaps[i] or (0, 0) for i in matched])
        if matched
        else ([], 0)
    )
    unmatched = [i for i, gap in enumerate(gaps) if gap is None]
    for i in unmatched:
        changes += _by_pieces(i, base, candidate)
    return Alignment(changes=changes, renumbered=renumbered, unmatched=len(unmatched))


def _gap(
    base_ids: TokenIds, candidate_ids: TokenIds, base: AlignedSide, candidate: AlignedSide
) -> tuple[int, int] | None:
    """Return by how many bytes the text of each side is shifted; None if bytes do not match."""
    first, second = _spelled(base_ids, base), _spelled(candidate_ids, candidate)
    if first is None or second is None or bool(first) != bool(second):
        return None
    if first == second:
        return 0, 0
    if first == b" " + second:
        return 0, 1
    return (1, 0) if second == b" " + first else None


def _spelled(ids: TokenIds, side: AlignedSide) -> bytes | None:
    """Return the bytes of a document's tokens; None if a token has no bytes of its own."""
    parts = [side.token_bytes[i] for i in ids.tolist()]
    if not all(parts):
        return None
    return b"".join(part for part in parts if part)


def _by_bytes(
    base: AlignedSide,
    candidate: AlignedSide,
    documents: Sequence[int],
    gaps: Sequence[tuple[int, int]],
) -> tuple[list[Change], int]:
    ids = [np.concatenate([side.ids[i] for i in documents]) for side in (base, candidate)]
    lengths = [_lengths(side, documents) for side in (base, candidate)]
    extent = lengths[0] + [gap for gap, _ in gaps]  # the same for both sides
    # One byte between documents, so that the end of one is never the start of the next.
    starts = np.concatenate(([0], np.cumsum(extent + 1)))[: len(documents)]
    ends = [
        _ends(side, documents, starts + [gap[which] for gap in gaps])
        for which, side in enumerate((base, candidate))
    ]
    common = np.intersect1d(ends[0], ends[1], assume_unique=True)
    stops = [np.searchsorted(end, common, side="right") for end in ends]
    begins = [np.concatenate(([0], stop[:-1])) for stop in stops]
    single = (stops[0] - begins[0] == 1) & (stops[1] - begins[1] == 1)
    renumbered = single & (ids[0][begins[0]] != ids[1][begins[1]])
    of_document = np.searchsorted(starts, common, side="left") - 1
    changes = [
        Change(
            document=documents[of_document[k]],
            base=ids[0][begins[0][k] : stops[0][k]],
            candidate=ids[1][begins[1][k] : stops[1][k]],
            matched=True,
        )
        for k in np.flatnonzero(~single).tolist()
    ]
    return changes, int(renumbered.sum())


def _lengths(side: AlignedSide, documents: Sequence[int]) -> IntArray:
    sums = [int(side.byte_lengths[side.ids[i]].sum()) for i in documents]
    return np.array(sums, np.int64)


def _ends(side: AlignedSide, documents: Sequence[int], starts: IntArray) -> IntArray:
    """Return one past the last byte of every token, documents beginning at `starts`."""
    parts = [
        start + np.cumsum(side.byte_lengths[side.ids[i]])
        for i, start in zip(documents, starts.tolist(), strict=True)
    ]
    return np.concatenate(parts).astype(np.int64)


LONGEST = 4000
"""Tokens of a document up to which pieces are matched; it takes up to the square of it."""


def _by_pieces(document: int, base: AlignedSide, candidate: AlignedSide) -> Iterator[Change]:
    """Yield where the pieces of a document differ, matched as lines of a file are by a diff."""
    first, second = base.ids[document], candidate.ids[document]
    pieces = [
        [side.token_bytes[i] or i for i in side.ids[document].tolist()]
        for side in (base, candidate)
    ]
    spans = [(0, len(first), 0, len(second))]
    if max(map(len, pieces)) <= LONGEST:
        matcher = SequenceMatcher(None, pieces[0], pieces[1], autojunk=False)
        spans = [span[1:] for span in matcher.get_opcodes() if span[0] != "equal"]
    for start, end, other_start, other_end in spans:
        yield Change(
            document=document,
            base=first[start:end],
            candidate=second[other_start:other_end],
            matched=False,
        )
