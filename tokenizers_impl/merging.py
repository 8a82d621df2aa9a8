"""Merging many pieces at a time: byte-level BPE and BPE over characters.

One column of a matrix for each piece; in every round each column joins its leftmost pair of lowest
rank. Pieces of about the same length share a matrix. A round costs much the same however few
columns it has, so the last few, and pieces that are very long, are merged one by one.

Tokens are numbers. "abc" and "bc", where b and c make 5 (rank 0), then a and 5 make 6:

>>> pairs = PairRanks(np.array([[2, 3, 5], [1, 5, 6]]), pad=9)
>>> tokens = np.array([1, 2, 3, 2, 3], np.int32)
>>> ranks = pairs.look_up(tokens, np.append(tokens[1:], 9))
>>> one_by_one = [[6, -1, -1], [5, -1]]
>>> merged(tokens, ranks, np.array([0, 3]), np.array([3, 2]), pairs, one_by_one.__getitem__).tolist()
[6, -1, -1, 5, -1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import MISSING, HashTable, Places, Words

Tokens = npt.NDArray[np.int32]

MOST_CELLS = 1 << 16
"""Of a matrix, so that it stays in the cache."""
LONGEST = 256
"""Longer pieces are merged one by one."""
FEW = 8
"""So many columns, or fewer, are merged one by one."""


class PairRanks:
    """Maps pairs of tokens to the rank of their merge, and to what they make."""

    def __init__(
        self, merges: npt.NDArray[np.int64], *, pad: int, ranks: Places | None = None
    ) -> None:
        """Take left, right and joined token of each merge, in the order of their ranks unless
        these are given; several merges may have one rank. `pad` is none of the tokens."""
        left, right, joined = merges.T
        ranks = np.arange(len(merges)) if ranks is None else ranks
        self.pad = np.int32(pad)
        self.n_ranks = int(ranks.max(initial=-1)) + 1
        self._results = np.full(self.n_ranks, MISSING, np.int32)
        self._results[ranks] = joined
        # where merges of one rank make different tokens, the pair decides
        torn = np.isin(ranks, ranks[self._results[ranks] != joined])
        self._results[ranks[torn]] = MISSING
        self._torn = HashTable(capacity=int(torn.sum()), dtype=np.int32)
        self._torn.add(joined[torn], _pair(left[torn], right[torn]))
        # four times as many slots as are needed: most pairs are no merge, and found so at once
        self._ranks = HashTable(capacity=4 * len(merges), dtype=np.int32)
        self._ranks.add(ranks, _pair(left, right))

    def joined(self, rank: Places, left: Tokens, right: Tokens) -> Tokens:
        """Return what each pair makes; `rank` is its rank."""
        made = self._results.take(rank)
        if len(self._torn):
            torn = np.flatnonzero(made == MISSING)
            made[torn] = self._torn.find(_pair(left[torn], right[torn]))
        return made

    def look_up(self, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Places:
        """Return the rank of each pair, `MISSING` where it is not joined."""
        return self._ranks.find(_pair(left, right))


def _pair(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Words:
    return (left.astype(np.uint64) << np.uint64(32)) | right.astype(np.uint64)


def merged(
    tokens: Tokens,
    ranks: npt.NDArray[Any],
    begin: Places,
    lengths: Places,
    pairs: PairRanks,
    one: Callable[[int], Sequence[int]],
) -> Tokens:
    """Return merged pieces: each token at the place of its first one, -1 at the others.

    Piece i is ``tokens[begin[i] : begin[i] + lengths[i]]``, and `ranks` are those of each token
    and the next. `one` merges the piece of a number by itself.
    """
    out = np.full(len(tokens), -1, np.int32)
    order = np.argsort(lengths, kind="stable")
    sizes = lengths.take(order)
    alone = order[np.searchsorted(sizes, LONGEST, side="right") :].tolist()
    for low, high in _groups(sizes[: len(order) - len(alone)]):
        group = order[low:high]
        columns = Columns(tokens, ranks, begin.take(group), sizes[low:high], pairs)
        alone += group.take(columns.merge(FEW)).tolist()
        columns.write(out)
    for number in alone:
        at = int(begin[number])
        out[at : at + int(lengths[number])] = one(number)
    return out


def _groups(sizes: Places) -> Iterator[tuple[int, int]]:
    """Yield runs of pieces, shorter ones first, whose matrix has not too many cells."""
    low = 0
    while low < len(sizes):
        cells = np.arange(1, len(sizes) - low + 1) * sizes[low:]
        high = low + max(1, int(np.searchsorted(cells, MOST_CELLS, side="right")))
        yield low, high
        low = high


class Columns:
    """The merging itself: a column for each piece, a row for each token.

    There is one row more at both ends, whose token joins with nothing. `keys` holds rank and row
    of the pair that begins in a row, so that the minimum of a column is its leftmost pair of
    lowest rank. `token` is changed in place, to -1 where a token has gone into the one before.
    """

    def __init__(
        self,
        tokens: Tokens,
        ranks: npt.NDArray[Any],
        begin: Places,
        lengths: Places,
        pairs: PairRanks,
    ) -> None:
        """Take pieces of tokens as `merged` does, the longest one last."""
        row = np.arange(int(lengths[-1]) + 2)[:, None]
        self.inside = (row >= 1) & (row <= lengths)
        self.at = np.where(self.inside, begin + row - 1, 0)
        rows, self.n = self.inside.shape
        self.pairs = pairs
        self.shift = rows.bit_length()
        # 32-bit keys where they are wide enough: their minimum takes half the time.
        wide = (pairs.n_ranks + 1) << self.shift >= 1 << 32
        self.dtype = np.uint64 if wide else np.uint32
        self.never = int(np.iinfo(self.dtype).max)
        rank = np.full((rows, self.n), MISSING, np.int64)
        np.copyto(rank[:-1], ranks.take(self.at[:-1]), where=self.inside[:-1] & self.inside[1:])
        self.keys = self._keys(rank, row)
        self.token = np.where(self.inside, tokens.take(self.at), pairs.pad).reshape(-1)
        steps = np.broadcast_to(row, rank.shape)
        self.following, self.preceding = (steps + 1).reshape(-1), (steps - 1).reshape(-1)

    def _keys(self, rank: Places, row: Places) -> npt.NDArray[Any]:
        keys: npt.NDArray[Any] = ((rank << self.shift) | row).astype(self.dtype)
        keys[rank == MISSING] = self.never
        return keys

    def write(self, out: Tokens) -> None:
        """Put the tokens where they came from."""
        out[self.at[self.inside]] = self.token[self.inside.reshape(-1)]

    def merge(self, few: int) -> Places:
        """Join a pair in every column until only a few have one left; return these."""
        keys, column = self.keys, np.arange(self.n)
        while True:
            best = keys.min(axis=0)
            live = np.flatnonzero(best != self.never)
            if len(live) <= few:
                return column.take(live)
            if 4 * len(live) < 3 * len(column):
                keys, best = keys.take(live, axis=1), best.take(live)
                column, live = column.take(live), np.arange(len(live))
            self._join(keys, live, best.take(live), column.take(live))

    def _join(
        self, keys: npt.NDArray[Any], live: Places, best: npt.NDArray[Any], column: Places
    ) -> None:
        """Join the pair with the best key in each live column of `keys`, which `column` names."""
        n, (_, width) = self.n, keys.shape
        here = (best & ((1 << self.shift) - 1)).astype(np.int64)
        place = here * n + column
        gone = self.following.take(place)
        gone_place = gone * n + column
        after = self.following.take(gone_place)
        before = self.preceding.take(place)
        after_place = after * n + column
        joined = self.pairs.joined(
            (best >> self.shift).astype(np.int64),
            self.token.take(place),
            self.token.take(gone_place),
        )
        self.token[place] = joined
        self.token[gone_place] = -1
        self.following[place] = after
        self.preceding[after_place] = here
        left, right = self.token.take(before * n + column), self.token.take(after_place)
        rank = self.pairs.look_up(np.concatenate([left, joined]), np.concatenate([joined, right]))
        changed = np.concatenate([before, here])
        flat = keys.reshape(-1)
        flat[gone * width + live] = self.never
        flat[changed * width + np.concatenate([live, live])] = self._keys(rank, changed)
