"""Scores of token boundaries against morphemes: pure functions of cut words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tokbench.suites.morphology.gold_files import GoldWord


@dataclass(frozen=True, kw_only=True)
class CutWord:
    """A gold word and the places inside it, in bytes, at which its tokens meet."""

    gold: GoldWord
    places: frozenset[int]
    tokens: int

    @property
    def edges(self) -> tuple[int, ...]:
        """Where its morphemes begin and end, 0 and its length included."""
        return (0, *accumulate(len(part.encode()) for part in self.gold.parts))

    @property
    def boundaries(self) -> frozenset[int]:
        """Where its morphemes meet."""
        return frozenset(self.edges[1:-1])

    @property
    def found(self) -> int:
        """Morpheme boundaries that are token boundaries."""
        return len(self.boundaries & self.places)


@dataclass(frozen=True, kw_only=True)
class BoundaryCounts:
    """Boundaries inside words: of tokens, of morphemes, of both."""

    tokens: int
    morphemes: int
    both: int

    @classmethod
    def of(cls, words: Sequence[CutWord]) -> BoundaryCounts:
        """Add up over words.

        >>> gold = GoldWord(word="walked", parts=("walk", "ed"))
        >>> cut = CutWord(gold=gold, places=frozenset({1, 4}), tokens=3)
        >>> counts = BoundaryCounts.of([cut])
        >>> counts.precision, counts.recall, round(counts.f1, 3)
        (0.5, 1.0, 0.667)
        """
        return cls(
            tokens=sum(len(word.places) for word in words),
            morphemes=sum(len(word.boundaries) for word in words),
            both=sum(word.found for word in words),
        )

    @property
    def precision(self) -> float | None:
        """Of the tokens' boundaries, None where there are none."""
        return self.both / self.tokens if self.tokens else None

    @property
    def recall(self) -> float | None:
        """Of the morphemes' boundaries, None where there are none."""
        return self.both / self.morphemes if self.morphemes else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean, which needs no special case: 2 · both ÷ (tokens + morphemes)."""
        both = self.tokens + self.morphemes
        return 2 * self.both / both if both else None


@dataclass(frozen=True, kw_only=True)
class Morphscores:
    """MorphScore's two means, None where no word is cut, and the words behind them."""

    recall: float | None
    precision: float | None
    n: int


def morphscores(words: Sequence[CutWord], *, by_frequency: bool) -> Morphscores:
    """Return MorphScore's means; words of one token or one morpheme are left out.

    >>> whole = CutWord(gold=GoldWord(word="as", parts=("a", "s")), places=frozenset(), tokens=1)
    >>> morphscores([whole], by_frequency=False).n
    0
    """
    judged = [word for word in words if word.tokens > 1 and len(word.gold.parts) > 1]
    weights = [word.gold.weight if by_frequency else 1.0 for word in judged]
    total = sum(weights)
    if not total:
        return Morphscores(recall=None, precision=None, n=len(judged))
    pairs = list(zip(judged, weights, strict=True))
    return Morphscores(
        recall=sum(w * word.found / len(word.boundaries) for word, w in pairs) / total,
        precision=sum(w * word.found / word.tokens for word, w in pairs) / total,
        n=len(judged),
    )


def consistency(words: Sequence[CutWord]) -> tuple[float | None, int]:
    """Return the share of occurrences with a morpheme's usual tokens, and how many occurrences.

    Only morphemes of two or more different words count.
    """
    seen: dict[str, Counter[tuple[int, ...]]] = defaultdict(Counter)
    holders: dict[str, set[str]] = defaultdict(set)
    for word in words:
        for part, start, end in zip(word.gold.parts, word.edges, word.edges[1:], strict=False):
            seen[part][_tokens_of(word, start, end)] += 1
            holders[part].add(word.gold.word)
    shared = [counts for part, counts in seen.items() if len(holders[part]) > 1]
    n = sum(counts.total() for counts in shared)
    usual = sum(max(counts.values()) for counts in shared)
    return (usual / n if n else None), n


def _tokens_of(word: CutWord, start: int, end: int) -> tuple[int, ...]:
    """Return the boundaries of the tokens that overlap a morpheme, from the morpheme's start."""
    edges = sorted({0, word.edges[-1], *word.places})
    first = max(edge for edge in edges if edge <= start)
    last = min(edge for edge in edges if edge >= end)
    return tuple(edge - start for edge in edges if first <= edge <= last)
