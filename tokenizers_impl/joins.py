"""Joining neighbours again and again: how WordPiece is trained, and what BPE over characters is.

Words are written as symbols. The best pair of neighbours becomes one symbol everywhere, then the
next. By `likelihood` the best pair is the one with the highest count(ab) / (count(a) * count(b)):
joining it raises the likelihood of the corpus under independent tokens most (Schuster and
Nakajima 2012). By `frequency` it is the one with the highest count(ab), which is BPE.

Rules that decide ties and doubts, the same under any hash seed and document order:

- counts are of words weighted by how often they occur; in a run such as ``aaaa`` each of the
  three neighbouring pairs counts, and joining goes from the left;
- a pair counts only if it occurs `min_frequency` times: without a minimum the likelihood rule
  joins pairs first whose halves occur nowhere else, misspellings and names;
- scores are double-precision quotients of exact counts; the highest wins, then the highest
  count, then the smallest left string, then the smallest right string, in code point order. With
  ties `first_seen` the highest score wins, and of equal scores the pair that is met first when the
  words are read in their order, each from the left.

A join changes count(a) and count(b), and so the score of every pair with an a or a b in it, also
where nothing was joined. All scores are therefore taken anew after each join, in one NumPy
expression. `recounted_joins` is the same from first principles, for teaching and testing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import Literal, TypeVar

import numpy as np

from tokbench.bench.plugins import MergeEvent, Rival, Trace
from tokbench.tokenizers_impl.frequent_pairs import FrequentPairs, Pair, Rule

Ties = Literal["smallest", "first_seen"]
S = TypeVar("S", int, str)


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How words are written as symbols, and two symbols as one."""

    symbols: Callable[[str], list[str]]
    joined: Callable[[str, str], str]


def _concatenated(left: str, right: str) -> str:
    return left + right


CHARACTERS = Spelling(symbols=list, joined=_concatenated)
"""A symbol is a part of the word as it stands."""


@dataclass(frozen=True, kw_only=True)
class LearnedJoin:
    """One step of training."""

    left: str
    right: str
    token: str
    """The symbol that comes out."""
    count: int
    score: float
    rivals: Callable[[int], list[Rival]] = field(default=lambda n: [], compare=False, repr=False)
    """The n best pairs of the step, this one first."""


def recounted_joins(
    words: Mapping[str, int],
    *,
    rule: Rule,
    min_frequency: int,
    spelling: Spelling = CHARACTERS,
    ties: Ties = "smallest",
) -> Iterator[LearnedJoin]:
    """Yield joins, counting everything again for each: the definition, slow.

    >>> words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    >>> for rule in ("likelihood", "frequency"):
    ...     join = next(recounted_joins(words, rule=rule, min_frequency=1))
    ...     print(rule, join.left, join.right, join.count, round(join.score, 4))
    likelihood g s 5 0.05
    frequency u g 20 20.0
    """
    split = {word: spelling.symbols(word) for word in words}
    while True:
        symbols: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for symbol in split[word]:
                symbols[symbol] += count
            for pair in pairwise(split[word]):
                pairs[pair] += count
        joins = [
            LearnedJoin(
                left=a,
                right=b,
                token=spelling.joined(a, b),
                count=n,
                score=n / (symbols[a] * symbols[b]) if rule == "likelihood" else float(n),
            )
            for (a, b), n in pairs.items()
            if n >= min_frequency
        ]
        if not joins:
            return
        # max() keeps the first of equal ones, and pairs are listed as they were met
        best = min(joins, key=_order) if ties == "smallest" else max(joins, key=_score)
        yield best
        split = {
            word: _replaced(parts, (best.left, best.right), best.token)
            for word, parts in split.items()
        }


def learned_joins(
    words: Mapping[str, int],
    *,
    rule: Rule,
    min_frequency: int,
    spelling: Spelling = CHARACTERS,
    ties: Ties = "smallest",
) -> Iterator[LearnedJoin]:
    """Yield the same joins as `recounted_joins`, keeping the counts up to date.

    Each join costs the words it touches, and one pass over the pairs that are frequent enough.
    """
    counts = _PairCounts(words, spelling, FrequentPairs(rule, max(1, min_frequency)))
    best = counts.best if ties == "smallest" else counts.first_of_the_best
    while (join := best()) is not None:
        yield replace(join, rivals=partial(counts.rivals, ties=ties))
        counts.join(join)


