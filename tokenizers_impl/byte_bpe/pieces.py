"""Known pieces of byte-level BPE: a table from the bytes of a piece to its ids.

A piece of up to 15 bytes is its own key: two 64-bit words that hold its bytes and its length.
Longer ones are keys of an ordinary dict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import MISSING, HashTable, Places, Words, distinct

IdArray = npt.NDArray[np.uint32]

_SHORT = 15
"""Longest piece, in bytes, that fits a key of two words with its length in the last byte."""

_LOW_MASKS = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(_SHORT + 1)], np.uint64)
_HIGH_MASKS = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(_SHORT + 1)], np.uint64)
_LENGTHS = np.arange(_SHORT + 1, dtype=np.uint64) << np.uint64(56)

_NOTHING = -2
"""Value of what has no tokens."""
_MANY = 1 << 32
"""Values below are the id of a piece that is one token; above, _MANY + the piece's number."""


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The values of pieces, and what is needed to learn those that are not known.

    `short` are the numbers of the unknown pieces that fit a key, `low` and `high` their keys;
    `long` are the numbers of the other unknown ones and `long_bytes` these themselves.
    """

    values: Places
    short: Places
    low: Words
    high: Words
    long: Places
    long_bytes: list[bytes]


@dataclass(frozen=True, slots=True)
class DistinctPieces:
    """Pieces of which no two are equal: first those that fit a key, then the longer ones."""

    low: Words
    high: Words
    long: list[bytes]

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> DistinctPieces:
        """Order and pack pieces; those that fit a key must come first."""
        n_short = sum(len(piece) <= _SHORT for piece in pieces)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))[:n_short]
        data = b"".join([*pieces[:n_short], bytes(16)])
        low, high = _keys(data, np.cumsum(lengths) - lengths, lengths)
        return cls(low=low, high=high, long=list(pieces[n_short:]))

    def lengths(self) -> Places:
        """Return the bytes of each piece."""
        short = (self.high >> np.uint64(56)).view(np.int64)
        return np.concatenate([short, np.fromiter(map(len, self.long), np.int64, len(self.long))])

    def data(self) -> bytes:
        """Return all pieces one after the other, and 16 zero bytes."""
        rows = np.stack([self.low, self.high], axis=1).view(np.uint8)
        inside = np.arange(16) < (self.high >> np.uint64(56)).view(np.int64)[:, None]
        return b"".join([rows[inside].tobytes(), *self.long, bytes(16)])


class PieceTable:
    """Maps pieces to values, from which `ids_of` makes ids."""

    def __init__(self) -> None:
        self._short = HashTable(words=2, capacity=1 << 10)
        self._long: dict[bytes, int] = {}
        # Of pieces that are several tokens: where their ids begin, and all ids one after the other.
        self._first = np.zeros(1, np.int64)
        self._ids = np.zeros(0, np.uint32)

    def __len__(self) -> int:
        return len(self._short) + len(self._long)

    def look_up(self, data: bytes, starts: Places, *, skip: Places | None = None) -> LookedUp:
        """Look up each piece ``data[starts[i]:starts[i + 1]]``; those in `skip` are nothing."""
        begin, length = starts[:-1], np.diff(starts)
        low, high = _keys(data, begin, np.minimum(length, _SHORT))
        values = self._short.find(low, high)
        is_long = length > _SHORT
        long = np.flatnonzero(is_long)
        long_bytes: list[bytes] = []
        if len(long):
            a, b = starts.take(long).tolist(), starts.take(long + 1).tolist()
            long_bytes = [data[i:j] for i, j in zip(a, b, strict=True)]
            found = list(map(self._long.get, long_bytes, repeat(MISSING)))
            values[long] = found
            unknown = [i for i, value in enumerate(found) if value == MISSING]
            long, long_bytes = long[unknown], [long_bytes[i] for i in unknown]
        if skip is not None:
            values[skip] = _NOTHING
        short = np.flatnonzero((values == MISSING) & ~is_long)
        return LookedUp(values, short, low.take(short), high.take(short), long, long_bytes)

    def add(self, pieces: DistinctPieces, ids: IdArray, counts: Places) -> Places:
        """Add pieces that are not in the table, with their ids; return their values.

        `ids` holds the ids of all pieces one after the other, `counts` how many each has.
        """
        values = self._store(ids, counts)
        n_short = len(pieces.low)
        self._short.add(values[:n_short], pieces.low, pieces.high)
        self._long.update(zip(pieces.long, values[n_short:].tolist(), strict=True))
        return values

    def _store(self, ids: IdArray, counts: Places) -> Places:
        """Return the values of new pieces, and keep the ids of those that are several tokens."""
        begin = np.cumsum(counts) - counts
        values = np.full(len(counts), _NOTHING, np.int64)
        single, many = counts == 1, counts > 1
        values[single] = ids[begin[single]]
        values[many] = _MANY + len(self._first) - 1 + np.arange(int(many.sum()))
        kept = ids[np.repeat(many, counts)]
        first = self._first[-1] + np.cumsum(counts[many])
        self._first = np.concatenate([self._first, first])
        self._ids = np.concatenate([self._ids, kept])
        return values

    def ids_of(self, values: Places) -> tuple[IdArray, Places]:
        """Return the ids of pieces one after the other, and where those of each piece end."""
        many = np.flatnonzero(values >= _MANY)
        counts = (values != _NOTHING).astype(np.int64)
        number = values[many] - _MANY
        first = self._first.take(number)
        count = self._first.take(number + 1) - first
        counts[many] = count
        ends = np.cumsum(counts)
        ids = np.empty(int(ends[-1]), np.uint32)
        begin = ends - counts
        some = counts != 0
        ids[begin[some]] = values[some].astype(np.uint32)
        # One step for each further token of the pieces that have several.
        at = begin[many]
        step = 0
        while len(at):
            ids[at + step] = self._ids.take(first + step)
            step += 1
            more = count > step
            at, first, count = at[more], first[more], count[more]
        return ids, ends


def _keys(data: bytes, begin: Places, length: Places) -> tuple[Words, Words]:
    """Return the two words of each piece; data must go on for 16 bytes after the last begin."""
    # Overlapping words, one from every byte; copied once, since reading unaligned ones is slow.
    view: Words = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, 0, (1,))
    words = view.copy()
    low = words.take(begin) & _LOW_MASKS.take(length)
    high = words.take(begin + 8) & _HIGH_MASKS.take(length)
    high |= _LENGTHS.take(length)
    return low, high


class Merges(Protocol):
    """What makes ids of pieces that are not known."""

    def merge(self, pieces: DistinctPieces) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""


def learn(found: Sequence[LookedUp], table: PieceTable, merger: Merges) -> None:
    """Merge the pieces that are not known, each once, add them to the table, fill in values."""
    low = np.concatenate([f.low for f in found]) if found else np.zeros(0, np.uint64)
    high = np.concatenate([f.high for f in found]) if found else low
    long = [piece for f in found for piece in f.long_bytes]
    if not len(low) and not long:
        return
    chosen, number = distinct(low, high)
    long_numbers = {piece: i for i, piece in enumerate(dict.fromkeys(long), start=len(chosen))}
    pieces = DistinctPieces(low.take(chosen), high.take(chosen), list(long_numbers))
    values = table.add(pieces, *merger.merge(pieces))
    short_values = values.take(number)
    long_values = values[[long_numbers[piece] for piece in long]] if long else values[:0]
    for f in found:
        f.values[f.short], short_values = np.split(short_values, [len(f.short)])
        f.values[f.long], long_values = np.split(long_values, [len(f.long)])
