"""WordPiece as BERT uses it: normalize, split into words, take the longest entry that fits.

A word is cut from the left: the longest entry it starts with, then the longest entry of the rest
among those written with ``##``. When no entry fits somewhere, or the word has more than a hundred
characters, the whole word becomes ``[UNK]``.

>>> starts = {"un": 0, "want": 1}
>>> continuations = {"want": 2, "ed": 3, "e": 4}
>>> longest_match("unwanted", starts, continuations)
[(0, 2), (2, 6), (3, 8)]
>>> longest_match("unwashed", starts, continuations) is None
True

`longest_match` and `split_words` are the algorithm. `encode_batch` gives the same ids: it remembers
stretches of text between spaces, and matches the words of new ones together (`matcher`); offsets
come from the plain path. What it does not do: train (see `trainer`), or match special tokens in text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Span, Vocabulary
from tokbench.tokenizers_impl.word_table import WordTable, blocks, cut_at
from tokbench.tokenizers_impl.wordpiece.bert_characters import (
    BertOptions,
    CharacterMap,
    has_odd_separators,
    split_character,
)
from tokbench.tokenizers_impl.wordpiece.matcher import LongestMatcher

PREFIX = "##"
UNKNOWN = "[UNK]"
CLEAN_UP = (
    "its decoder removes the space before . , ? ! (clean-up), so a text that has one does not come "
    "back"
)
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

Match = tuple[int, int]
"""An entry's id and where it ends in the word."""


def longest_match(
    word: str, starts: Mapping[str, int], continuations: Mapping[str, int]
) -> list[Match] | None:
    """Cut a word greedily; None when some part of it has no entry.

    `continuations` holds the ``##`` entries without their mark. At most one lookup for each pair
    of positions: quadratic in the length of the word, which BERT therefore limits.
    """
    found = []
    start, entries = 0, starts
    while start < len(word):
        for end in range(len(word), start, -1):
            if (index := entries.get(word[start:end])) is not None:
                break
        else:
            return None
        found.append((index, end))
        start, entries = end, continuations
    return found


def split_words(text: str, options: BertOptions) -> list[tuple[str, list[int]]]:
    """Return each normalized word with the position in `text` that each character came from.

    >>> split_words("Né!", BertOptions(lowercase=True))
    [('ne', [0, 1]), ('!', [2])]
    """
    words: list[tuple[str, list[int]]] = [("", [])]
    for position, character in enumerate(text):
        for piece in split_character(character, options):
            if piece == " ":
                words.append(("", []))
            else:
                word, origins = words[-1]
                words[-1] = word + piece, [*origins, position]
    return [(word, origins) for word, origins in words if word]


