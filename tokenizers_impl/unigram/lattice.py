"""All ways to cut many words into pieces, as arrays, and the sums over them that training needs.

A word of n characters has n + 1 nodes, the places between them. An edge is a piece: it goes from
the node where it starts to the node where it ends. Sums over all paths and best paths are made
for all words at once, one place after the other, so the work in Python grows with the length of
the longest word and not with the number of words.

There are many edges, so they are kept small: numbers of nodes, edges and pieces have 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
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

    source: Numbers
    target: Numbers
    piece: Numbers
    place: Numbers
    """Position in its word of each node; shape (nodes,)."""
    first: Ints
    last: Ints
    """First and last node of each word; shape (words,)."""
    weights: Floats
    """How often each word occurs; shape (words,)."""

    def keep(self, pieces_kept: npt.NDArray[np.bool_]) -> None:
        """Drop the edges whose piece is not kept; one array after the other, to save memory."""
        kept = pieces_kept.take(self.piece)
        number = np.cumsum(kept, dtype=np.int32) - 1
        self.by_target = number.take(self.by_target[kept.take(self.by_target)])
        self.by_source = number.take(self.by_source[kept.take(self.by_source)])
        del number
        self.source = self.source[kept]
        self.target = self.target[kept]
        self.piece = self.piece[kept]

    def expected_counts(self, scores: Floats) -> tuple[float, Floats]:
        """Return the log likelihood of the words, and how often each piece is expected in them.

        Forward and backward sums over all cuts, in logarithms; natural log throughout.
        """
        ahead = self._sums(scores, self.source, self._levels_ahead(), self.first)
        behind = self._sums(scores, self.target, self._levels_behind(), self.last)
        likelihood = ahead[self.last]
        counts = np.zeros(len(scores))
        for low in range(0, len(self.piece), _MOST_EDGES):
            part = slice(low, low + _MOST_EDGES)
            source, piece = self.source[part], self.piece[part]
            word = self._word_of_node.take(source)
            share = ahead.take(source) + scores.take(piece) + behind.take(self.target[part])
            share = np.exp(share - likelihood.take(word)) * self.weights.take(word)
            np.add.at(counts, piece, share)
        return float(likelihood @ self.weights), counts

    def best_counts(self, scores: Floats) -> Floats:
        """Return how often each piece is in the best cuts of the words."""
        counts = np.zeros(len(scores))
        for words, edges in self.best_paths(scores):
            counts += np.bincount(self.piece[edges], self.weights[words], minlength=len(scores))
        return counts

    def best_paths(self, scores: Floats) -> Iterator[tuple[Ints, Numbers]]:
        """Yield the edges of all best cuts, last pieces first, as (word numbers, edge numbers).

        Words that cannot be cut at all are left out. Among equal sums the leftmost start wins.
        """
        came_by = self._best_edges(scores)
        words = np.arange(len(self.first))
        nodes = self.last.astype(np.int32)
        while len(words):
            edges = came_by[nodes]
            reached = edges >= 0
            words, edges = words[reached], edges[reached]
            if len(words):
                yield words, edges
            nodes = self.source[edges]
            going_on = nodes != self.first[words]
            words, nodes = words[going_on], nodes[going_on]

    def _best_edges(self, scores: Floats) -> Numbers:
        best = np.full(len(self.place), -np.inf)
        best[self.first] = 0.0
        came_by = np.full(len(self.place), -1, np.int32)
        for edges, starts, nodes in self._levels_ahead():
            sums = best[self.source[edges]] + scores[self.piece[edges]]
            highest = np.maximum.reduceat(sums, starts)
            best[nodes] = highest
            sizes = np.diff(np.append(starts, len(edges)))
            winners = edges[(sums == np.repeat(highest, sizes)) & (sums > -np.inf)]
            # edges of a node come with the leftmost start first: assigned last, it stays
            came_by[self.target[winners[::-1]]] = winners[::-1]
        return came_by

    def _sums(
        self, scores: Floats, source: Numbers, levels: Iterable[Level], start: Ints
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
    def _word_of_node(self) -> Numbers:
        return np.repeat(np.arange(len(self.first), dtype=np.int32), self.last - self.first + 1)

    @cached_property
    def by_target(self) -> Numbers:
        """Edges by the place where they end."""
        return _order(self.place, self.target, self.source)

    @cached_property
    def by_source(self) -> Numbers:
        """Edges by the place where they begin, the last place first."""
        return _order(-self.place, self.source, self.target)

    def _levels_ahead(self) -> Iterator[Level]:
        return _levels(self.place, self.target, self.by_target)

    def _levels_behind(self) -> Iterator[Level]:
        return _levels(-self.place, self.source, self.by_source)


_MOST_EDGES = 1 << 18
"""Edges whose shares are summed up together, which bounds memory."""

Level = tuple[Numbers, Ints, Numbers]
"""Edges to the nodes at one place, where each node's edges start, and the nodes."""


def _order(place: Numbers, node: Numbers, other: Numbers) -> Numbers:
    """Order edges by the place of a node, then by node, then by their other end."""
    places = place.take(node)
    order = np.empty(len(node), np.int32)
    done = 0
    # a few places at a time, since sorting takes memory
    low, high = int(places.min(initial=0)), int(places.max(initial=0)) + 1
    step = (high - low) // 64 + 1
    for first in range(low, high, step):
        edges = np.flatnonzero((places >= first) & (places < first + step))
        edges = edges[np.lexsort((other[edges], node[edges], places[edges]))]
        order[done : done + len(edges)] = edges
        done += len(edges)
    return order


def _levels(place: Numbers, node: Numbers, edges: Numbers) -> Iterator[Level]:
    """Yield the edges of each place; they come in the order of `_order`."""
    nodes = node.take(edges)
    starts = np.flatnonzero(nodes[1:] != nodes[:-1]) + 1
    starts = np.concatenate([np.zeros(min(1, len(nodes)), np.int64), starts])
    nodes = nodes.take(starts)
    places = place.take(nodes)
    bounds = np.flatnonzero(np.diff(places, prepend=places[0] - 1)) if len(places) else starts
    for low, high in zip(bounds, np.append(bounds[1:], len(starts)), strict=True):
        first = starts[low]
        end = starts[high] if high < len(starts) else len(edges)
        yield edges[first:end], starts[low:high] - first, nodes[low:high]
