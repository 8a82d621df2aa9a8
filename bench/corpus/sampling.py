"""Which rows of a corpus become documents: all, the first ones, or a uniform sample.

A sampler sees every row once, in order, and may change its mind: rows it admits are staged
on disk, and at the end it says which of the staged ones stay. What it holds in memory is two
numbers a row, never text.
"""

from __future__ import annotations

import hashlib
import heapq
from typing import Protocol

import numpy as np

from tokbench.bench.config.corpora import Corpus
from tokbench.bench.config.corpus_options import Reservoir
from tokbench.bench.model import IntArray


class Sampler(Protocol):
    """Decides about rows one by one."""

    def admit(self, id: str, n_bytes: int) -> bool:
        """Return whether the row is to be staged."""

    @property
    def done(self) -> bool:
        """Whether no later row can matter."""

    def kept(self) -> IntArray:
        """Return which of the admitted rows stay, counted from 0, ascending."""


def sampler_for(entry: Corpus) -> Sampler:
    """Return the sampler that an entry asks for."""
    rows = entry.limit.rows if entry.limit else None
    n_bytes = entry.limit.bytes if entry.limit else None
    if isinstance(entry.sample, Reservoir):
        return HashReservoir(rows=rows, n_bytes=n_bytes, seed=entry.sample.seed)
    return Head(rows=rows, n_bytes=n_bytes)


def describe(entry: Corpus) -> str:
    """Return an entry's sampling rule as text.

    >>> from tokbench.bench.config.corpora import FilesCorpus
    >>> describe(FilesCorpus(source="files", path="a.txt", language="en", limit={"rows": 1000}))
    'head, at most 1,000 rows'
    """
    if entry.limit is None:
        return "all rows"
    limits = [
        f"{n:,} {unit}"
        for n, unit in ((entry.limit.rows, "rows"), (entry.limit.bytes, "bytes"))
        if n is not None
    ]
    rule = f"reservoir, seed {entry.sample.seed}" if isinstance(entry.sample, Reservoir) else "head"
    return f"{rule}, at most {' and '.join(limits)}"


class Head:
    """Rows from the start, whole, until one more would go over a limit.

    >>> head = Head(rows=None, n_bytes=10)
    >>> [head.admit(str(i), 4) for i in range(3)], head.done, head.kept().tolist()
    ([True, True, False], True, [0, 1])
    """

    def __init__(self, *, rows: int | None, n_bytes: int | None) -> None:
        self._rows_left = float("inf") if rows is None else rows
        self._bytes_left = float("inf") if n_bytes is None else n_bytes
        self._full = False
        self._admitted = 0

    def admit(self, id: str, n_bytes: int) -> bool:
        """Return whether the row is to be staged."""
        self._full = self._full or n_bytes > self._bytes_left or not self._rows_left
        if self._full:
            return False
        self._rows_left -= 1
        self._bytes_left -= n_bytes
        self._admitted += 1
        return True

    @property
    def done(self) -> bool:
        """Whether no later row can matter."""
        return self._full or not self._rows_left

    def kept(self) -> IntArray:
        """Return which of the admitted rows stay, counted from 0, ascending."""
        return np.arange(self._admitted, dtype=np.int64)


class HashReservoir:
    """The rows whose ids have the smallest keyed hashes: uniform, and the same in any order.

    With a limit of bytes it is the longest run of smallest hashes that fits.

    >>> def sample(ids):
    ...     reservoir = HashReservoir(rows=2, n_bytes=None, seed=0)
    ...     admitted = [id for id in ids if reservoir.admit(id, 1)]
    ...     return sorted(admitted[i] for i in reservoir.kept())
    >>> sample("abcdef") == sample("fedcba")
    True
    """

    done = False

    def __init__(self, *, rows: int | None, n_bytes: int | None, seed: int) -> None:
        self._rows = float("inf") if rows is None else rows
        self._bytes = float("inf") if n_bytes is None else n_bytes
        self._key = seed.to_bytes(8, "little")
        self._ceiling = 2**128
        self._total = 0
        self._admitted = 0
        self._heap: list[
            tuple[int, int, int]
        ] = []  # (-hash, admitted row, bytes): largest hash first

    def admit(self, id: str, n_bytes: int) -> bool:
        """Return whether the row is to be staged."""
        digest = hashlib.blake2b(id.encode(), digest_size=16, key=self._key).digest()
        key = int.from_bytes(digest, "big")
        if key >= self._ceiling:
            return False
        heapq.heappush(self._heap, (-key, self._admitted, n_bytes))
        self._admitted += 1
        self._total += n_bytes
        while len(self._heap) > self._rows or self._total > self._bytes:
            largest, _, size = heapq.heappop(self._heap)
            self._ceiling = -largest
            self._total -= size
        return True

    def kept(self) -> IntArray:
        """Return which of the admitted rows stay, counted from 0, ascending."""
        return np.sort(np.fromiter((row for _, row, _ in self._heap), np.int64, len(self._heap)))
