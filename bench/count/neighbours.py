"""What stands beside what: successors and predecessors of tokens, as a few numbers.

Pairs are adjacent tokens of one document. They are counted exactly over the first batches of a
slice (about 8 MiB of text) and reduced at once, so that memory does not grow with the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.encoded import Encoded

LEAST = 3
"""Ids with fewer successors than this say nothing about how their successors are spread."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Facts about adjacent tokens; None where there is nothing to divide by."""

    documents: int
    tokens: int
    pairs: int
    """Adjacent tokens of one document."""
    entropy: float | None
    """Bits of the next token, given a token: −Σ p(a, b) log₂ p(b | a)."""
    ids: int
    """Ids with `LEAST` successors or more, which the means below are over."""
    evenness: float | None
    """Mean, weighted by occurrences, of the entropy of an id's successors ÷ log₂ of how many
    different ones it has; 0 where there is one."""
    efficiency: float | None
    """Mean of the entropy of an id's successors ÷ log₂ of the most there could be: the ids that
    follow any, or the id's occurrences where these are fewer."""
    variety: float | None
    """Mean of the smaller of an id's different successors and different predecessors."""


def neighbours_of(batches: Sequence[Encoded]) -> Neighbours:
    """Count adjacent tokens of the documents of some batches.

    >>> from tokbench.bench.count.encoded import flatten
    >>> found = neighbours_of([flatten([[1, 2, 1, 3, 1, 2], [3]])])
    >>> found.pairs, round(found.entropy, 3), found.ids, round(found.evenness, 3), found.variety
    (5, 0.551, 1, 0.918, 2.0)
    """
    flat = np.concatenate([np.zeros(0, np.uint32), *(batch.ids for batch in batches)])
    lengths = np.concatenate([np.zeros(0, np.int64), *(batch.lengths for batch in batches)])
    pairs = np.sort(_pairs(flat, lengths))
    first = _group_starts(pairs)
    distinct, counts = pairs[first], np.diff(first, append=len(pairs))
    left, right = distinct >> _HALF, (distinct & _LOWER).astype(np.int64)
    starts = _group_starts(left)
    successors = np.diff(starts, append=len(distinct))
    ids = left[starts].astype(np.int64)
    predecessors = np.bincount(right, minlength=int(ids.max(initial=0)) + 1)
    uses, bits = _entropies(counts, starts)
    some = uses >= LEAST
    most = np.minimum(int((predecessors > 0).sum()), uses)
    return Neighbours(
        documents=len(lengths),
        tokens=len(flat),
        pairs=len(pairs),
        entropy=_mean(bits, uses),
        ids=int(some.sum()),
        evenness=_mean(_share(bits, successors)[some], uses[some]),
        efficiency=_mean(_share(bits, most)[some], None),
        variety=_mean(np.minimum(successors, predecessors[ids])[some], None),
    )


_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


def _pairs(flat: npt.NDArray[np.uint32], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return adjacent ids of a document as numbers, the first in the upper half."""
    inside = np.ones(max(len(flat) - 1, 0), np.bool_)
    ends = np.cumsum(lengths)
    inside[ends[(ends > 0) & (ends < len(flat))] - 1] = False
    wide = flat.astype(np.uint64)
    pairs: npt.NDArray[np.uint64] = ((wide[:-1] << _HALF) | wide[1:])[inside]
    return pairs


def _group_starts(ordered: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return where each run of equal values begins."""
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    return np.flatnonzero(begins)


def _entropies(
    counts: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the occurrences and the entropy in bits of each group of counts."""
    if not len(starts):
        return np.zeros(0, np.int64), np.zeros(0)
    uses = np.add.reduceat(counts, starts)
    weighted = np.add.reduceat(counts * np.log2(counts), starts)
    return uses, np.maximum(np.log2(uses) - weighted / uses, 0.0)


def _share(bits: npt.NDArray[np.float64], most: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return entropies ÷ log₂ of a number, 0 where it is 1."""
    limit = np.log2(np.maximum(most, 2))
    return np.where(most > 1, bits / limit, 0.0)


def _mean(values: npt.NDArray[np.number], weights: npt.NDArray[np.int64] | None) -> float | None:
    return float(np.average(values, weights=weights)) if len(values) else None