class WordPieceTokenizer:
    """A WordPiece vocabulary at work; satisfies `tokbench.bench.model.Tokenizer` and `HasOffsets`.

    >>> tokens = ["[UNK]", "a", "##b", "c", "."]
    >>> tokenizer = WordPieceTokenizer(tokens, options=BertOptions(lowercase=True))
    >>> tokenizer.encode_batch(["ABB c. é"])
    [[1, 2, 2, 3, 4, 0]]
    >>> tokenizer.decode_batch([[1, 2, 2, 3, 4]])
    ['abb c.']
    >>> tokenizer.encode_batch_with_offsets(["ABB c"])[1]
    [[(0, 1), (1, 2), (2, 3), (4, 5)]]
    """

    byte_exact = False
    prefix_space = False

    def __init__(
        self,
        tokens: Sequence[str],
        *,
        options: BertOptions,
        special_tokens: Sequence[str] = SPECIAL_TOKENS,
        max_characters_per_word: int = 100,
    ) -> None:
        """Take the entries in the order of their ids.

        Raises `TokenizerError` when ``[UNK]`` is missing or an entry is there twice.
        """
        self.tokens = tuple(tokens)
        self.options = options
        self.special_tokens = tuple(t for t in special_tokens if t in set(tokens))
        self.max_characters_per_word = max_characters_per_word
        self.ids = _indexed(self.tokens)
        self._stretches = WordTable()
        self._characters = CharacterMap(options)
        self._matcher = LongestMatcher(
            self.ids,
            self.continuations,
            unknown=self.ids[UNKNOWN],
            longest=max_characters_per_word,
        )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The facts about every id."""
        special_ids = frozenset(self.ids[t] for t in self.special_tokens)
        unknown = self.ids[UNKNOWN]
        return Vocabulary(
            token_bytes=[
                None if i in special_ids or i == unknown else _content(t).encode()
                for i, t in enumerate(self.tokens)
            ],
            special_ids=special_ids,
            unknown_ids=frozenset({unknown}),
            inside_ids=frozenset(self.continuations.values()),
        )

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What decides the ids, hashed."""
        options = self.options
        return Fingerprint.of(
            vocabulary=[t.encode() for t in self.tokens],
            normalizer={
                "type": "bert",
                "lowercase": options.lowercase,
                "strip_accents": options.strips_accents,
                "handle_chinese_chars": options.handle_chinese_chars,
                "clean_text": options.clean_text,
            },
            pre_tokenizer="bert",
            special_tokens=list(self.special_tokens),
            options={"max_characters_per_word": self.max_characters_per_word, "prefix": PREFIX},
        )

    @property
    def notes(self) -> Sequence[str]:
        """Say what the decoder does to spaces."""
        return (CLEAN_UP,)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""
        return [ids for block in blocks(texts) for ids in self._encode_block(block)]

    def _encode_block(self, texts: Sequence[str]) -> list[list[int]]:
        """Look up the stretches between spaces, most of which have been seen before."""
        split = [[text] if has_odd_separators(text) else text.split() for text in texts]
        numbers, new = self._stretches.numbered(list(chain.from_iterable(split)))
        if new:
            normalized = [stretch.translate(self._characters) for stretch in new]
            self._stretches.learn(*self._matcher.match(normalized))
        ids, ends = self._stretches.ids_of(numbers)
        text_ends = np.cumsum(np.fromiter(map(len, split), np.int64, len(split)))
        return cut_at(ids, np.append(0, ends).take(text_ends))

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        """Return ids, and the code points of the text that each token stands for.

        An unknown word's token covers the whole word. Characters that normalization deleted are
        covered by no token, except inside one.
        """
        encoded = [self._encode_with_offsets(text) for text in texts]
        return [ids for ids, _ in encoded], [spans for _, spans in encoded]

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[int]]]:
        """Return ids, and for each token the number of its word."""
        words = [[word for word, _ in split_words(text, self.options)] for text in texts]
        matches = [[self.match(word) for word in one] for one in words]
        ids = [[i for found in one for i, _ in found] for one in matches]
        return ids, [[n for n, found in enumerate(one) for _ in found] for one in matches]

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Join entries with spaces, ``##`` without, and no space before ``. ? ! ,``."""
        return [self._decode(one) for one in ids]

    def match(self, word: str) -> list[Match]:
        """Return the entries of one normalized word, ``[UNK]`` alone if it has none."""
        if len(word) <= self.max_characters_per_word:
            found = longest_match(word, self.ids, self.continuations)
            if found is not None:
                return found
        return [(self.ids[UNKNOWN], len(word))]

    @cached_property
    def continuations(self) -> Mapping[str, int]:
        """The entries that continue a word, without their mark."""
        n = len(PREFIX)
        return {t[n:]: i for t, i in self.ids.items() if t.startswith(PREFIX) and len(t) > n}

    def _encode_with_offsets(self, text: str) -> tuple[list[int], list[Span]]:
        ids: list[int] = []
        spans: list[Span] = []
        for word, origins in split_words(text, self.options):
            start = 0
            for index, end in self.match(word):
                ids.append(index)
                spans.append((origins[start], origins[end - 1] + 1))
                start = end
        return ids, spans

    def _decode(self, ids: Ids) -> str:
        tokens = [self.tokens[i] for i in ids]
        joined = "".join(t[2:] if t.startswith(PREFIX) else " " + t for t in tokens[1:])
        return "".join(tokens[:1]) + re.sub(r" ([.?!,])", r"\1", joined)


def _indexed(tokens: tuple[str, ...]) -> dict[str, int]:
    ids = {token: index for index, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        twice = next(t for i, t in enumerate(tokens) if ids[t] != i)
        raise TokenizerError(f"the WordPiece vocabulary has {twice!r} twice: remove one of them")
    if UNKNOWN not in ids:
        raise TokenizerError(f"the WordPiece vocabulary has no {UNKNOWN} entry: add one")
    return ids


def _content(token: str) -> str:
    return token.removeprefix(PREFIX) if len(token) > len(PREFIX) else token
