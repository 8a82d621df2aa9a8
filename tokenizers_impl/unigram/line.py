"""Viterbi's algorithm for many words at once, in NumPy: how unseen words are cut quickly.

All words are one line of characters, something that no piece holds after each. The places between
characters are nodes, a piece that stands somewhere is an edge from the node where it begins to the
one where it ends, and so is every single character, known or not. Edges are found by walking a trie
from all places at once (`trie`).

Where no piece reaches across a node, every cut goes through it: a seam. Between seams the best way
to each node is found in order of its distance from the seam before, for all nodes of one distance
together. Sums are in double precision; each result says by how much the best cut leads, so that the
caller can tell where single precision would decide otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import Bools
from tokbench.tokenizers_impl.trie import Ints, Trie

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cuttings:
    """The best cuts of some words."""

    ids: npt.NDArray[np.int32]
    """Ids of all words, one after the other; each unknown character has its own."""
    counts: Ints
    """How many ids each word has; shape (words,)."""
    leads: Floats
    """Least lead of the best way over the next best, at the nodes it goes through; shape (words,)."""


class LineCutter:
    """Pieces as a trie, with an id and a score for each.

    >>> cutter = LineCutter({"a": 1, "b": 2, "ab": 3}, [-1.0, -2.0, -2.5],
    ...     unknown_id=0, unknown_score=-12.5)
    >>> found = cutter.cut(["ab", "bab", "ax"])
    >>> found.ids.tolist(), found.counts.tolist(), found.leads.tolist()
    ([3, 2, 3, 1, 0], [1, 2, 2], [0.5, 0.5, inf])
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        scores: npt.ArrayLike,
        *,
        unknown_id: int,
        unknown_score: float,
    ) -> None:
        """Take each piece with its id, and its score at the same place of `scores`."""
        self._trie = trie = Trie(list(ids))
        some = trie.ends >= 0
        self._ids = np.full(trie.slots, -1, np.int32)
        self._ids[trie.ends[some]] = np.fromiter(ids.values(), np.int32, len(ids))[some]
        self._scores = np.zeros(trie.slots)
        self._scores[trie.ends[some]] = np.asarray(scores, np.float64)[some]
        # of single characters: the unknown's where a character is no piece
        known = (trie.first >= 0) & (self._ids.take(trie.first) >= 0)
        self._single_ids = np.where(known, self._ids.take(trie.first), unknown_id).astype(np.int32)
        self._single_scores = np.where(known, self._scores.take(trie.first), unknown_score)

    def cut(self, words: Sequence[str]) -> Cuttings:
        """Return the best cut of each word, none empty; of equal sums the leftmost start wins."""
        line, ends = self._trie.characters(words)
        edges = self._edges(line)
        chosen, lead = edges.best()
        on_way = edges.on_way(chosen)
        on_way[ends + 1] = False  # the edge over what stands between two words
        nodes = np.flatnonzero(on_way)
        bounds = np.searchsorted(nodes, ends, side="right")
        counts = np.diff(bounds, prepend=0)
        rank = edges.nodes.rank.take(nodes)
        return Cuttings(
            ids=edges.ids.take(chosen.take(rank)),
            counts=counts,
            leads=np.minimum.reduceat(lead.take(rank), bounds - counts),
        )

    def _edges(self, line: Ints) -> _Edges:
        """Return the pieces at all places; of a node's edges the longer ones come first."""
        n = len(line)
        levels = list(enumerate(self._walk(line), start=2))
        n_edges = np.ones(n + 1, np.int64)  # that end in each node: a character is always one
        n_edges[0] = 0
        reached = np.arange(1, n + 1)  # the furthest node from each place
        for length, (at, _) in levels:
            n_edges[at + length] += 1
            reached[at] = at + length
        nodes = _Nodes.of(np.maximum.accumulate(reached))
        first = np.cumsum(n_edges.take(nodes.order))
        edges = _Edges.empty(int(first[-1]), first - n_edges.take(nodes.order), nodes)
        free = np.empty(n + 1, np.int64)
        free[nodes.order] = edges.first
        for length, (at, state) in reversed(levels):
            slot = free.take(at + length)
            free[at + length] = slot + 1
            edges.put(slot, at, self._scores.take(state), self._ids.take(state))
        scores, ids = self._single_scores.take(line), self._single_ids.take(line)
        edges.put(free[1:], np.arange(n), scores, ids)
        return edges

    def _walk(self, line: Ints) -> list[tuple[Ints, Ints]]:
        """Return where pieces of two characters, three, ... begin, and the state each ends in."""
        state = self._trie.first.take(line)
        at = np.flatnonzero(state >= 0)
        found = []
        for places, states in islice(self._trie.walk(line, at, state.take(at)), 1, None):
            piece = self._ids.take(states) >= 0
            found.append((places[piece], states[piece]))
        return found


