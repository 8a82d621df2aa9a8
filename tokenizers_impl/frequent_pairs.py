"""The pairs that training may join, with their scores: those that are frequent enough."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Rule = Literal["likelihood", "frequency"]
Pair = tuple[int, int]
Counts = npt.NDArray[np.float64]


class FrequentPairs:
    """The pairs that are frequent enough, as arrays: their halves, their counts, their scores."""

    def __init__(self, rule: Rule, min_frequency: int) -> None:
        self.rule = rule
        self.min_frequency = min_frequency
        self.rows: dict[Pair, int] = {}
        self.free: list[int] = []
        self.halves = np.zeros((2, 1024), np.int64)
        self.counts = np.zeros(1024)

    def put(self, pair: Pair, count: int) -> None:
        """Set a pair's count, taking it in or out where it crosses the minimum."""
        row = self.rows.get(pair)
        if count < self.min_frequency:
            if row is not None:
                self.counts[row] = 0
                self.free.append(self.rows.pop(pair))
            return
        if row is None:
            row = self.rows[pair] = self._new_row()
            self.halves[:, row] = pair
        self.counts[row] = count

    def best(self, symbol_counts: npt.NDArray[np.float64]) -> list[tuple[int, int, float, float]]:
        """Return (left, right, count, score) of all pairs that share the highest score."""
        if not self.rows:
            return []
        (left, right), _, scores = self.scored(symbol_counts)
        best = scores.max()
        rows = np.flatnonzero(scores == best)
        columns = left[rows].tolist(), right[rows].tolist(), self.counts[rows].tolist()
        return [(a, b, count, float(best)) for a, b, count in zip(*columns, strict=True)]

    def scored(self, symbol_counts: Counts) -> tuple[npt.NDArray[np.int64], Counts, Counts]:
        """Return halves (2, n), counts and scores of all rows; freed ones have a count of 0."""
        used = len(self.rows) + len(self.free)
        halves, counts = self.halves[:, :used], self.counts[:used]
        if self.rule == "frequency":
            return halves, counts, counts
        product = symbol_counts.take(halves[0], mode="clip")  # the fastest mode; all are there
        product *= symbol_counts.take(halves[1], mode="clip")
        np.maximum(product, 1, out=product)  # a freed row may name symbols that no longer occur
        return halves, counts, np.divide(counts, product, out=product)

    def listed(self, symbol_counts: Counts) -> tuple[npt.NDArray[np.int64], Counts, Counts]:
        """Return halves, counts and scores of the pairs that are there."""
        halves, counts, scores = self.scored(symbol_counts)
        there = counts > 0
        return halves[:, there], counts[there], scores[there]

    def _new_row(self) -> int:
        if self.free:
            return self.free.pop()
        row = len(self.rows)
        if row == len(self.counts):
            self.halves = np.concatenate([self.halves, np.zeros_like(self.halves)], axis=1)
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        return row
