"""A trie in arrays: many strings followed through it at once, one character further at a time.

Every beginning of a string is a state. The step from a state by a character is a key in an open
hash table, and the slot where the key lies is the number of the state that it leads to: so a step
is one multiplication and one look into memory. States are added level by level, shorter beginnings
first, since a key holds the slot of the state before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import Bools, mixed

Ints = npt.NDArray[np.int64]

_CHARACTER_BITS = 21
_FREE = np.int64(-1)


class Trie:
    """Strings, each with the state that it ends in.

    >>> trie = Trie(["a", "ab", "abc"])
    >>> line, ends = trie.characters(["ab", "b"])
    >>> line.tolist() == [97, 98, trie.other, 98, trie.other], ends.tolist()
    (True, [2, 4])
    >>> first = trie.first.take(line)  # after one character: -1 where no string begins so
    >>> (first >= 0).tolist()
    [True, False, False, False, False]
    >>> there, state = trie.step(first[:1], line[1:2])
    >>> there.tolist(), state.tolist() == trie.ends[1:2].tolist()
    ([True], True)
    """

    def __init__(self, strings: Sequence[str]) -> None:
        sizes = np.fromiter(map(len, strings), np.int64, len(strings))
        text = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), np.uint32)
        self.other = int(text.max(initial=0)) + 1
        """Stands for every character that is in none of the strings, and for the end of a word."""
        levels = _levels(text.astype(np.int64), np.cumsum(sizes) - sizes, sizes)
        n_states = sum(len(before) for _, before, _ in levels)
        self.slots = 1 << (4 * n_states + 15).bit_length()
        """States are numbers below this."""
        self._shift = np.uint64(64 - (self.slots.bit_length() - 1))
        self._keys = np.full(self.slots, _FREE)
        self.ends = np.full(len(strings), -1)
        """State after each whole string; -1 after the empty one."""
        root = self.slots  # no slot, so that no beginning is taken for the empty one
        slot_of = np.array([root])
        for longer, before, character in levels:
            slot_of = self._add(slot_of.take(before), character)
            self.ends[longer[0]] = slot_of.take(longer[1])
        self.first = np.full(self.other + 1, -1)
        """State after each first character."""
        characters = np.arange(self.other + 1)
        there, state = self.step(np.full(len(characters), root), characters)
        self.first[there] = state[there]

    def characters(self, words: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the characters of words one after the other, with `other` after each word, and
        the places of these."""
        codes, ends = self.codes(words)
        line = np.minimum(codes, self.other).astype(np.int64)
        line[ends] = self.other
        return line, ends

    def codes(self, words: Sequence[str]) -> tuple[npt.NDArray[np.uint32], Ints]:
        """Return the code points of words one after the other, with one more after each word, and
        the places of these."""
        ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)) + 1) - 1
        joined = "\0".join([*words, ""])
        return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32), ends

    def walk(self, line: Ints, at: Ints, state: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield the places from where one character, two, ... begin a string, and the states.

        It begins with the states after the first character of each place.
        """
        length = 1
        while len(at):
            yield at, state
            there, state = self.step(state, line.take(at + length))
            at, state = at[there], state[there]
            length += 1

    def step(self, state: Ints, character: Ints) -> tuple[Bools, Ints]:
        """Go one character on from each state; say which go on, and where these arrive."""
        key = state << _CHARACTER_BITS | character
        slot = self._slot(key)
        held = self._keys.take(slot)
        there: Bools = held == key
        left = np.flatnonzero(~there & (held != _FREE))
        while len(left):
            at = (slot.take(left) + 1) & (self.slots - 1)
            slot[left] = at
            held = self._keys.take(at)
            same = held == key.take(left)
            there[left] = same
            left = left[~same & (held != _FREE)]
        return there, slot

    def _slot(self, key: Ints) -> Ints:
        return (mixed(key.view(np.uint64)) >> self._shift).view(np.int64)

    def _add(self, before: Ints, character: Ints) -> Ints:
        """Add steps that are not in the table, no two of them equal; return their slots."""
        key = before << _CHARACTER_BITS | character
        slot = self._slot(key)
        left = np.arange(len(key))
        while len(left):
            at = slot.take(left)
            free = left[self._keys.take(at) == _FREE]
            self._keys[slot.take(free)] = key.take(free)  # of several the last one stays
            left = left[self._keys.take(at) != key.take(left)]
            slot[left] = (slot.take(left) + 1) & (self.slots - 1)
        return slot


_Level = tuple[tuple[Ints, Ints], Ints, Ints]
"""Which strings reach a length and their beginnings' numbers; of each beginning: the number of
the one before, and its last character."""


def _levels(text: Ints, begin: Ints, sizes: Ints) -> list[_Level]:
    levels: list[_Level] = []
    number = np.zeros(len(sizes), np.int64)
    alive = np.flatnonzero(sizes > 0)
    while len(alive):
        length = len(levels)
        steps = number[alive] << _CHARACTER_BITS | text.take(begin[alive] + length)
        found, number[alive] = np.unique(steps, return_inverse=True)
        mask = (1 << _CHARACTER_BITS) - 1
        levels.append(((alive, number[alive]), found >> _CHARACTER_BITS, found & mask))
        alive = alive[sizes[alive] > length + 1]
    return levels
