"""All ways to cut many words into pieces, as arrays, and the sums over them that training needs.

A word of n characters has n + 1 nodes, the places between them. An edge is a piece: it goes from
the node where it starts to the node where it ends. Sums over all paths and best paths are made
for all words at once, one place after the other, so the work in Python grows with the length of
the longest word and not with the number of words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Edges of many words. Nodes of a word follow each other; all arrays are parallel.

    The word "ab" with the pieces a (0), b (1) and ab (2), all with probability 1/4, twice:

    >>> lattice = Lattice(source=np.array([0, 1, 0]), target=np.array([1, 2, 2]),
    ...     piece=np.array([0, 1, 2]), place=np.array([0, 1, 2]),
    ...     first=np.array([0]), last=np.array([2]), weights=np.array([2.0]))
    >>> total, expected = lattice.expected_counts(np.log([0.25, 0.25, 0.25]))
    >>> round(float(np.exp(total / 2)), 4), expected.round(2).tolist()
    (0.3125, [0.4, 0.4, 1.6])
    >>> lattice.best_counts(np.log([0.25, 0.25, 0.25])).tolist()
    [0.0, 0.0, 2.0]
    """

    source: Ints
    target: Ints
    piece: Ints
    place: Ints
    """Position in its word of each node; shape (nodes,)."""
    first: Ints
    last: Ints
    """First and last node of each word; shape (words,)."""
    weights: Floats
    """How often each word occurs; shape (words,)."""

    def without(self, pieces_kept: npt.NDArray[np.bool_]) -> Lattice:
        """Return the lattice with only the edges whose piece is kept."""
        kept = pieces_kept[self.piece]
        return Lattice(
            source=self.source[kept],
            target=self.target[kept],
            piece=self.piece[kept],
            place=self.place,
            first=self.first,
            last=self.last,
            weights=self.weights,
        )

    def expected_counts(self, scores: Floats) -> tuple[float, Floats]:
        """Return the log likelihood of the words, and how often each piece is expected in them.

        Forward and backward sums over all cuts, in logarithms; natural log throughout.
        """
        ahead = self._sums(scores, self.source, self.target, self._by_target, self.first)
        behind = self._sums(scores, self.target, self.source, self._by_source, self.last)
        likelihood = ahead[self.last]
        of_edge = ahead[self.source] + scores[self.piece] + behind[self.target]
        share = np.exp(of_edge - likelihood[self._word_of_edge])
        counts: Floats = np.bincount(
            self.piece, share * self.weights[self._word_of_edge], minlength=len(scores)
        ).astype(np.float64)
        return float(likelihood @ self.weights), counts

    def best_counts(self, scores: Floats) -> Floats:
        """Return how often each piece is in the best cuts of the words."""
        counts = np.zeros(len(scores))
        for words, edges in self.best_paths(scores):
            counts += np.bincount(self.piece[edges], self.weights[words], minlength=len(scores))
        return counts

    def best_paths(self, scores: Floats) -> Iterator[tuple[Ints, Ints]]:
        """Yield the edges of all best cuts, last pieces first, as (word numbers, edge numbers).

        Words that cannot be cut at all are left out. Among equal sums the leftmost start wins.
        """
        came_by = self._best_edges(scores)
        words = np.arange(len(self.first))
        nodes = self.last
        while len(words):
            edges = came_by[nodes]
            reached = edges >= 0
            words, edges = words[reached], edges[reached]
            if len(words):
                yield words, edges
            nodes = self.source[edges]
            going_on = nodes != self.first[words]
            words, nodes = words[going_on], nodes[going_on]

    def _best_edges(self, scores: Floats) -> Ints:
        best = np.full(len(self.place), -np.inf)
        best[self.first] = 0.0
        came_by = np.full(len(self.place), -1)
        for edges, starts, nodes in self._by_target:
            sums = best[self.source[edges]] + scores[self.piece[edges]]
            highest = np.maximum.reduceat(sums, starts)
            best[nodes] = highest
            sizes = np.diff(np.append(starts, len(edges)))
            winners = edges[(sums == np.repeat(highest, sizes)) & (sums > -np.inf)]
            # edges of a node come with the leftmost start first: assigned last, it stays
            came_by[self.target[winners[::-1]]] = winners[::-1]
        return came_by

    def _sums(
        self, scores: Floats, source: Ints, target: Ints, levels: list[Level], start: Ints
    ) -> Floats:
        sums = np.full(len(self.place), -np.inf)
        sums[start] = 0.0
        for edges, starts, nodes in levels:
            terms = sums[source[edges]] + scores[self.piece[edges]]
            highest = np.maximum.reduceat(terms, starts)
            highest = np.where(np.isfinite(highest), highest, 0.0)
            sizes = np.diff(np.append(starts, len(edges)))
            scaled = np.add.reduceat(np.exp(terms - np.repeat(highest, sizes)), starts)
            with np.errstate(divide="ignore"):
                sums[nodes] = np.log(scaled) + highest
        return sums

    @cached_property
    def _word_of_edge(self) -> Ints:
        return np.searchsorted(self.first, self.source, side="right") - 1

    @cached_property
    def _by_target(self) -> list[Level]:
        return _levels(self.place, self.target, self.source)

    @cached_property
    def _by_source(self) -> list[Level]:
        return _levels(-self.place, self.source, self.target)


Level = tuple[Ints, Ints, Ints]
"""Edges to the nodes at one place, where each node's edges start, and the nodes."""


def _levels(order: Ints, node: Ints, other: Ints) -> list[Level]:
    """Group edges by the place of a node, then by node, then by their other end."""
    edges = np.lexsort((other, node, order[node]))
    nodes = node[edges]
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    places = order[nodes[starts]]
    bounds = np.flatnonzero(np.diff(places, prepend=places[0] - 1)) if len(places) else starts
    levels = []
    for low, high in zip(bounds, np.append(bounds[1:], len(starts)), strict=True):
        first = starts[low]
        end = starts[high] if high < len(starts) else len(edges)
        levels.append((edges[first:end], starts[low:high] - first, nodes[starts[low:high]]))
    return levels
