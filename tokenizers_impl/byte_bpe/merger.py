"""Merging many new pieces of byte-level BPE at a time.

One column of a matrix for each piece; in every round each column joins its leftmost pair of lowest
rank. That is the definition of `model.apply_merges`, for many pieces at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.pieces import DistinctPieces, IdArray
from tokbench.tokenizers_impl.hash_table import MISSING, HashTable, Places, Words


class Merger:
    """Merges many pieces at a time."""

    def __init__(self, model: BytePairModel) -> None:
        self._model = model
        self._byte_ids = np.array(model.byte_ids, np.int32)
        self._result = np.array([joined for _, _, joined in model.merges], np.int32)
        self._pairs = _PairTable(model)
        self._byte_pair_ranks = self._pairs.look_up(
            np.repeat(self._byte_ids, 256), np.tile(self._byte_ids, 256)
        )

    def merge(self, pieces: DistinctPieces) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        data, lengths = np.frombuffer(pieces.data(), np.uint8), pieces.lengths()
        begin = np.cumsum(lengths) - lengths
        # Final tokens, at the place of their first byte; -1 where a byte went into a token.
        tokens = np.full(len(data), -1, np.int32)
        order = np.argsort(lengths, kind="stable")
        shortest_first = lengths[order]
        done = 0
        for longest in _GROUP_LENGTHS:
            stop = int(np.searchsorted(shortest_first, longest, side="right"))
            for part in _parts(order[done:stop], longest):
                self._merge_group(data, begin[part], lengths[part], longest, tokens)
            done = stop
        for i in order[done:].tolist():
            stop = begin[i] + lengths[i]
            tokens[begin[i] : stop] = self.merge_long(data[begin[i] : stop].tobytes())
        kept = tokens >= 0
        counts = np.add.reduceat(kept, begin, dtype=np.int64)
        return tokens[kept].astype(np.uint32), counts

    def merge_long(self, piece: bytes) -> list[int]:
        """Merge one piece with a heap of pairs, in time n log n; -1 as in `_Columns`."""
        ranks, merges = self._model.ranks, self._model.merges
        tokens = [self._model.byte_ids[byte] for byte in piece]
        n = len(tokens)
        following, preceding = list(range(1, n + 1)), list(range(-1, n - 1))
        heap = [
            (rank, at)
            for at, pair in enumerate(pairwise(tokens))
            if (rank := ranks.get(pair)) is not None
        ]
        heapify(heap)
        while heap:
            rank, at = heappop(heap)
            gone = following[at]
            left, right, joined = merges[rank]
            # A pair that has changed since it was put in is out of date.
            if gone == n or tokens[at] != left or tokens[gone] != right:
                continue
            tokens[at], tokens[gone] = joined, -1
            following[at] = after = following[gone]
            if after < n:
                preceding[after] = at
            for first, second in ((preceding[at], at), (at, after)):
                if first >= 0 and second < n:
                    new = ranks.get((tokens[first], tokens[second]))
                    if new is not None:
                        heappush(heap, (new, first))
        return tokens

    def _merge_group(
        self,
        data: npt.NDArray[np.uint8],
        begin: Places,
        length: Places,
        longest: int,
        out: npt.NDArray[np.int32],
    ) -> None:
        """Merge pieces of at most `longest` bytes and write their tokens to `out`."""
        row = np.arange(longest + 2)[:, None]
        inside = (row >= 1) & (row <= length)
        at = np.where(inside, begin + row - 1, 0)
        byte = data.take(at)
        token = np.where(inside, self._byte_ids.take(byte), self._pairs.pad)
        rank = np.full(inside.shape, MISSING, np.int64)
        pair = byte[:-1].astype(np.int64) * 256 + byte[1:]
        np.copyto(rank[:-1], self._byte_pair_ranks.take(pair), where=inside[:-1] & inside[1:])
        _Columns(token, rank, self._pairs, self._result).merge()
        out[at[inside]] = token[inside]


class _Columns:
    """The merging itself: a column for each piece, a row for each byte.

    There is one row more at both ends, whose token joins with nothing. `keys` holds rank and row
    of the pair that begins in a row, so that the minimum of a column is its leftmost pair of
    lowest rank. `token` is changed in place, to -1 where a token has gone into the one before.
    """

    def __init__(
        self,
        token: npt.NDArray[np.int32],
        rank: Places,
        pairs: _PairTable,
        result: npt.NDArray[np.int32],
    ) -> None:
        rows, self.n = token.shape
        self.pairs, self.result = pairs, result
        self.shift = rows.bit_length()
        # 32-bit keys where they are wide enough: their minimum takes half the time.
        wide = (len(result) + 1) << self.shift >= 1 << 32
        self.dtype = np.uint64 if wide else np.uint32
        self.never = int(np.iinfo(self.dtype).max)
        row = np.arange(rows)[:, None]
        self.keys = self._keys(rank, row)
        self.token = token.reshape(-1)
        steps = np.broadcast_to(row, token.shape).astype(np.int32)
        self.following, self.preceding = (steps + 1).reshape(-1), (steps - 1).reshape(-1)

    def _keys(self, rank: Places, row: Places) -> npt.NDArray[Any]:
        keys: npt.NDArray[Any] = ((rank << self.shift) | row).astype(self.dtype)
        keys[rank == MISSING] = self.never
        return keys

    def merge(self) -> None:
        """Join one pair in every column until no column has one left."""
        keys, column, n = self.keys, np.arange(self.n), self.n
        while True:
            best = keys.min(axis=0)
            live = best != self.never
            if not live.all():
                keys, best, column = np.compress(live, keys, axis=1), best[live], column[live]
                if not len(column):
                    return
            here = (best & ((1 << self.shift) - 1)).astype(np.int64)
            place = here * n + column
            gone = self.following.take(place).astype(np.int64)
            gone_place = gone * n + column
            after = self.following.take(gone_place).astype(np.int64)
            before = self.preceding.take(place).astype(np.int64)
            after_place = after * n + column
            joined = self.result.take((best >> self.shift).astype(np.int64))
            self.token[place] = joined
            self.token[gone_place] = -1
            self.following[place] = after
            self.preceding[after_place] = here
            left, right = self.token.take(before * n + column), self.token.take(after_place)
            rank = self.pairs.look_up(
                np.concatenate([left, joined]), np.concatenate([joined, right])
            )
            changed = np.concatenate([before, here])
            flat, width = keys.reshape(-1), len(column)
            index = np.arange(width)
            flat[gone * width + index] = self.never
            flat[changed * width + np.concatenate([index, index])] = self._keys(rank, changed)


_CELLS = 1 << 17
_GROUP_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Pieces are merged together with others of about their length; longer ones one by one."""


def _parts(group: Places, longest: int) -> Iterator[Places]:
    """Yield parts of a group, so that its matrices stay in the cache."""
    size = max(1, _CELLS // (longest + 2))
    for start in range(0, len(group), size):
        yield group[start : start + size]


class _PairTable:
    """Maps pairs of ids to the rank of their merge."""

    def __init__(self, model: BytePairModel) -> None:
        self.pad = np.int32(model.n_ids)
        merges = np.array(model.merges, np.int64).reshape(-1, 3)
        self._ranks = HashTable(capacity=len(merges), dtype=np.int32)
        self._ranks.add(np.arange(len(merges)), _pair(merges[:, 0], merges[:, 1]))

    def look_up(self, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Places:
        """Return the rank of each pair, MISSING where it is not joined."""
        return self._ranks.find(_pair(left, right))


def _pair(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Words:
    return (left.astype(np.uint64) << np.uint64(32)) | right.astype(np.uint64)