def told(
    joins: Iterable[LearnedJoin], trace: Trace | None, rule: Rule = "frequency"
) -> Iterator[LearnedJoin]:
    """Pass joins on, and tell each as it is taken."""
    for rank, join in enumerate(joins):
        if trace is not None:
            left, right, token = (part.encode() for part in (join.left, join.right, join.token))
            trace(
                MergeEvent(
                    rank=rank,
                    left=left,
                    right=right,
                    token=token,
                    count=join.count,
                    score=join.score if rule == "likelihood" else None,
                    rivals=join.rivals,
                )
            )
        yield join


def _order(join: LearnedJoin) -> tuple[float, int, str, str]:
    return -join.score, -join.count, join.left, join.right


def _score(join: LearnedJoin) -> float:
    return join.score


class _Numbers(dict[str, int]):
    """Numbers strings as they come."""

    def __missing__(self, symbol: str) -> int:
        number = self[symbol] = len(self)
        return number


class _PairCounts:
    """Words as lists of symbols, and how often each symbol and pair occurs, kept up to date."""

    def __init__(
        self,
        words: Mapping[str, int],
        spelling: Spelling,
        table: FrequentPairs,
    ) -> None:
        self.spelling = spelling
        self.table = table
        self.index = _Numbers()
        number_of = self.index.__getitem__
        self.words = [list(map(number_of, spelling.symbols(word))) for word in words]
        self.symbols = list(self.index)
        self.weights = list(words.values())
        self.symbol_counts = np.zeros(2 * len(self.symbols) + 64)
        self.pair_counts: Counter[Pair] = Counter()
        self.where: dict[Pair, list[int]] = {}
        self._count()
        for pair, count in self.pair_counts.items():
            table.put(pair, count)

    def _count(self) -> None:
        """Count all symbols and pairs, and note the words that hold each pair."""
        sizes = np.fromiter(map(len, self.words), np.int64, len(self.words))
        flat = np.fromiter(chain.from_iterable(self.words), np.int64, int(sizes.sum()))
        word = np.repeat(np.arange(len(sizes)), sizes)
        weights = np.array(self.weights, np.int64)
        n = len(self.symbols)
        self.symbol_counts[:n] = np.bincount(flat, weights.take(word), minlength=n)
        at = np.flatnonzero(word[1:] == word[:-1])
        keys = flat.take(at) * n + flat.take(at + 1)
        order = np.argsort(keys, kind="stable")  # so that the words of a pair stay in order
        keys, holders = keys.take(order), word.take(at).take(order)
        if not len(keys):
            return
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        counts = np.add.reduceat(weights.take(holders), starts).tolist()
        bounds = pairwise([*starts.tolist(), len(keys)])
        for key, count, (begin, end) in zip(
            keys.take(starts).tolist(), counts, bounds, strict=True
        ):
            pair = divmod(key, n)
            self.pair_counts[pair] = count
            self.where[pair] = holders[begin:end].tolist()

    def best(self) -> LearnedJoin | None:
        """Return the join that comes next, or None when no pair is frequent enough."""
        symbols = self.symbols
        # min() over plain tuples: late in training thousands of pairs share the best score
        negative_count, left, right, score = min(
            (
                (-count, symbols[a], symbols[b], score)
                for a, b, count, score in self.table.best(self.symbol_counts)
            ),
            default=(0.0, "", "", 0.0),
        )
        if not negative_count:
            return None
        token = self.spelling.joined(left, right)
        return LearnedJoin(
            left=left, right=right, token=token, count=int(-negative_count), score=score
        )

    def first_of_the_best(self) -> LearnedJoin | None:
        """Return, of the pairs with the highest score, the one that is met first."""
        found: tuple[tuple[int, int], LearnedJoin] | None = None
        tied = self.table.best(self.symbol_counts)
        # The lowest word that ever held a pair is not above the first that still does.
        for bound, a, b, count, score in sorted((min(self.where[t[0], t[1]]), *t) for t in tied):
            if found is not None and bound > found[0][0]:
                break
            place = self._first_place((a, b))
            if found is None or place < found[0]:
                left, right = self.symbols[a], self.symbols[b]
                token = self.spelling.joined(left, right)
                found = (
                    place,
                    LearnedJoin(left=left, right=right, token=token, count=int(count), score=score),
                )
        return None if found is None else found[1]

    def rivals(self, n: int, *, ties: Ties) -> list[Rival]:
        """Return the n best pairs as they stand, the one that is joined next first."""
        halves, counts, scores = self.table.listed(self.symbol_counts)
        if len(scores) > n:
            worst = np.partition(scores, -n)[-n]
            kept = scores >= worst
            halves, counts, scores = halves[:, kept], counts[kept], scores[kept]
        columns = halves[0].tolist(), halves[1].tolist(), counts.tolist(), scores.tolist()

        def order(row: tuple[int, int, float, float]) -> tuple[object, ...]:
            a, b, count, score = row
            if ties == "first_seen":
                return (-score, *self._first_place((a, b)))
            return -score, -count, self.symbols[a], self.symbols[b]

        best = sorted(zip(*columns, strict=True), key=order)[:n]
        scored = self.table.rule == "likelihood"
        return [
            Rival(
                left=self.symbols[a].encode(),
                right=self.symbols[b].encode(),
                count=int(count),
                score=score if scored else None,
            )
            for a, b, count, score in best
        ]

    def _first_place(self, pair: Pair) -> tuple[int, int]:
        """Return the first word that holds a pair, and where in it."""
        return next(
            (number, at)
            for number in sorted(set(self.where[pair]))
            for at, there in enumerate(pairwise(self.words[number]))
            if there == pair
        )

    def join(self, join: LearnedJoin) -> None:
        """Carry out a join in all words that hold the pair."""
        pair = self.index[join.left], self.index[join.right]
        new = self._symbol(join.token)
        if new >= len(self.symbol_counts):
            self.symbol_counts = np.concatenate(
                [self.symbol_counts, np.zeros_like(self.symbol_counts)]
            )
        changes: Counter[Pair] = Counter()
        # dict.fromkeys: a word is listed once for each time the pair was seen in it
        for number in dict.fromkeys(self.where.pop(pair)):
            self._join_in_word(number, pair, new, changes)
        for changed, difference in changes.items():
            self.pair_counts[changed] += difference
            self.table.put(changed, self.pair_counts[changed])

    def _join_in_word(self, number: int, pair: Pair, new: int, changes: Counter[Pair]) -> None:
        old, weight = self.words[number], self.weights[number]
        word = _replaced(old, pair, new)
        n_joined = len(old) - len(word)
        if not n_joined:
            return  # another join took this pair away
        self.words[number] = word
        for symbol, change in (pair[0], -1), (pair[1], -1), (new, 1):
            self.symbol_counts[symbol] += change * n_joined * weight
        for gone in pairwise(old):
            changes[gone] -= weight
        for there in pairwise(word):
            changes[there] += weight
            if new in there:
                self.where.setdefault(there, []).append(number)

    def _symbol(self, symbol: str) -> int:
        index = self.index[symbol]
        if index == len(self.symbols):
            self.symbols.append(symbol)
        return index


def _replaced(word: list[S], pair: tuple[S, S], new: S) -> list[S]:
    """Join the pair wherever it stands, from the left.

    >>> _replaced([1, 1, 1, 2], (1, 1), 9)
    [9, 1, 2]
    """
    left, right = pair
    out: list[S] = []
    position, last = 0, len(word) - 1
    while position <= last:
        symbol = word[position]
        if symbol == left and position < last and word[position + 1] == right:
            out.append(new)
            position += 2
        else:
            out.append(symbol)
            position += 1
    return out
