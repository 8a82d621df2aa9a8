"""Learn byte-level BPE merges from counted pieces: the textbook loop, and a fast twin.

The rules, which both follow to the letter:

- A piece weighs as often as it occurs; no pair reaches from one piece into the next.
- All neighbouring pairs count, overlapping ones too: ``aaaaa`` holds the pair (a, a) four times.
  Joining takes them from the left: ``aa aa a``.
- The pair with the highest count is joined next. Of equal counts, by `smallest`, the smallest pair
  of byte strings wins, left part first. That depends on nothing but the counts: not on the order of
  the texts, on a hash seed, on the number of threads, or on how ids are given out. By `first_seen`
  the pair wins that comes first when all pieces are read in their order, each from the left: what
  Python's ``max`` over a dict of counts gives, and so what most textbooks print.
- Learning ends at the wanted number of merges or when no pair occurs `min_frequency` times.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import MergeEvent, Rival, Trace
from tokbench.tokenizers_impl.byte_bpe.model import join_pair

Pieces = Mapping[bytes, int]
"""How often each distinct piece occurs."""

Learned = tuple[int, int, int]
"""Left and right token, numbered 0 to 255 for bytes and 256 + rank for merges; and the count."""

Ties = Literal["smallest", "first_seen"]
"""Which of two pairs with equal counts is joined."""

IntArray = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]


# --- the textbook ---------------------------------------------------------------------------------


def textbook_merges(
    pieces: Pieces,
    n_merges: int,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    given: Sequence[Learned] = (),
    most_words: int | None = None,
) -> list[Learned]:
    """Learn merges by counting all pairs anew for each one.

    `given` merges are carried out first, and what is learned goes on from there. A token of more
    than `most_words` words is not made.

    >>> words = {b"lower": 5, b"lowest": 2, b"newest": 6}
    >>> textbook_merges(words, 1)
    [(119, 101, 13)]
    """
    words = {piece: list(piece) for piece in pieces}
    token_bytes = [bytes([byte]) for byte in range(256)]
    for left, right, _ in given:
        joined = (left, right, len(token_bytes))
        words = {piece: join_pair(ids, joined) for piece, ids in words.items()}
        token_bytes.append(token_bytes[left] + token_bytes[right])
    merges: list[Learned] = []
    while len(merges) < n_merges:
        counts: Counter[tuple[int, int]] = Counter()
        for piece, ids in words.items():
            for pair in pairwise(ids):
                counts[pair] += pieces[piece]
        for left, right in list(counts):
            if too_long(token_bytes[left] + token_bytes[right], most_words):
                del counts[left, right]
        if not counts or max(counts.values()) < min_frequency:
            break
        if ties == "smallest":
            left, right = min(
                counts, key=lambda p: (-counts[p], token_bytes[p[0]], token_bytes[p[1]])
            )
        else:
            left, right = max(counts, key=counts.__getitem__)
        merges.append((left, right, counts[left, right]))
        joined = (left, right, len(token_bytes))
        words = {piece: join_pair(ids, joined) for piece, ids in words.items()}
        token_bytes.append(token_bytes[left] + token_bytes[right])
    return merges


def too_long(token: bytes, most_words: int | None) -> bool:
    """Return whether a token holds more words than are allowed.

    >>> too_long(b" of the", 2), too_long(b" of the", 1), too_long(b" of the", None)
    (False, True, False)
    """
    return most_words is not None and len(token.split()) > most_words


# --- the fast trainer -----------------------------------------------------------------------------


def fast_merges(
    pieces: Pieces,
    n_merges: int,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> list[Learned]:
    """Learn the merges that `textbook_merges` learns, without counting anything twice.

    All distinct pieces lie in one array. A pair knows the positions where it occurred when it
    appeared for the first time; since joining only ever removes occurrences, that list is complete
    for good, and its count is an upper bound. So the pair at the top of a heap is counted again
    when it comes up: if its count still holds it is joined, else it goes back with the new one.

    >>> fast_merges({b"lower": 5, b"lowest": 2, b"newest": 6}, 2)
    [(119, 101, 13), (115, 116, 8)]
    """
    return _Training(pieces, max(min_frequency, 1), ties).run(n_merges, trace)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """Where learning goes on: pieces that are cut into tokens already."""

    token_bytes: Sequence[bytes]
    """By the number of a token: 0 to 255 are the bytes."""
    cut: Callable[[bytes], Sequence[int]]
    """Returns the tokens of a piece."""


def continued_merges(
    pieces: Pieces,
    n_merges: int,
    begun: Begun,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    most_words: int | None = None,
    trace: Trace | None = None,
) -> list[Learned]:
    """Learn further merges of tokens that are there; new ones are numbered after them.

    >>> begun = Begun(token_bytes=[bytes([b]) for b in range(256)], cut=list)
    >>> continued_merges({b"lower": 5, b"lowest": 2, b"newest": 6}, 2, begun)
    [(119, 101, 13), (115, 116, 8)]
    """
    training = _Training(pieces, max(min_frequency, 1), ties, begun=begun, most_words=most_words)
    return training.run(n_merges, trace)


@dataclass(slots=True)
class _Pair:
    """A pair of tokens with the positions where it may still occur, ascending."""

    left: int
    right: int
    positions: Positions


_Entry = tuple[int, Any, Any, _Pair]
"""Count below zero, then what decides ties: left and right bytes, or the first position and both ids."""


@dataclass(slots=True)
class _Block:
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

    def take(self, threshold: int) -> Iterator[tuple[int, _Pair]]:
        """Take the pairs with at least that count out of the block."""
        taken = np.flatnonzero(self.counts >= threshold)
        columns = (self.counts, self.keys, self.starts, self.ends)
        for count, key, start, end in zip(*(c[taken].tolist() for c in columns), strict=True):
            left, right = (self.token, key) if self.token_first else (key, self.token)
            yield count, _Pair(left, right, self.at[start:end])
        self.counts[taken] = 0
        self.highest = int(self.counts.max())


class _Training:
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
    ) -> None:
        self.min_frequency = min_frequency
        self.ties = ties
        self.most_words = most_words
        self.token_bytes = [bytes([byte]) for byte in range(256)]
        self.symbols, self.weights = _flatten(pieces, gap=self.GAP)
        self.lengths: Positions = np.ones(256, np.int32)
        self.heap: list[_Entry] = []
        # Most pairs are far too rare to be joined soon. They wait outside the heap, in blocks, and
        # cost nothing until the threshold has come down to them.
        self.blocks: list[_Block] = []
        self.fallen: list[tuple[int, _Pair]] = []
        self.threshold = np.iinfo(np.int64).max
        if begun is None:
            self._add_first_pairs()
        else:
            self._go_on(pieces, begun)

    def run(self, n_merges: int, trace: Trace | None) -> list[Learned]:
        """Join the most frequent pair until there are enough merges or nothing is left."""
        self.lengths = np.concatenate([self.lengths, np.zeros(n_merges, np.int32)])
        merges: list[Learned] = []
        while len(merges) < n_merges and (best := self._best()) is not None:
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
                        rivals=self._rivals,
                    )
                )
            merges.append((pair.left, pair.right, count))
            self._join(pair, positions)
        return merges

    def _rivals(self, n: int) -> list[Rival]:
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
        in_order = sorted(counts, key=lambda p: (names[p[0]], names[p[1]]))
        listed = in_order if self.ties == "smallest" else list(counts)
        best = sorted(listed, key=lambda pair: -counts[pair])[:n]  # stable: ties stay in order
        return [Rival(left=names[a], right=names[b], count=counts[a, b]) for a, b in best]

    def _add_first_pairs(self) -> None:
        """Add the pairs of bytes, in one block for each byte on the left."""
        left, right = self.symbols[:-1], self.symbols[1:]
        at = np.flatnonzero((left >= 0) & (right >= 0)).astype(np.int32)
        order = np.argsort(left[at].astype(np.uint8), kind="stable")  # radix sort for bytes
        ends = np.cumsum(np.bincount(left[at], minlength=256)).tolist()
        at = at[order]
        for byte, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            self._add(byte, True, right[at[start:end]], at[start:end])

    def _go_on(self, pieces: Pieces, begun: Begun) -> None:
        """Write the tokens of all pieces over their bytes, and add the pairs they make."""
        self.token_bytes = list(begun.token_bytes)
        self.lengths = np.array(list(map(len, self.token_bytes)), np.int32)
        cuts = [begun.cut(piece) for piece in pieces]
        counts = np.fromiter(map(len, cuts), np.int64, len(cuts))
        tokens = np.fromiter(chain.from_iterable(cuts), np.int32, int(counts.sum()))
        lengths, piece = self.lengths[tokens], np.repeat(np.arange(len(cuts)), counts)
        # as in `_flatten`: one gap before each piece
        at = (np.cumsum(lengths) - lengths + piece + 1).astype(np.int32)
        self.symbols[self.symbols != self.GAP] = self.GONE
        self.symbols[at] = tokens
        self.symbols[at + lengths - 1] = tokens
        inside = np.flatnonzero(piece[1:] == piece[:-1])
        if len(inside) == 0:
            return
        left, right, at = tokens[inside], tokens[inside + 1], at[inside]
        order = np.argsort(left, kind="stable")
        found, starts = np.unique(left[order], return_index=True)
        for token, group in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
            self._add(token, True, right[group], at[group])

    def _best(self) -> tuple[int, _Pair, Positions] | None:
        """Return the pair to join, its count and its positions; None when none is left."""
        while True:
            while self.heap:
                entry = heapq.heappop(self.heap)
                pair = entry[3]
                positions = self._occurrences(pair)
                count = int(self.weights[positions].sum())
                if count == -entry[0] and (self.ties == "smallest" or positions[0] == entry[1]):
                    return count, pair, positions
                pair.positions = positions
                if count >= self.threshold:
                    self._push(count, pair)
                elif count >= self.min_frequency:
                    self.fallen.append((count, pair))
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

    def _push(self, count: int, pair: _Pair) -> None:
        if self.most_words is not None:
            token = self.token_bytes[pair.left] + self.token_bytes[pair.right]
            if too_long(token, self.most_words):
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

    def _occurrences(self, pair: _Pair) -> Positions:
        """Return the positions where the pair still stands."""
        at = pair.positions
        second = at + self.lengths[pair.left]
        held = (self.symbols[at] == pair.left) & (self.symbols[second] == pair.right)
        return np.compress(held, at)

    def _join(self, pair: _Pair, at: Positions) -> None:
        """Write the joined token over all its occurrences and add the pairs this makes."""
        length = int(self.lengths[pair.left])
        total = length + int(self.lengths[pair.right])
        if pair.left == pair.right:
            at = _every_second(at, length)
        token = len(self.token_bytes)
        self.token_bytes.append(self.token_bytes[pair.left] + self.token_bytes[pair.right])
        self.lengths[token] = total
        symbols = self.symbols
        symbols[at + (length - 1)] = self.GONE
        symbols[at + length] = self.GONE
        symbols[at] = token
        symbols[at + (total - 1)] = token
        after, before = symbols[at + total], symbols[at - 1]
        held = after >= 0
        self._add(token, True, after[held], at[held])
        # Where the token follows itself, the pair has been added from the left one's side.
        held = (before >= 0) & (before != token)
        before = before[held]
        self._add(token, False, before, at[held] - self.lengths[before])

    def _add(self, token: int, token_first: bool, keys: Positions, at: Positions) -> None:
        """Add the pairs of a token and each of these neighbours, at these positions."""
        if len(keys) == 0:
            return
        order = np.argsort(keys, kind="stable")  # stable: positions stay ascending
        keys, at = keys[order], at[order]
        edges = np.flatnonzero(keys[1:] != keys[:-1]) + 1
        starts = np.concatenate([_ZERO, edges])
        counts = np.add.reduceat(self.weights[at], starts)
        highest = int(counts.max())
        if highest < self.min_frequency:
            return
        ends = np.append(edges, len(keys))
        block = _Block(token, token_first, counts, keys[starts], starts, ends, at, highest)
        if highest >= self.threshold:
            for count, pair in block.take(self.threshold):
                self._push(count, pair)
        if block.highest >= self.min_frequency:
            self.blocks.append(block)


_ZERO = np.zeros(1, np.int64)


def _flatten(pieces: Pieces, *, gap: int) -> tuple[Positions, IntArray]:
    """Return the bytes of all pieces in one array with gaps around each, and their weights."""
    flat = np.frombuffer(b"".join(pieces), np.uint8)
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    if len(flat) + len(pieces) >= np.iinfo(np.int32).max:
        raise TrainingError(
            "the distinct pieces of the training text exceed 2 GB; train on a sample of it"
        )
    counts = np.fromiter(pieces.values(), np.int64, len(pieces))
    symbols = np.full(len(flat) + len(pieces) + 1, gap, np.int32)
    # Byte i of piece k goes to i + k + 1: one gap before each piece.
    place = np.arange(1, len(flat) + 1) + np.repeat(np.arange(len(pieces)), lengths)
    symbols[place] = flat
    weights = np.zeros(len(symbols), np.int64)
    weights[place] = np.repeat(counts, lengths)
    return symbols, weights


def _every_second(at: Positions, length: int) -> Positions:
    """Return the 1st, 3rd, ... of each run of positions that lie `length` apart.

    >>> _every_second(np.array([0, 1, 2, 7, 8], np.int32), 1).tolist()
    [0, 2, 7]
    """
    index = np.arange(len(at))
    begins = np.concatenate([[True], np.diff(at) != length])
    run_start = np.maximum.accumulate(np.where(begins, index, 0))
    return np.compress((index - run_start) % 2 == 0, at)
