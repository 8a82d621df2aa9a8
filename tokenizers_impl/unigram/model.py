"""Unigram: a vocabulary with a probability for each piece; text is cut the most probable way.

Which way that is, `cuts.best_cut` defines. Two more rules make the ids equal to those of
the `sentencepiece` library (0.2.3) with the same pieces: an unknown character costs ten more than
the least probable piece, and neighbouring unknown characters are one token.

`UnigramTokenizer.encode_batch` gives the same ids as the definition by words: no piece reaches
over the space before a word, so each word's cut can be remembered (`words`), and new words are cut
together (`line`). Only rounding couples them, since a word's sums start from the score of all the
text before it; a remembered cut therefore carries the score up to which its lead outweighs any
rounding, and beyond that the word is cut again from the true start.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
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
from tokbench.tokenizers_impl.unigram.cuts import (
    Cut,
    best_cut,
    followed,
    rebase,
)
from tokbench.tokenizers_impl.unigram.line import LineCutter
from tokbench.tokenizers_impl.unigram.words import CutTable, CutWords
from tokbench.tokenizers_impl.word_table import blocks

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
        self._longest = max(map(len, self.scores), default=1)
        learned_scores = self._score_array[list(learned.values())]
        cutter = LineCutter(
            learned,
            learned_scores,
            unknown_id=self.pieces.unknown_id,
            unknown_score=self.unknown_score,
        )
        self._words = CutTable(cutter, self._score_array.astype(np.float64), self.unknown_score)

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
        return [ids for block in blocks(texts) for ids in self._encode_block(block)]

    def encode_marked(self, text: str) -> list[int]:
        """Return the ids of one text that is normalized already."""
        return self.encode_marked_batch([text])[0]

    def _encode_block(self, texts: Sequence[str]) -> list[list[int]]:
        split = list(map(self._splitter.split, texts))
        words = self._words.look_up(list(chain.from_iterable(split)))
        ends = np.cumsum(np.fromiter(map(len, split), np.int64, len(split)))
        found = self.pieces.all_finished(texts, words.ids, words.first.take(ends))
        for number in words.doubtful_texts(ends).tolist():
            part = words.part(int(ends[number]) - len(split[number]), int(ends[number]))
            raw = self._judged_again(split[number], part)
            found[number] = self.pieces.finished(texts[number], raw)
        return found

    def _judged_again(self, words: Sequence[str], cut: CutWords) -> list[int]:
        """Return the raw ids of a text, with words whose cut is doubtful cut from the true start."""
        raw: list[int] = []
        start, summed, copied = np.float32(0), 0, 0
        number = cut.next_doubtful(0, shift=0.0)
        while number is not None:
            begin, end = cut.first[number : number + 2].tolist()
            raw += cut.ids[copied:begin].tolist()
            ids, start = self._cut_from(words[number], self._rounded_sum(start, raw[summed:]))
            raw += ids
            summed, copied = len(raw), end
            shift = -float(start) - float(cut.spent[number + 1])
            number = cut.next_doubtful(number + 1, shift)
        raw += cut.ids[copied:].tolist()
        return raw

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

    @cached_property
    def _beginnings(self) -> dict[str, float]:
        return _beginnings(self.scores)

    def _cut_from(self, word: str, start: np.float32) -> tuple[list[int], np.float32]:
        """Cut a word as `best_cut` does, and return its last sum; walks along beginnings only."""
        get, unknown_score = self._beginnings.get, np.float32(self.unknown_score)
        size = len(word)
        best = [np.float32(-np.inf)] * (size + 1)
        best[0] = start
        came_from = [0] * len(best)
        for begin in range(size):
            rebase(best, begin, self._longest)
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
