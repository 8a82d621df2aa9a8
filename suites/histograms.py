"""Facts about the ids that were seen: a histogram of ids against what each id stands for.

Arrays run over the distinct ids of a histogram, never over tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.tally import Tally
from tokbench.bench.model import IntArray


def merged(tallies: Iterable[Tally]) -> tuple[IntArray, IntArray]:
    """Return the distinct ids of several tallies, sorted, and how often each occurred."""
    parts = list(tallies)
    if len(parts) == 1:
        return parts[0].histogram_ids, parts[0].histogram_counts
    top = max((int(p.histogram_ids[-1]) + 1 for p in parts if len(p.histogram_ids)), default=0)
    counts = np.zeros(top, np.int64)
    for part in parts:
        counts[part.histogram_ids] += part.histogram_counts
    seen = np.flatnonzero(counts)
    return seen, counts[seen]


def weighted_quantiles(
    values: npt.NDArray[np.int32], counts: IntArray, shares: Sequence[float]
) -> list[int]:
    """Return the smallest value that has at least each share of the counts at or below it.

    Values are small and not negative, such as lengths of tokens.

    >>> weighted_quantiles(np.array([1, 2, 9], np.int32), np.array([5, 4, 1]), [0.5, 0.9, 1.0])
    [1, 2, 9]
    """
    running = np.cumsum(np.bincount(values, weights=counts))  # exact below 2⁵³
    wanted = np.ceil(np.array(shares) * running[-1] - 1e-9)
    places = np.minimum(np.searchsorted(running, wanted), len(running) - 1)
    return [int(value) for value in places]


def length_shares(lengths: npt.NDArray[np.int32], counts: IntArray, longest: int) -> list[float]:
    """Return the share of tokens of 1, 2, ... `longest` bytes and, last, of more.

    >>> length_shares(np.array([1, 2, 9], np.int32), np.array([5, 4, 1]), longest=2)
    [0.5, 0.4, 0.1]
    """
    capped = np.minimum(lengths, longest + 1)
    by_length = np.bincount(capped, weights=counts, minlength=longest + 2)[1:]
    return [float(share) for share in by_length / counts.sum()]
