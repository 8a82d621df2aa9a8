"""Unigram: a vocabulary with a probability for each piece; text is cut the most probable way.

Which way that is, `cuts.best_cut` defines. Two more rules make the ids equal to those of
the `sentencepiece` library (0.2.3) with the same pieces: an unknown character costs ten more than
the least probable piece, and neighbouring unknown characters are one token.

`UnigramTokenizer.encode_batch` gives the same ids as the definition by words: no piece reaches
over the space before a word, so each word's cut can be remembered. Only rounding couples them,
since a word's sums start from the score of all the text before it; a remembered cut therefore
carries the score up to which its lead outweighs any rounding, and beyond that the word is cut
again from the true start.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tokbench.bench.model import Fingerprint, Ids
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl import own_json
from tokbench.tokenizers_impl.files import well_formed
from tokbench.tokenizers_impl.sentencepiece.pieces import Pieces, PieceTokenizer, settings_of
from tokbench.tokenizers_impl.sentencepiece.text import TextOptions, WordSplitter, marked
from tokbench.tokenizers_impl.unigram.batch import BatchCutter
from tokbench.tokenizers_impl.unigram.cuts import (
    REBASE_AT,
    Cut,
    best_cut,
    followed,
    rebase,
)

FORMAT = "tokbench.unigram.1"
UNKNOWN_PENALTY = 10.0
"""How much less an unknown character scores than the least probable piece."""

NO_PIECE = -math.inf
"""The score of a string that begins pieces and is none."""


class UnigramTokenizer(PieceTokenizer):
    """A Unigram vocabulary at work; satisfies `tokbench.bench.model.Tokenizer`.

    >>> tokenizer = UnigramTokenizer(
    ...     [("<unk>", 0.0), ("▁a", -2.0), ("b", -3.0), ("▁", -3.0), ("a", -3.0)]
    ... )
    >>> tokenizer.encode_batch(["ab aXYb"])
    [[1, 2, 1, 0, 2]]
    >>> tokenizer.decode_batch([[1, 2, 1, 0, 2]])
    ['ab a ⁇ b']
    """

    def __init__(
        self,
        pieces: Sequence[tuple[str, float]],
        *,
        unknown: str = "<unk>",
        special_tokens: Sequence[str] = ("<unk>",),
        byte_fallback: bool = False,
        options: TextOptions | None = None,
    ) -> None:
        """Take pieces with their log probabilities in the order of their ids.

        The scores of special tokens and of byte pieces do not matter. Raises `TokenizerError`
        when a piece is there twice, or one that is needed is missing.
        """
        self.pieces = Pieces(
            [piece for piece, _ in pieces],
            unknown=unknown,
            special_tokens=special_tokens,
            byte_fallback=byte_fallback,
            options=options,
        )
        self.all_scores = tuple(float(score) for _, score in pieces)
        """Log probability by id."""
        learned = self.pieces.learned
        self.scores = {piece: self.all_scores[index] for piece, index in learned.items()}
        """Log probability of each piece that text is cut into."""
        lowest = np.float32(min(self.scores.values(), default=0.0))
        self.unknown_score = float(lowest - np.float32(UNKNOWN_PENALTY))
        self._splitter = WordSplitter(self.scores)
        self._words = _CutCache(self)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What decides the ids, hashed."""
        scores = [float(np.float32(score)) for score in self.all_scores]
        return Fingerprint.of(**self.pieces.fingerprint_parts(), scores=scores)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""
        return self.encode_marked_batch([marked(text, self.pieces.options) for text in texts])

    def encode_marked_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts that are normalized already, with ``▁`` for their spaces."""
        ids: list[list[int]] = []
        for block in _blocks(texts):
            words = [self._splitter.split(text) for text in block]
            self._words.prepare(words)
            ids += map(self._encode_words, block, words)
        return ids

    def encode_marked(self, text: str) -> list[int]:
        """Return the ids of one text that is normalized already."""
        return self._encode_words(text, self._splitter.split(text))

    def _encode_words(self, text: str, parts: Sequence[str]) -> list[int]:
        raw: list[int] = []  # unknown characters one by one
        before = 0.0  # minus the score of the words so far, as real numbers
        start, summed = np.float32(0), 0  # the same as sentencepiece rounds it, when it matters
        words = self._words
        for word in parts:
            ids, score, valid_before = words[word]
            if before > valid_before:
                ids, start = self._cut_from(word, self._rounded_sum(start, raw[summed:]))
                summed = len(raw) + len(ids)
                before = -float(start)
            else:
                before -= score
            raw += ids
        return self.pieces.finished(text, raw)

    def encode_marked_slowly(self, text: str) -> list[int]:
        """Return the same ids by `best_cut`, the definition."""
        cut = best_cut(text, self.scores, unknown_score=self.unknown_score)
        return self.pieces.finished(text, self._raw_ids(text, cut))

    def _rounded_sum(self, start: np.float32, raw: list[int]) -> np.float32:
        terms = np.concatenate([[start], self._score_array[raw]]) if raw else [start]
        return np.float32(np.cumsum(terms, dtype=np.float32)[-1])  # one after the other, rounding

    @cached_property
    def _score_array(self) -> npt.NDArray[np.float32]:
        scores = np.array(self.all_scores, np.float32)
        scores[self.pieces.unknown_id] = self.unknown_score
        return scores

    def _cut_from(self, word: str, start: np.float32) -> tuple[list[int], np.float32]:
        """Cut a word as `best_cut` does, and return its last sum; walks along beginnings only."""
        get, unknown_score = self._words.beginnings.get, np.float32(self.unknown_score)
        size = len(word)
        best = [np.float32(-np.inf)] * (size + 1)
        best[0] = start
        came_from = [0] * len(best)
        for begin in range(size):
            rebase(best, begin, self._words.longest)
            reached = best[begin]
            for end in range(begin + 1, size + 1):
                score = get(word[begin:end])
                if score is None:
                    break
                total = reached + np.float32(score)
                if total > best[end]:
                    best[end] = total
                    came_from[end] = begin
            if get(word[begin], NO_PIECE) == NO_PIECE and reached + unknown_score > best[begin + 1]:
                best[begin + 1] = reached + unknown_score
                came_from[begin + 1] = begin
        return self._raw_ids(word, followed(came_from)), best[-1]

    def _raw_ids(self, text: str, cut: Cut) -> list[int]:
        get, unknown = self.pieces.learned.get, self.pieces.unknown_id
        return [get(text[begin:end], unknown) for begin, end in cut]


Entry = tuple[list[int], float, float]
"""Ids of a word, its score, and minus the highest score before it for which they hold."""


class _CutCache(dict[str, Entry]):
    """Words that were cut before; cleared when full, so memory is bounded."""

    LIMIT = 1 << 18
    LONGEST = 48
    WORTHWHILE = 50
    """So many unseen words are cut faster together than one by one."""

    def __init__(self, tokenizer: UnigramTokenizer) -> None:
        super().__init__()
        self.beginnings = _beginnings(tokenizer.scores)
        self.longest = max(map(len, tokenizer.scores), default=1)
        self._known = tokenizer.pieces.learned
        self._unknown = tokenizer.pieces.unknown_id
        self._unknown_score = float(np.float32(tokenizer.unknown_score))
        self._batch = BatchCutter(
            self._known,
            [self.beginnings[piece] for piece in self._known],
            unknown_id=self._unknown,
            unknown_score=self._unknown_score,
        )
        self._long: dict[str, Entry] = {}
        """Words too long to remember, for as long as their block is encoded."""

    def prepare(self, texts: Sequence[Sequence[str]]) -> None:
        """Cut the words that were not seen before, all at once where there are many."""
        unseen = set().union(*texts).difference(self)
        if len(unseen) < self.WORTHWHILE:
            return
        if len(self) + len(unseen) > self.LIMIT:
            self.clear()
        self._long.clear()
        for word, (ids, score, lead) in self._batch.cut(list(unseen)):
            entry = self._judged(word, ids, score, lead)
            (self if len(word) <= self.LONGEST else self._long)[word] = entry

    def __missing__(self, word: str) -> Entry:
        if (entry := self._long.get(word)) is not None:
            return entry
        entry = self._cut(word)
        if len(word) <= self.LONGEST:
            if len(self) >= self.LIMIT:
                self.clear()
            self[word] = entry
        return entry

    def _judged(self, word: str, ids: list[int], score: float, lead: float) -> Entry:
        # near where sums are counted anew, all of them matter, not only the best
        no_rebase = REBASE_AT + self._unknown_score * len(word)
        return ids, score, min(valid_before(lead, len(word)) + score, no_rebase)

    def _cut(self, word: str) -> Entry:
        """Find the best cut in double precision, and by how much it leads where it is decided."""
        get, unknown_score = self.beginnings.get, self._unknown_score
        size = len(word)
        best = [NO_PIECE] * (size + 1)
        second = best.copy()  # of the ways to reach a position, with another last piece
        came_from = [0] * (size + 1)
        best[0] = 0.0
        for begin in range(size):
            reached = best[begin]
            score = get(word[begin])
            if score is None or score == NO_PIECE:
                total = reached + unknown_score
                end = begin + 1
                if total > best[end]:
                    second[end] = best[end]
                    best[end] = total
                    came_from[end] = begin
                elif total > second[end]:
                    second[end] = total
                if score is None:
                    continue
            end = begin
            while end < size:
                end += 1
                score = get(word[begin:end])
                if score is None:
                    break
                total = reached + score
                if total > best[end]:
                    second[end] = best[end]
                    best[end] = total
                    came_from[end] = begin
                elif total > second[end]:
                    second[end] = total
        return self._entry(word, best, second, came_from)

    def _entry(
        self, word: str, best: list[float], second: list[float], came_from: list[int]
    ) -> Entry:
        ids: list[int] = []
        lead = math.inf
        end = len(word)
        get, unknown = self._known.get, self._unknown
        while end:
            begin = came_from[end]
            ids.append(get(word[begin:end], unknown))
            lead = min(lead, best[end] - second[end])
            end = begin
        ids.reverse()
        return self._judged(word, ids, best[-1], lead)


def valid_before(lead: float, additions: int) -> float:
    """Return how large a single-precision sum may be for rounding not to use up a lead.

    Two sums of so many terms are compared. Each addition is off by at most half a unit in the
    last place; a number below 2**(k + 24) has units of at most 2**k. Twice that is allowed for.

    >>> valid_before(lead=1.0, additions=8) == 2.0**(24 - 5)
    True
    >>> valid_before(lead=0.0, additions=8)
    -inf
    """
    if lead == math.inf:
        return math.inf
    if lead <= 0:
        return -math.inf
    _, exponent = math.frexp(lead / (2 * additions))  # the quotient lies in [2**(e-1), 2**e)
    return math.ldexp(1.0, exponent - 2 + 24)


def _blocks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Return texts in parts of about a million characters, to bound what is held at once."""
    begin = size = 0
    for end, text in enumerate(texts, 1):
        size += len(text)
        if size >= 1 << 20 or end == len(texts):
            yield texts[begin:end]
            begin, size = end, 0


