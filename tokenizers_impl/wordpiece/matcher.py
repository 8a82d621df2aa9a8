"""Longest match for many words at once: the ids of `longest_match`, in NumPy.

All words are one line of characters with something that no entry holds between them. Entries are
found by walking a trie (`trie`) from all places where one may begin: first the longest entry at
each word's start, then, in what is left of the words, the longest continuation at each place. Then
each word is followed from entry to entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.trie import Ints, Trie

Entries = npt.NDArray[np.int32]

_CONTINUED = "\udc81"
"""Stands before continuations in the trie; no text can hold a lone surrogate."""


class LongestMatcher:
    """Entries that start words and entries that continue them, as one trie.

    >>> matcher = LongestMatcher({"un": 1, "want": 2}, {"want": 3, "ed": 4}, unknown=0, longest=9)
    >>> ids, counts = matcher.match(["unwanted want", "", "unwon unwantedly"])
    >>> ids.tolist(), counts.tolist()
    ([1, 3, 4, 2, 0, 0], [4, 0, 2])
    """

    def __init__(
        self,
        starts: Mapping[str, int],
        continuations: Mapping[str, int],
        *,
        unknown: int,
        longest: int,
    ) -> None:
        """`unknown` is the id of a word without entries, or of more than `longest` characters."""
        self._unknown, self._longest = unknown, longest
        ids = {**starts, **{_CONTINUED + entry: i for entry, i in continuations.items()}}
        ids.pop("", None)
        self._trie = trie = Trie([*ids, _CONTINUED])
        self._ids = np.full(trie.slots, -1, np.int32)
        self._ids[trie.ends[:-1]] = np.fromiter(ids.values(), np.int32, len(ids))
        characters = np.arange(trie.other + 1)
        there, state = trie.step(np.full(len(characters), trie.ends[-1]), characters)
        self._continued = np.where(there, state, -1)

    def match(self, texts: Sequence[str]) -> tuple[Entries, Ints]:
        """Return the ids of texts one after the other, and how many each has.

        Texts are normalized, and words end at spaces.
        """
        codes, ends = self._trie.codes(texts)
        gap = codes == ord(" ")
        gap[ends] = True
        line = np.minimum(codes, self._trie.other).astype(np.int64)
        line[gap] = self._trie.other
        inner = np.flatnonzero(~gap)
        before = np.append(True, gap)
        starts = inner[before.take(inner)]
        stops = inner[gap.take(inner + 1)] + 1
        reach, entry = self._longest_entries(line, inner, starts, stops)
        taken = self._followed(starts, stops, inner, reach, entry)
        return entry.take(taken), np.diff(np.searchsorted(taken, ends), prepend=0)

    def _longest_entries(
        self, line: Ints, inner: Ints, starts: Ints, stops: Ints
    ) -> tuple[Ints, Entries]:
        """Return where the longest entry from each place ends, 0 where there is none, and its id."""
        reach = np.zeros(len(line), np.int64)
        entry = np.full(len(line), self._unknown, np.int32)

        def walk(at: Ints, state: Ints) -> None:
            begun = state >= 0
            steps = self._trie.walk(line, at[begun], state[begun])
            for length, (places, states) in enumerate(steps, start=1):
                ids = self._ids.take(states)
                whole = ids >= 0
                reach[places[whole]] = places[whole] + length
                entry[places[whole]] = ids[whole]

        walk(starts, self._trie.first.take(line.take(starts)))
        first = reach.take(starts)
        left = np.repeat(np.where(first > 0, first, stops), stops - starts)
        rest = inner[inner >= left]
        walk(rest, self._continued.take(line.take(rest)))
        return reach, entry

    def _followed(
        self, starts: Ints, stops: Ints, inner: Ints, reach: Ints, entry: Entries
    ) -> Ints:
        """Return the places of the entries that words are made of; unknown words have one."""
        taken = np.zeros(len(reach), np.bool_)
        lost = stops - starts > self._longest
        at, word = starts, np.arange(len(starts))
        while len(at):
            taken[at] = True
            at = reach.take(at)
            lost[word[at == 0]] = True
            on = (at > 0) & (at < stops.take(word))
            at, word = at[on], word[on]
        taken[inner[np.repeat(lost, stops - starts)]] = False
        taken[starts[lost]] = True
        entry[starts[lost]] = self._unknown
        return np.flatnonzero(taken)
