"""Merging many new pieces of byte-level BPE at a time: the bytes as tokens, then `merging`."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np

from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.pieces import DistinctPieces, IdArray
from tokbench.tokenizers_impl.hash_table import Places
from tokbench.tokenizers_impl.merging import PairRanks, merged


class Merger:
    """Merges many pieces at a time."""

    def __init__(self, model: BytePairModel) -> None:
        self._model = model
        self._byte_ids = np.array(model.byte_ids, np.int32)
        merges = np.array(model.merges, np.int64).reshape(-1, 3)
        self._pairs = PairRanks(merges, pad=model.n_ids)
        self._byte_pair_ranks = self._pairs.look_up(
            np.repeat(self._byte_ids, 256), np.tile(self._byte_ids, 256)
        )

    def merge(self, pieces: DistinctPieces) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        data, lengths = np.frombuffer(pieces.data(), np.uint8), pieces.lengths()
        ends = np.cumsum(lengths)
        begin = ends - lengths
        ranks = self._byte_pair_ranks.take(data[:-1].astype(np.int64) * 256 + data[1:])
        tokens = merged(
            self._byte_ids.take(data),
            ranks,
            begin,
            lengths,
            self._pairs,
            lambda i: self.merge_long(data[begin[i] : ends[i]].tobytes()),
        )
        kept = tokens >= 0
        counts = np.add.reduceat(kept, begin, dtype=np.int64)
        return tokens[kept].astype(np.uint32), counts

    def merge_long(self, piece: bytes) -> list[int]:
        """Merge one piece with a heap of pairs, in time n log n; -1 as in `merged`."""
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