@dataclass(frozen=True, kw_only=True)
class _Nodes:
    """The places before, between and after the characters, and their order.

    `order` lists all but the first by their distance from the seam before, `rank` is each one's
    place in that list, and `levels` says where each distance begins and the last one ends.
    """

    seam: Bools
    order: Ints
    rank: Ints
    levels: Ints

    @classmethod
    def of(cls, reached: Ints) -> _Nodes:
        """Take the furthest node that a piece reaches from each place or one before it."""
        n = len(reached)
        node = np.arange(n + 1)
        seam = np.append(True, reached == node[1:])
        seam_before = np.maximum.accumulate(np.where(seam, node, 0))[:-1]
        distance = node[1:] - seam_before
        furthest = int(distance.max())
        small = distance.astype(np.uint16) if furthest < 1 << 16 else distance  # sorts faster
        order = np.argsort(small, kind="stable") + 1
        rank = np.full(n + 1, -1)
        rank[order] = node[:-1]
        levels = np.searchsorted(distance.take(order - 1), np.arange(1, furthest + 2))
        return cls(seam=seam, order=order, rank=rank, levels=levels)


@dataclass(frozen=True, kw_only=True)
class _Edges:
    """Edges in the order of the nodes where they end. Every node but the first of all has one.

    `source` is the node where each begins; `first` the first edge of each node, in their order.
    """

    source: Ints
    scores: Floats
    ids: npt.NDArray[np.int32]
    first: Ints
    nodes: _Nodes

    @classmethod
    def empty(cls, n: int, first: Ints, nodes: _Nodes) -> _Edges:
        """Return room for so many edges."""
        return cls(
            source=np.empty(n, np.int64),
            scores=np.empty(n),
            ids=np.empty(n, np.int32),
            first=first,
            nodes=nodes,
        )

    def put(self, slot: Ints, source: Ints, scores: Floats, ids: npt.NDArray[np.int32]) -> None:
        """Fill some of the room."""
        self.source[slot], self.scores[slot], self.ids[slot] = source, scores, ids

    def best(self) -> tuple[Ints, Floats]:
        """Return, in the order of the nodes, the edge by which each is best reached, and its lead
        over the next best."""
        n_nodes = len(self.first)
        bounds = np.append(self.first, len(self.source))
        best, sums = self._sums(bounds)
        behind = np.repeat(best, np.diff(bounds))
        behind -= sums
        winners = np.flatnonzero(behind == 0)
        node = np.repeat(np.arange(n_nodes), np.diff(bounds)).take(winners)
        chosen = np.empty(n_nodes, np.int64)
        chosen[node[::-1]] = winners[::-1]  # of several the first, which is assigned last, stays
        behind[chosen] = np.inf
        return chosen, np.minimum.reduceat(behind, self.first)

    def _sums(self, bounds: Ints) -> tuple[Floats, Floats]:
        """Return the best sum at each node, in their order, and the sum by each edge."""
        n_nodes = len(self.first)
        best = np.zeros(n_nodes + 1)  # and nothing at the end, where all seams begin again
        start = np.where(self.nodes.seam, n_nodes, self.nodes.rank).take(self.source)
        sums = self.scores.copy()
        levels = self.nodes.levels
        edges = bounds.take(levels).tolist()
        for (low, high), (a, b) in zip(pairwise(levels.tolist()), pairwise(edges), strict=True):
            part = sums[a:b]
            part += best.take(start[a:b])
            np.maximum.reduceat(part, self.first[low:high] - a, out=best[low:high])
        return best[:-1], sums

    def on_way(self, chosen: Ints) -> Bools:
        """Return which nodes the best ways go through, the first of all left out."""
        seam, rank = self.nodes.seam, self.nodes.rank
        on_way = seam.copy()
        nodes = np.flatnonzero(seam)[1:]
        while len(nodes):
            nodes = self.source.take(chosen.take(rank.take(nodes)))
            nodes = nodes[~seam.take(nodes)]
            on_way[nodes] = True
        on_way[0] = False
        return on_way
