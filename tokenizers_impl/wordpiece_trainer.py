"""Training WordPiece: which two entries to join next, by likelihood or by frequency.

Words are written as characters, the first as it is, the others with ``##``. Again and again the
best pair of neighbours is joined everywhere. By `likelihood` the best pair is the one with the
highest count(ab) / (count(a) * count(b)): joining it raises the likelihood of the corpus under
independent tokens most (Schuster and Nakajima 2012). By `frequency` it is the one with the
highest count(ab), which is BPE; the `tokenizers` library trains its WordPiece like that.

Rules that decide ties and doubts, the same under any hash seed and document order:

- counts are of words weighted by how often they occur; in a run such as ``aaaa`` each of the
  three neighbouring pairs counts, and joining goes from the left;
- a pair counts only if it occurs `min_frequency` times: without a minimum the likelihood rule
  joins pairs first whose halves occur nowhere else, misspellings and names;
- scores are double-precision quotients of exact counts; the highest wins, then the highest
  count, then the smallest left string, then the smallest right string, in code point order.

A join changes count(a) and count(b), and so the score of every pair with an a or a b in it, also
where nothing was joined. All scores are therefore taken anew after each join, in one NumPy
expression. `recounted_joins` is the same from first principles, for teaching and testing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from bench.plugins import TrainedModel, TrainerPlugin
from tokenizers_impl.bert_characters import BertOptions, count_words
from tokenizers_impl.training_input import TrainingTexts, require_special_token, size_note
from tokenizers_impl.wordpiece import (
    PREFIX,
    SPECIAL_TOKENS,
    UNKNOWN,
    WordPieceTokenizer,
    to_json,
    to_tokenizer_json,
    to_vocab_txt,
)

Rule = Literal["likelihood", "frequency"]
Pair = tuple[int, int]
S = TypeVar("S", int, str)


@dataclass(frozen=True, kw_only=True)
class Join:
    """One step of training."""

    left: str
    right: str
    count: int
    score: float

    @property
    def token(self) -> str:
        """The entry that comes out."""
        return self.left + self.right.removeprefix(PREFIX)


def recounted_joins(words: Mapping[str, int], *, rule: Rule, min_frequency: int) -> Iterator[Join]:
    """Yield joins, counting everything again for each: the definition, slow.

    >>> words = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}
    >>> joins = recounted_joins(words, rule="likelihood", min_frequency=1)
    >>> for _ in range(3):
    ...     join = next(joins)
    ...     print(join.left, join.right, join.count, round(join.score, 4))
    ##g ##s 5 0.05
    p ##u 17 0.0278
    h ##u 15 0.0526
    """
    split = {word: _characters(word) for word in words}
    while True:
        symbols: Counter[str] = Counter()
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for symbol in split[word]:
                symbols[symbol] += count
            for pair in pairwise(split[word]):
                pairs[pair] += count
        joins = [
            Join(
                left=a,
                right=b,
                count=n,
                score=n / (symbols[a] * symbols[b]) if rule == "likelihood" else n,
            )
            for (a, b), n in pairs.items()
            if n >= min_frequency
        ]
        if not joins:
            return
        best = min(joins, key=_order)
        yield best
        split = {
            word: _replaced(parts, (best.left, best.right), best.token)
            for word, parts in split.items()
        }


def learned_joins(words: Mapping[str, int], *, rule: Rule, min_frequency: int) -> Iterator[Join]:
    """Yield the same joins as `recounted_joins`, keeping the counts up to date.

    Each join costs the words it touches, and one pass over the pairs that are frequent enough.
    """
    counts = _Counts(words, rule, max(1, min_frequency))
    while (join := counts.best()) is not None:
        yield join
        counts.join(join)


def _score(count: int, left: int, right: int, rule: Rule) -> float:
    return count / (left * right) if rule == "likelihood" else float(count)


def _order(join: Join) -> tuple[float, int, str, str]:
    return -join.score, -join.count, join.left, join.right


def _characters(word: str) -> list[str]:
    return [word[0], *(PREFIX + c for c in word[1:])]


class _Counts:
    """Words as lists of symbols, and how often each symbol and pair occurs, kept up to date."""

    def __init__(self, words: Mapping[str, int], rule: Rule, min_frequency: int) -> None:
        self.symbols: list[str] = []
        self.index: dict[str, int] = {}
        self.words = [[self._symbol(s) for s in _characters(word)] for word in words]
        self.weights = list(words.values())
        self.symbol_counts = np.zeros(2 * len(self.symbols) + 64)
        self.pair_counts: Counter[Pair] = Counter()
        self.where: dict[Pair, list[int]] = {}
        self.table = _PairTable(rule, min_frequency)
        for number, (word, weight) in enumerate(zip(self.words, self.weights, strict=True)):
            for symbol in word:
                self.symbol_counts[symbol] += weight
            for pair in pairwise(word):
                self.pair_counts[pair] += weight
                self.where.setdefault(pair, []).append(number)
        for pair, count in self.pair_counts.items():
            self.table.put(pair, count)

    def best(self) -> Join | None:
        """Return the join that comes next, or None when no pair is frequent enough."""
        joins = [
            Join(left=self.symbols[a], right=self.symbols[b], count=int(count), score=float(score))
            for a, b, count, score in self.table.best(self.symbol_counts)
        ]
        return min(joins, key=_order, default=None)

    def join(self, join: Join) -> None:
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
        index = self.index.setdefault(symbol, len(self.symbols))
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


class _PairTable:
    """The pairs that are frequent enough, as arrays: their halves, their counts, their scores."""

    def __init__(self, rule: Rule, min_frequency: int) -> None:
        self.rule = rule
        self.min_frequency = min_frequency
        self.rows: dict[Pair, int] = {}
        self.free: list[int] = []
        self.halves = np.zeros((2, 1024), np.int64)
        self.counts = np.zeros(1024)

    def put(self, pair: Pair, count: int) -> None:
        """Set a pair's count, taking it in or out where it crosses the minimum."""
        row = self.rows.get(pair)
        if count < self.min_frequency:
            if row is not None:
                self.counts[row] = 0
                self.free.append(self.rows.pop(pair))
            return
        if row is None:
            row = self.rows[pair] = self._new_row()
            self.halves[:, row] = pair
        self.counts[row] = count

    def best(self, symbol_counts: npt.NDArray[np.float64]) -> list[tuple[int, int, float, float]]:
        """Return (left, right, count, score) of all pairs that share the highest score."""
        if not self.rows:
            return []
        used = len(self.rows) + len(self.free)
        left, right = self.halves[:, :used]
        scores = self.counts[:used]
        if self.rule == "likelihood":
            # a freed row may name symbols that no longer occur
            scores = scores / np.maximum(symbol_counts[left] * symbol_counts[right], 1)
        best = scores.max()
        return [
            (int(left[row]), int(right[row]), float(self.counts[row]), float(best))
            for row in np.flatnonzero(scores == best)
        ]

    def _new_row(self) -> int:
        if self.free:
            return self.free.pop()
        row = len(self.rows)
        if row == len(self.counts):
            self.halves = np.concatenate([self.halves, np.zeros_like(self.halves)], axis=1)
            self.counts = np.concatenate([self.counts, np.zeros_like(self.counts)])
        return row


