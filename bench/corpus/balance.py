"""Text of many languages for training, with as much of each as another rule than its size says.

Documents of a language are seen more often, spread evenly over its text: with a factor of 5/2 the
first document is seen twice, the second three times, the third twice, and so on. The language with
the most (or the lowest premium) keeps its text as it is; nothing is left out.

- `bytes`: every language has the UTF-8 bytes of the largest.
- `languages`: every language has the documents of the one with the most.
- `premium`: every language is seen as often as its tokens exceed those of the cheapest language,
  under a tokenizer that was trained on the same text without balance. For parallel text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Literal

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import LabelledTexts


@dataclass(frozen=True)
class BalancedTexts:
    """Texts of which each language is seen `factors` times; may be iterated again."""

    texts: LabelledTexts
    factors: Mapping[str, Fraction]

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each text once, with the number of times that training sees it."""
        return ((text, weight) for text, weight, _ in self.labelled())

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each text once, with that number and its language."""
        seen: Counter[str] = Counter()
        for text, weight, language in self.texts.labelled():
            before = int(seen[language] * self.factors[language])
            seen[language] += weight
            yield text, int(seen[language] * self.factors[language]) - before, language


def factors(texts: LabelledTexts, by: Literal["bytes", "languages"]) -> dict[str, Fraction]:
    """Return how often each language is to be seen; raise `TrainingError` for one without text."""
    amounts: Counter[str] = Counter()
    for text, weight, language in texts.labelled():
        amounts[language] += weight * (len(text.encode()) if by == "bytes" else 1)
    return raised(amounts, max(amounts.values(), default=0))


def raised(amounts: Mapping[str, int], to: int) -> dict[str, Fraction]:
    """Return the factors that bring every amount to one.

    >>> raised({"en": 100, "is": 40}, 100)["is"]
    Fraction(5, 2)
    """
    if empty := [language for language, amount in amounts.items() if not amount]:
        raise TrainingError(f"balance: {empty[0]} has no text to be seen more often")
    return {language: Fraction(to, amount) for language, amount in amounts.items()}


def by_premium(tokens: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the factors that weigh each language by its tokens for the same text.

    >>> by_premium({"en": 100, "my": 450})["my"]
    Fraction(9, 2)
    """
    least = min((n for n in tokens.values() if n), default=1)
    return {language: Fraction(max(n, least), least) for language, n in tokens.items()}
