"""A hash table in NumPy: many keys looked up or added with a few array operations.

Open addressing with linear probing. The hash of a key names the slot where it should lie; if
another key lies there, it lies in the next free slot. So a look-up compares the key with the slot's,
and goes on to the next slot until the keys agree or the slot is empty. Done for all keys at once:
each round is one array operation, and only the keys that met another one take part in the next.
With two thirds of the slots empty hardly any do.

Keys are compared whole, never by their hash alone. They are 64-bit words, or pairs of them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MISSING = -1
"""What is found for a key that is not in the table."""

_MULTIPLIERS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
"""2**64 ÷ golden ratio, which spreads keys that differ little (Knuth, vol. 3, 6.4); a prime."""


def mixed(*key: Words) -> Words:
    """Return the hash of each key: the high bits of a product depend on all bits of its factors.

    On pairs of ids, pieces of text and edges of a trie, as many keys meet in a slot as would if
    the slots were drawn by lot.
    """
    first, *others = key
    result = first * _MULTIPLIERS[0]
    for word, multiplier in zip(others, _MULTIPLIERS[1:], strict=False):
        result ^= word * multiplier
    return result


def slots_for(n: int) -> int:
    """Return how many slots keep `n` keys apart: a power of two, a third of it filled at most."""
    return 1 << max(3 * n, 15).bit_length()


class HashTable:
    """Maps keys to numbers other than `MISSING`. Keys have one 64-bit word, or two.

    >>> table = HashTable()
    >>> table.add(np.array([7, 8]), np.array([70, 80], np.uint64))
    >>> table.find(np.array([80, 90, 70], np.uint64)).tolist(), len(table)
    ([8, -1, 7], 2)
    """

    def __init__(
        self, *, words: Literal[1, 2] = 1, capacity: int = 0, dtype: Any = np.int64
    ) -> None:
        """`capacity` is how many keys fit before the table grows; `dtype` that of the numbers."""
        self._words, self._dtype = words, dtype
        self._used = 0
        self._allocate(slots_for(capacity))

    def __len__(self) -> int:
        return self._used

    def find(self, *key: Words) -> npt.NDArray[Any]:
        """Return the number of each key, `MISSING` where it is not in the table."""
        slot = self._slot(*key)
        values = self._values.take(slot)
        other = self._differs(slot, key)
        left = np.flatnonzero(other & (values != MISSING))
        np.putmask(values, other, MISSING)
        key = tuple(word[left] for word in key)
        slot = slot[left]
        while len(left):
            slot = (slot + 1) & self._last
            found = self._values.take(slot)
            other = self._differs(slot, key)
            values[left] = np.where(other, MISSING, found)
            more = np.flatnonzero(other & (found != MISSING))
            left, slot, key = left[more], slot[more], tuple(word[more] for word in key)
        return values

    def add(self, values: npt.NDArray[Any], *key: Words) -> None:
        """Add keys that are not in the table and of which no two are equal."""
        self._used += len(values)
        if slots_for(self._used) > len(self._values):
            self._grow()
        slot = self._slot(*key)
        left = np.arange(len(values))
        while len(left):
            # Of several keys that want one empty slot the first gets it; the others go on.
            free = np.flatnonzero(self._values.take(slot) == MISSING)
            at, first = np.unique(slot[free], return_index=True)
            winner = left[free[first]]
            self._values[at] = values[winner]
            for column, word in zip(self._keys, key, strict=True):
                column[at] = word[winner]
            lost = np.ones(len(left), np.bool_)
            lost[free[first]] = False
            left, slot = left[lost], (slot[lost] + 1) & self._last

    def _allocate(self, slots: int) -> None:
        self._shift, self._last = np.uint64(64 - (slots.bit_length() - 1)), slots - 1
        self._keys = [np.zeros(slots, np.uint64) for _ in range(self._words)]
        self._values = np.full(slots, MISSING, self._dtype)

    def _slot(self, *key: Words) -> Places:
        slot = mixed(*key)
        slot >>= self._shift
        return slot.view(np.int64)

    def _differs(self, slot: Places, key: tuple[Words, ...]) -> Bools:
        differs: Bools = self._keys[0].take(slot) != key[0]
        for column, word in zip(self._keys[1:], key[1:], strict=True):
            differs |= column.take(slot) != word
        return differs

    def _grow(self) -> None:
        kept = np.flatnonzero(self._values != MISSING)
        keys, values = [column[kept] for column in self._keys], self._values[kept]
        self._allocate(slots_for(2 * self._used))
        self._used -= len(kept)
        self.add(values, *keys)


class HashFilter:
    """A set of words that may claim to hold one it does not: about one word in 64, or fewer.

    >>> held = HashFilter(np.array([1, 2, 3], np.uint64))
    >>> held.may_hold(np.array([2, 3], np.uint64)).tolist()
    [True, True]
    """

    def __init__(self, words: Words) -> None:
        bits = max(16, len(words).bit_length() + 6)
        self._shift = np.uint64(64 - bits)
        self._held = np.zeros(1 << bits, np.bool_)
        self._held[self._slot(words)] = True

    def may_hold(self, words: Words) -> Bools:
        """Return False for words that are certainly not in the set."""
        return self._held.take(self._slot(words))

    def _slot(self, words: Words) -> Places:
        slot = mixed(words)
        slot >>= self._shift
        return slot.view(np.int64)


def distinct(*key: Words) -> tuple[Places, Places]:
    """Return one place of each distinct key, and for every key the number of its like among them.

    All keys write their place into the slot of their hash. Those that read back a place with their
    own key are settled; the others, whose slot went to another key, try again among themselves.

    >>> chosen, number = distinct(np.array([9, 4, 9], np.uint64))
    >>> len(chosen), number[0] == number[2], number[0] == number[1]
    (2, np.True_, np.False_)
    """
    n = len(key[0])
    slot = mixed(*key) >> np.uint64(64 - max(n, 1).bit_length() - 1)
    at = slot.view(np.int64)
    scratch = np.empty(int(at.max(initial=0)) + 1, np.int64)
    like = np.empty(n, np.int64)
    todo = np.arange(n)
    while len(todo):
        scratch[at] = todo
        written = scratch.take(at)
        same = np.ones(len(todo), np.bool_)
        for word in key:
            same &= word.take(written) == word.take(todo)
        like[todo[same]] = written[same]
        todo, at = todo[~same], at[~same]
    chosen = np.flatnonzero(like == np.arange(n))
    number = np.empty(n, np.int64)
    number[chosen] = np.arange(len(chosen))
    return chosen, number.take(like)