def _beginnings(scores: Mapping[str, float]) -> dict[str, float]:
    """Return all beginnings of pieces; those that are no piece themselves score `NO_PIECE`."""
    beginnings: dict[str, float] = {}
    for piece in scores:
        for end in range(len(piece) - 1, 0, -1):
            if piece[:end] in beginnings:
                break
            beginnings[piece[:end]] = NO_PIECE
    rounded = np.array(list(scores.values()), np.float32).tolist()
    beginnings.update(zip(scores, rounded, strict=True))
    return beginnings


class Unigram(TokenizerPlugin):
    """tokbench's own Unigram, from tokbench's JSON."""

    file: str = Field(description="tokbench's own JSON.")

    def load(self, context: LoadContext) -> UnigramTokenizer:
        """Read the file; raise `TokenizerError` with what to do when it cannot be used."""
        path = context.resolve(self.file)
        return from_json(own_json.read_text(path), path)


def to_json(tokenizer: UnigramTokenizer) -> str:
    """Write tokbench's own format: options by name, then [piece, score] in the order of the ids."""
    content = {
        "format": FORMAT,
        **tokenizer.pieces.settings(),
        "pieces": list(zip(tokenizer.pieces.texts, tokenizer.all_scores, strict=True)),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)


def from_json(text: str, path: Path) -> UnigramTokenizer:
    """Read what `to_json` wrote; `path` is for the message when it is something else."""
    content = own_json.parse(text, path, FORMAT)
    with well_formed(path.name, f"a whole {FORMAT} file"):
        return UnigramTokenizer(
            [(piece, score) for piece, score in content["pieces"]],
            **settings_of(content),
        )
