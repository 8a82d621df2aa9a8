"""Words that were seen before, numbered as they came, with the ids of each in flat arrays.

Most words of a text have been seen already. Their numbers come from a dict, in one sweep of C; all
that follows is done for the numbers of a whole batch at once.

>>> table = WordTable()
>>> table.numbered(["a", "bc", "a"])
(array([0, 1, 0]), ['a', 'bc'])
>>> table.learn(np.array([7, 8, 9]), np.array([1, 2]))
>>> ids, ends = table.ids_of(np.array([0, 1, 0]))
>>> ids.tolist(), ends.tolist()
([7, 8, 9, 7], [1, 3, 4])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

MOST_WORDS = 1 << 18
MOST_CHARACTERS = 1 << 22
"""What is remembered, up to a batch more, so that memory is bounded."""


class Growing:
    """An array that values are added to; `values` shows those that are there."""

    def __init__(self, dtype: Any) -> None:
        self._room = np.zeros(1024, dtype)
        self._used = 0

    def add(self, values: npt.NDArray[Any]) -> None:
        """Put values after those that are there."""
        used = self._used + len(values)
        if used > len(self._room):
            self._room = np.resize(self._room, 2 * used)
        self._room[self._used : used] = values
        self._used = used

    @property
    def values(self) -> npt.NDArray[Any]:
        """What was added so far, not copied."""
        return self._room[: self._used]


class WordTable(dict[str, int]):
    """Numbers words, and gives the ids of numbers. Each new word must be learned at once."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number

    def _forget(self) -> None:
        self.clear()
        self._characters = 0
        self.n_learned = 0
        self._ids = Growing(np.int32)
        self._counts = Growing(np.int64)
        self._ends = Growing(np.int64)

    def numbered(self, words: Sequence[str]) -> tuple[Ints, list[str]]:
        """Return the number of each word, and the new words in the order of their numbers."""
        full = self.n_learned > MOST_WORDS or self._characters > MOST_CHARACTERS
        if full or len(self) > self.n_learned:  # or words were left unlearned by an error
            self._forget()
        numbers = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        new = list(islice(reversed(self), len(self) - self.n_learned))[::-1]
        self._characters += sum(map(len, new))
        return numbers, new

    def learn(self, ids: npt.NDArray[Any], counts: Ints) -> None:
        """Take the ids of the new words, one after the other, and how many each has."""
        self._ends.add(len(self._ids.values) + np.cumsum(counts))
        self._ids.add(ids)
        self._counts.add(counts)
        self.n_learned += len(counts)

    def ids_of(self, numbers: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
        """Return the ids of words one after the other, and where those of each word end."""
        counts = self._counts.values.take(numbers)
        ends = np.cumsum(counts)
        shift = np.repeat(self._ends.values.take(numbers) - ends, counts)
        shift += np.arange(len(shift))
        return self._ids.values.take(shift), ends


def blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield texts in parts of about a million characters, to bound what is held at once."""
    begin = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= 1 << 20 or end == len(texts):
            yield texts[begin:end]
            begin, size = end, 0


def cut_at(ids: npt.NDArray[Any], ends: Ints) -> list[list[int]]:
    """Return ids as lists, each of which ends where `ends` says.

    >>> cut_at(np.array([7, 8, 9]), np.array([2, 2, 3]))
    [[7, 8], [], [9]]
    """
    flat = ids.tolist()
    return [flat[begin:end] for begin, end in pairwise([0, *ends.tolist()])]