def train_vocabulary(
    words: Mapping[str, int],
    *,
    vocab_size: int,
    special_tokens: Iterable[str] = SPECIAL_TOKENS,
    rule: Rule = "likelihood",
    min_frequency: int = 5,
    limit_alphabet: int = 1000,
    max_characters_per_word: int = 100,
) -> list[str]:
    """Return entries in the order of their ids: special tokens, alphabet, joins as they came.

    The alphabet holds the `limit_alphabet` most frequent characters (ties in code point order),
    as they start words and as they continue them. Words with other characters, or too long for
    the encoder, would become ``[UNK]`` and are not trained on.

    >>> train_vocabulary({"aab": 9, "ab": 9}, vocab_size=6, special_tokens=["[UNK]"])
    ['[UNK]', 'a', '##a', '##b', '##ab', 'aab']
    """
    words = _usable(words, limit_alphabet, max_characters_per_word)
    symbols = {symbol for word in words for symbol in _characters(word)}
    entries = dict.fromkeys(special_tokens)
    entries |= dict.fromkeys(
        sorted(symbols, key=lambda s: (s.startswith(PREFIX) and len(s) > 2, s))
    )
    joins = learned_joins(words, rule=rule, min_frequency=min_frequency)
    while len(entries) < vocab_size and (join := next(joins, None)):
        entries.setdefault(join.token)
    return list(entries)


def _usable(words: Mapping[str, int], limit_alphabet: int, longest: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    kept = set(sorted(counts, key=lambda c: (-counts[c], c))[:limit_alphabet])
    return {w: n for w, n in words.items() if len(w) <= longest and kept.issuperset(w)}


class WordPieceTrainer(TrainerPlugin):
    """tokbench's own WordPiece trainer; deterministic whatever the order of the documents."""

    vocab_size: int = Field(gt=0)
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS
    min_frequency: int = Field(default=5, ge=1)
    """How often a pair must occur to be joined."""
    rule: Rule = "likelihood"
    """`likelihood`: count(ab) / (count(a) * count(b)); `frequency`: count(ab), which is BPE."""
    limit_alphabet: int = Field(default=1000, gt=0)
    max_characters_per_word: int = Field(default=100, gt=0)
    lowercase: bool = True
    strip_accents: bool | None = None
    handle_chinese_chars: bool = True
    clean_text: bool = True

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``wordpiece.json``, ``vocab.txt`` and ``tokenizer.json``.

        Raises `TrainingError` for input that cannot be trained on.
        """
        require_special_token(UNKNOWN, self.special_tokens, "what an unknown word becomes")
        checked = TrainingTexts(texts)
        tokenizer = self._trained(checked)
        reached = len(tokenizer.tokens)
        own = to_json(tokenizer)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (
            ("wordpiece.json", own),
            ("vocab.txt", to_vocab_txt(tokenizer)),
            ("tokenizer.json", to_tokenizer_json(tokenizer)),
        ):
            (folder / name).write_bytes(content.encode())
        return TrainedModel(
            tokenizer={"type": "wordpiece", "file": "wordpiece.json"},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=reached,
            documents=checked.documents,
            bytes=checked.bytes,
            notes=size_note(self.vocab_size, reached),
            facts={
                "algorithm": "wordpiece" if self.rule == "likelihood" else "wordpiece_bpe",
                "model_sha256": hashlib.sha256(own.encode()).hexdigest(),
                "special_tokens": len(self.special_tokens),
            },
        )

    def _trained(self, texts: Iterable[str]) -> WordPieceTokenizer:
        options = BertOptions(
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            handle_chinese_chars=self.handle_chinese_chars,
            clean_text=self.clean_text,
        )
        entries = train_vocabulary(
            count_words(texts, options),
            vocab_size=self.vocab_size,
            special_tokens=self.special_tokens,
            rule=self.rule,
            min_frequency=self.min_frequency,
            limit_alphabet=self.limit_alphabet,
            max_characters_per_word=self.max_characters_per_word,
        )
        return WordPieceTokenizer(
            entries,
            options=options,
            special_tokens=self.special_tokens,
            max_characters_per_word=self.max_characters_per_word,
        )
