"""Entries that occur in one word only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tokbench.bench.run.probe import InPreTokens

_MANY = 0


class WordsOfEntries:
    """For each entry how often it occurred, and the one pre-token that it was always in."""

    def __init__(self) -> None:
        self._tokens: Counter[int] = Counter()
        self._pre_token: dict[int, int] = {}
        self.pre_tokens = 0
        self.texts = 0

    def add(self, found: Iterable[InPreTokens]) -> None:
        """Count the tokens of some texts."""
        for ids, numbers in found:
            self.texts += 1
            for word in _groups(ids, numbers):
                self.pre_tokens += 1
                name = hash(word) or 1
                for i in word:
                    self._tokens[i] += 1
                    # a word that is the entry alone is a use of its own
                    mine = name if len(word) > 1 else _MANY
                    if self._pre_token.setdefault(i, mine) != mine:
                        self._pre_token[i] = _MANY

    def of_one_word(self, at_least: int) -> list[int]:
        """Return the entries that occur so often, in one longer pre-token only."""
        found = [
            i for i, n in self._tokens.items() if n >= at_least and self._pre_token[i] != _MANY
        ]
        return sorted(found, key=lambda i: (-self._tokens[i], i))

    def seen(self, at_least: int) -> int:
        """Return how many entries occur so often."""
        return sum(n >= at_least for n in self._tokens.values())


def _groups(ids: Sequence[int], numbers: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """Yield the ids of each pre-token.

    >>> list(_groups([5, 6, 7], [0, 0, 1]))
    [(5, 6), (7,)]
    """
    begin = 0
    for at in range(1, len(ids) + 1):
        if at == len(ids) or numbers[at] != numbers[begin]:
            yield tuple(ids[begin:at])
            begin = at
