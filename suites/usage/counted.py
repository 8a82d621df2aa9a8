"""What follows from the counts of ids alone: ranks in a text, languages of an entry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray

Histogram = tuple[IntArray, IntArray]
"""Distinct ids, ascending, and how often each occurs."""


def average_rank(counts: IntArray) -> float:
    """Return the mean rank of tokens among their entries by frequency, 1 the most frequent.

    >>> average_rank(np.array([1, 3]))
    1.25
    """
    ordered = np.sort(counts)[::-1].astype(np.float64)
    return float(ordered @ np.arange(1, len(ordered) + 1) / ordered.sum())


def shares(histograms: Sequence[Histogram]) -> npt.NDArray[np.float64]:
    """Return the share of each entry in the tokens of each language, shape (languages, entries).

    Only entries that occur have a column.
    """
    top = max(int(ids[-1]) for ids, _ in histograms) + 1
    table = np.zeros((len(histograms), top))
    for at, (ids, counts) in enumerate(histograms):
        table[at, ids] = counts / counts.sum()
    return table[:, table.any(axis=0)]


def languages_per_entry(table: npt.NDArray[np.float64]) -> float:
    """Return the mean number of languages that an entry occurs in.

    >>> languages_per_entry(np.array([[0.5, 0.5], [1, 0]]))
    1.5
    """
    return float((table > 0).sum(axis=0).mean())


def use_variation(table: npt.NDArray[np.float64]) -> float:
    """Return how unevenly languages use entries; 0 where all use them alike.

    >>> use_variation(np.array([[0.5, 0.5], [0.5, 0.5]])), use_variation(np.array([[1, 0], [0, 1.0]]))
    (0.0, 1.0)
    """
    return float(table.std(axis=0).sum())
