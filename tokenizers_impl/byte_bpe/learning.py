"""Learning byte-level BPE merges fast: the state behind `merges.fast_merges`.

The rules are those of `merges`, whose `textbook_merges` is the definition. Nothing is counted
twice: joining only ever removes occurrences of a pair, so the positions where it stood when it
appeared are complete for good, and its count then is an upper bound ever after.

Trainers with other rules of their own (`bpe_kin`) drive the same state step by step: `best` says
what is joined next, `join` does it, and `occurrences_of` finds where any pair stands.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np

from tokbench.bench.plugins import MergeEvent, Rival, Trace
from tokbench.tokenizers_impl.byte_bpe.positions import (
    IntArray,
    Pieces,
    Positions,
    every_second,
    flattened,
    order_of,
)

Learned = tuple[int, int, int]
"""Left and right token, numbered 0 to 255 for bytes and 256 + rank for merges; and the count."""

Ties = Literal["smallest", "first_seen"]
"""Which of two pairs with equal counts is joined."""


@dataclass(frozen=True, kw_only=True)
class Begun:
    """Where learning goes on: pieces that are cut into tokens already."""

    token_bytes: Sequence[bytes]
    """By the number of a token: 0 to 255 are the bytes."""
    cut: Callable[[bytes], Sequence[int]]
    """Returns the tokens of a piece."""

    def cut_all(self, pieces: Sequence[bytes]) -> tuple[Positions, IntArray]:
        """Return the tokens of all pieces one after the other, and how many each has."""
        cuts = list(map(self.cut, pieces))
        counts = np.fromiter(map(len, cuts), np.int64, len(cuts))
        return np.fromiter(chain.from_iterable(cuts), np.int32, int(counts.sum())), counts


def too_long(token: bytes, most_words: int | None) -> bool:
    """Return whether a token holds more words than are allowed.

    >>> too_long(b" of the", 2), too_long(b" of the", 1), too_long(b" of the", None)
    (False, True, False)
    """
    return most_words is not None and len(token.split()) > most_words


@dataclass(slots=True, eq=False)
class Occurring:
    """A pair of tokens with the positions where it may still occur, ascending."""

    left: int
    right: int
    positions: Positions

    def __lt__(self, other: Occurring) -> bool:
        """Of two entries for one pair at most one is current, so their order is no matter."""
        return False


Entry = tuple[int, Any, Any, Occurring]
"""Count below zero, then what decides ties: left and right bytes, or the first position and both ids."""


@dataclass(slots=True)
class Block:
    """Pairs that appeared together: every key with `token`, on its left or on its right.

    `counts`, `keys`, `starts` and `ends` have one entry per pair; its positions are
    ``at[start:end]``. A count of 0 marks a pair that has been taken. `highest` is the maximum.
    """

    token: int
    token_first: bool
    counts: IntArray
    keys: Positions
    starts: IntArray
    ends: IntArray
    at: Positions
    highest: int

    def take(self, threshold: int) -> Iterator[tuple[int, Occurring]]:
        """Take the pairs with at least that count out of the block."""
        taken = (self.counts >= threshold).nonzero()[0]
        columns = (self.counts, self.keys, self.starts, self.ends)
        for count, key, start, end in zip(*(c[taken].tolist() for c in columns), strict=True):
            left, right = (self.token, key) if self.token_first else (key, self.token)
            yield count, Occurring(left, right, self.at[start:end])
        self.counts[taken] = 0
        self.highest = int(self.counts.max())


class Learning:
    """The state of the fast trainer.

    `symbols` has one entry per byte of the distinct pieces, and GAP between pieces. A token that
    spans the positions s to e - 1 is written at s and at e - 1, so that its neighbours find it
    from both sides; where its parts met is GONE. Lengths come from a table by token.
    """

    GAP = -1
    GONE = -2

    def __init__(
        self,
        pieces: Pieces,
        min_frequency: int,
        ties: Ties,
        *,
        begun: Begun | None = None,
        most_words: int | None = None,
        keep_rare: bool = False,
    ) -> None:
        self.min_frequency = min_frequency
        # Whoever asks `occurrences_of` needs the blocks of rare pairs too, found by their token.
        self.index: dict[tuple[int, bool], Block] | None = {} if keep_rare else None
        self.ties = ties
        self.most_words = most_words
        self.token_bytes = [bytes([byte]) for byte in range(256)]
        self.symbols, self.weights = flattened(pieces, gap=self.GAP)
        self.lengths: Positions = np.ones(256, np.int32)
        self.heap: list[Entry] = []
        # Most pairs are far too rare to be joined soon. They wait outside the heap, in blocks, and
        # cost nothing until the threshold has come down to them.
        self.blocks: list[Block] = []
        self.fallen: list[tuple[int, Occurring]] = []
        self.threshold = np.iinfo(np.int64).max
        self.n_given = 256 if begun is None else len(begun.token_bytes)
        if begun is None:
            self._add_first_pairs()
        else:
            self._go_on(pieces, begun)

    def run(self, n_merges: int, trace: Trace | None) -> list[Learned]:
        """Join the most frequent pair until there are enough merges or nothing is left."""
        merges: list[Learned] = []
        while len(merges) < n_merges and (best := self.best()) is not None:
            count, pair, positions = best
            if trace is not None:
                left, right = self.token_bytes[pair.left], self.token_bytes[pair.right]
                trace(
                    MergeEvent(
                        rank=len(merges),
                        left=left,
                        right=right,
                        token=left + right,
                        count=count,
                        rivals=self.rivals,
                    )
                )
            merges.append((pair.left, pair.right, count))
            self.join(pair, positions)
        return merges

    def rivals(self, n: int) -> list[Rival]:
        """Return the n best pairs, all counted anew: to be looked at, one pass over the text."""
        counts: Counter[tuple[int, int]] = Counter()
        symbols, weights, lengths = self.symbols, self.weights, self.lengths
        at, end = 1, len(symbols) - 1
        while at < end:
            left = int(symbols[at])
            after = at + (int(lengths[left]) if left >= 0 else 1)
            if left >= 0 and symbols[after] >= 0:
                counts[left, int(symbols[after])] += int(weights[at])
            at = after
        names = self.token_bytes
        counts = Counter({pair: n for pair, n in counts.items() if self.may_join(*pair)})
        in_order = sorted(counts, key=lambda p: (names[p[0]], names[p[1]]))
        listed = in_order if self.ties == "smallest" else list(counts)
        best = sorted(listed, key=lambda pair: -counts[pair])[:n]  # stable: ties stay in order
        return [Rival(left=names[a], right=names[b], count=counts[a, b]) for a, b in best]

    def _add_first_pairs(self) -> None:
        """Add the pairs of bytes, in one block for each byte on the left."""
        left, right = self.symbols[:-1], self.symbols[1:]
        at = np.flatnonzero((left >= 0) & (right >= 0)).astype(np.int32)
        order = order_of(left[at])
        ends = np.cumsum(np.bincount(left[at], minlength=256)).tolist()
        at = at[order]
        for byte, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            self._add(byte, True, right[at[start:end]], at[start:end])

    def _go_on(self, pieces: Pieces, begun: Begun) -> None:
        """Write the tokens of all pieces over their bytes, and add the pairs they make."""
        self.token_bytes = list(begun.token_bytes)
        self.lengths = np.array(list(map(len, self.token_bytes)), np.int32)
        tokens, counts = begun.cut_all(list(pieces))
        lengths, piece = self.lengths[tokens], np.repeat(np.arange(len(counts)), counts)
        # as in `flattened`: one gap before each piece
        at = (np.cumsum(lengths) - lengths + piece + 1).astype(np.int32)
        self.symbols[self.symbols != self.GAP] = self.GONE
        self.symbols[at] = tokens
        self.symbols[at + lengths - 1] = tokens
        inside = np.flatnonzero(piece[1:] == piece[:-1])
        if len(inside) == 0:
            return
        left, right, at = tokens[inside], tokens[inside + 1], at[inside]
        order = order_of(left)
        found, starts = np.unique(left[order], return_index=True)
        for token, group in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
            self._add(token, True, right[group], at[group])

    def best(self) -> tuple[int, Occurring, Positions] | None:
        """Return the pair to join, its count and its positions; None when none is left."""
        while True:
            while self.heap:
                entry = heapq.heappop(self.heap)
                pair = entry[3]
                if not self.is_current(pair):
                    continue
                positions = self.occurrences(pair)
                count = int(self.weights.take(positions).sum())
                if count == -entry[0] and (self.ties == "smallest" or positions[0] == entry[1]):
                    return count, pair, positions
                pair.positions = positions
                self.put(count, pair)
            if not self._lower_threshold():
                return None

    def _lower_threshold(self) -> bool:
        """Fill the heap with the pairs of the next lower counts; return whether there are any."""
        waiting = [b.highest for b in self.blocks] + [count for count, _ in self.fallen]
        if not waiting or max(waiting) < self.min_frequency:
            return False
        self.threshold = max(self.min_frequency, (max(waiting) + 1) // 2)
        for block in self.blocks:
            if block.highest >= self.threshold:
                for count, pair in block.take(self.threshold):
                    self._push(count, pair)
        self.blocks = [b for b in self.blocks if b.highest >= self.min_frequency]
        for count, pair in self.fallen:
            if count >= self.threshold:
                self._push(count, pair)
        self.fallen = [entry for entry in self.fallen if entry[0] < self.threshold]
        return True

    def is_current(self, pair: Occurring) -> bool:
        """Return whether a pair that comes up still speaks for itself."""
        return True

    def put(self, count: int, pair: Occurring) -> None:
        """Let a pair wait for its turn."""
        if count >= self.threshold:
            self._push(count, pair)
        elif count >= self.min_frequency:
            self.fallen.append((count, pair))

    def may_join(self, left: int, right: int) -> bool:
        """Return whether the token that two would make is allowed."""
        if self.most_words is None:
            return True
        return not too_long(self.token_bytes[left] + self.token_bytes[right], self.most_words)

    def _push(self, count: int, pair: Occurring) -> None:
        if not self.may_join(pair.left, pair.right):
            return
        if self.ties == "smallest":
            left, right = self.token_bytes[pair.left], self.token_bytes[pair.right]
            heapq.heappush(self.heap, (-count, left, right, pair))
        else:
            # The first of its positions only ever moves to the right, as its count only ever
            # falls: an entry that is out of date stands too far in front, and is put right there.
            # Two that claim one position are told apart by their tokens: one is out of date.
            unlike = (pair.left, pair.right)
            heapq.heappush(self.heap, (-count, int(pair.positions[0]), unlike, pair))

    def occurrences(self, pair: Occurring) -> Positions:
        """Return the positions where the pair still stands."""
        at = pair.positions
        second = at + self.lengths[pair.left]
        held = self.symbols.take(at) == pair.left
        held &= self.symbols.take(second) == pair.right
        kept: Positions = at[held]
        return kept

    def occurrences_of(self, left: int, right: int) -> Positions:
        """Return where a pair stands, ascending; requires `keep_rare`.

        A pair is in the block of the token that came later, on its side; pairs of tokens that
        were given, and of a token with itself, are in that of the left one.
        """
        assert self.index is not None
        first = right <= left or right < self.n_given
        block = self.index.get((left, True) if first else (right, False))
        if block is None:
            return np.zeros(0, np.int32)
        key = right if first else left
        i = int(np.searchsorted(block.keys, key))
        if i == len(block.keys) or block.keys[i] != key:
            return np.zeros(0, np.int32)
        at = block.at[block.starts[i] : block.ends[i]]
        return self.occurrences(Occurring(left, right, at))

    def join(self, pair: Occurring, at: Positions) -> int:
        """Write the joined token over all its occurrences and add the pairs this makes.

        Returns how often the two were joined, by weight.
        """
        token = self.new_token(pair.left, pair.right)
        at = self.write(pair, at, token)
        symbols, total = self.symbols, int(self.lengths[token])
        after, before = symbols.take(at + total), symbols.take(at - 1)
        held = after >= 0
        self._add(token, True, after[held], at[held])
        # Where the token follows itself, the pair has been added from the left one's side.
        held = (before >= 0) & (before != token)
        before = before[held]
        self._add(token, False, before, at[held] - self.lengths[before])
        return int(self.weights.take(at).sum())

    def new_token(self, left: int, right: int) -> int:
        """Return the number of a new token that is made of two others."""
        token = len(self.token_bytes)
        self.token_bytes.append(self.token_bytes[left] + self.token_bytes[right])
        if token == len(self.lengths):
            self.lengths = np.concatenate([self.lengths, np.zeros_like(self.lengths)])
        self.lengths[token] = len(self.token_bytes[token])
        return token

    def write(self, pair: Occurring, at: Positions, token: int) -> Positions:
        """Write a token over a pair and return where it stands now."""
        length = int(self.lengths[pair.left])
        total = length + int(self.lengths[pair.right])
        if pair.left == pair.right:
            at = every_second(at, length)
        symbols = self.symbols
        symbols[at + (length - 1)] = self.GONE
        symbols[at + length] = self.GONE
        symbols[at] = token
        symbols[at + (total - 1)] = token
        return at

    def _add(self, token: int, token_first: bool, keys: Positions, at: Positions) -> None:
        """Add the pairs of a token and each of these neighbours, at these positions."""
        if len(keys) == 0:
            return
        order = order_of(keys)
        keys, at = keys[order], at[order]
        edges = (keys[1:] != keys[:-1]).nonzero()[0] + 1
        bounds = np.concatenate([[0], edges, [len(keys)]])
        starts, ends = bounds[:-1], bounds[1:]
        counts = np.add.reduceat(self.weights.take(at), starts)
        highest = int(counts.max())
        if highest < self.min_frequency and self.index is None:
            return
        block = Block(token, token_first, counts, keys[starts], starts, ends, at, highest)
        if self.index is not None:
            self.index[token, token_first] = block
        if highest >= self.threshold:
            for count, pair in block.take(self.threshold):
                self._push(count, pair)
        if block.highest >= self.min_frequency:
            self.blocks.append(block)
