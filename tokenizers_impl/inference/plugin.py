"""A vocabulary under another way to encode, as a tokenizer and as a plug-in with options."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

from pydantic import Field, model_validator

from tokbench.bench.config.schema import load_entry
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import (
    Fingerprint,
    HasMerging,
    HasPreTokens,
    Ids,
    Merging,
    Tokenizer,
    Vocabulary,
)
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.inference.ways import (
    fewest_tokens,
    longest_match,
    merged,
    split_at_random,
)

Way = Literal["longest", "fewest", "merges"]


class InferenceTokenizer:
    """The vocabulary and pre-tokens of one tokenizer, cut another way.

    A pre-token that no other cut covers keeps the cut of the tokenizer itself.
    """

    byte_exact = True

    def __init__(
        self, base: Tokenizer, way: Way, *, dropout: float = 0.0, split: float = 0.0, seed: int = 0
    ) -> None:
        if not isinstance(base, HasPreTokens) or not base.byte_exact:
            raise TokenizerError(
                "another encoder takes a tokenizer that keeps every byte and knows its pre-tokens"
            )
        self.base, self.way = base, way
        self.dropout, self.split, self.seed = dropout, split, seed
        self.prefix_space = base.prefix_space
        self._pre_tokens = base.encode_batch_in_pre_tokens
        self._known: dict[tuple[int, ...], list[int]] = {}
        if dropout and self._rules is None:
            raise TokenizerError("dropout leaves merges out; this tokenizer has none")
        how = {
            "longest": "longest entry from the left",
            "fewest": "fewest entries",
            "merges": "merges",
        }
        chance = [f"dropout {dropout:g}"] * bool(dropout) + [f"split {split:g}"] * bool(split)
        drawn = f", {' and '.join(chance)} with seed {seed}" if chance else ""
        self.notes: Sequence[str] = (*base.notes, f"encoder: {how[way]}{drawn}")

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the tokenizer itself."""
        return self.base.vocabulary

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """The parts of the tokenizer itself, and the encoder."""
        options = {
            "base": self.base.fingerprint.parts.get("options"),
            "encoder": self.way,
            "dropout": self.dropout,
            "split": self.split,
            "seed": self.seed if self.dropout or self.split else None,
        }
        own = Fingerprint.of(options=options).parts
        return replace(self.base.fingerprint, parts={**self.base.fingerprint.parts, **own})

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one list of ids for each text."""
        return self.encode_batch_in_pre_tokens(texts)[0]

    def encode_batch_in_pre_tokens(self, texts: Sequence[str]) -> tuple[list[Ids], list[list[int]]]:
        """Return the ids, and for each token the number of its pre-token."""
        found: list[Ids] = []
        numbers: list[list[int]] = []
        for text, ids, of in zip(texts, *self._pre_tokens(texts), strict=True):
            # by the text itself, so that a batch's order and size do not matter
            chance = random.Random(f"{self.seed}:{text}") if self.dropout or self.split else None
            pieces = groupby(zip(ids, of, strict=True), key=lambda pair: pair[1])
            cut: list[int] = []
            at: list[int] = []
            for number, group in pieces:
                tokens = self._cut(tuple(int(i) for i, _ in group), chance)
                if self.split and chance is not None:
                    tokens = split_at_random(tokens, self.split, self._halves, chance)
                cut += tokens
                at += [number] * len(tokens)
            found.append(cut)
            numbers.append(at)
        return found, numbers

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the texts as the tokenizer itself decodes them."""
        return self.base.decode_batch(ids)

    def _cut(self, ids: tuple[int, ...], chance: random.Random | None) -> list[int]:
        if self.way == "merges":
            if not self.dropout:
                return list(ids)
            return self._merged(ids, chance)
        if ids not in self._known:
            content = self.vocabulary.token_bytes
            piece = b"".join(content[i] or b"" for i in ids)
            cut = longest_match if self.way == "longest" else fewest_tokens
            fixed = any(i not in self._ordinary for i in ids)
            ways = None if fixed else cut(piece, self._entries, self._longest)
            self._known[ids] = list(ids) if ways is None else ways
        return list(self._known[ids])

    def _merged(self, ids: Sequence[int], chance: random.Random | None) -> list[int]:
        assert self._rules is not None
        start = self._symbols
        if any(i not in start for i in ids):
            return list(ids)
        symbols = [symbol for i in ids for symbol in start[i]]
        parts = merged(symbols, self._rules.join, dropout=self.dropout, chance=chance)
        return [self._ids_by_symbol[part] for part in parts]

    def _halves(self, id: int) -> Sequence[tuple[int, int]]:
        content = self.vocabulary.token_bytes[id] if id in self._ordinary else None
        if content is None:
            return ()
        cuts = ((content[:k], content[k:]) for k in range(1, len(content)))
        return [
            (self._entries[left], self._entries[right])
            for left, right in cuts
            if left in self._entries and right in self._entries
        ]

    @cached_property
    def _ordinary(self) -> frozenset[int]:
        v = self.vocabulary
        apart = v.special_ids | v.unknown_ids | v.added_ids | v.hole_ids
        return frozenset(i for i, data in enumerate(v.token_bytes) if data and i not in apart)

    @cached_property
    def _entries(self) -> Mapping[bytes, int]:
        """Of two entries with the same bytes the lower id, but a piece before a byte of fallback."""
        content, fallback = self.vocabulary.token_bytes, self.vocabulary.byte_fallback_ids
        order = sorted(self._ordinary, key=lambda i: (i not in fallback, -i))
        return {content[i] or b"": i for i in order}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._entries), default=0)

    @cached_property
    def _rules(self) -> Merging | None:
        return self.base.merging() if isinstance(self.base, HasMerging) else None

    @cached_property
    def _symbols(self) -> Mapping[int, Sequence[Any]]:
        return dict(self._rules.entries()) if self._rules is not None else {}

    @cached_property
    def _ids_by_symbol(self) -> Mapping[Any, int]:
        """The id of each symbol: itself, or the entry of that content."""
        return dict(self._pairs())

    def _pairs(self) -> Iterator[tuple[Any, int]]:
        for id, start in self._symbols.items():
            if start and isinstance(start[0], int):
                yield id, id
            elif start:
                yield start[0][:0].join(start), id


class Inference(TokenizerPlugin):
    """The vocabulary of another tokenizer under another encoder.

    `of` is a tokenizer as a config names it. Everything that is drawn by chance depends on the seed
    and the text alone.
    """

    of: dict[str, Any] = Field(
        description="The tokenizer whose vocabulary is used: `type` and options."
    )
    encoder: Way = Field(
        "merges",
        description="`longest` entry from the left, `fewest` entries, or the `merges` of the "
        "tokenizer itself.",
    )
    dropout: float = Field(
        0.0, ge=0, le=1, description="BPE-dropout: probability that a merge is left out."
    )
    split: float = Field(
        0.0, ge=0, description="StochasTok: tries to cut a token in two, as a share of the tokens."
    )
    seed: int | None = Field(None, ge=0, description="Required with `dropout` and `split`.")

    @model_validator(mode="after")
    def _check(self) -> Inference:
        if (self.dropout or self.split) and self.seed is None:
            raise ValueError("dropout and split draw lots: give a seed")
        if self.dropout and self.encoder != "merges":
            raise ValueError(f"dropout leaves merges out, and encoder {self.encoder} makes none")
        return self

    def load(self, context: LoadContext) -> InferenceTokenizer:
        """Load the tokenizer itself; raise `TokenizerError` where its bytes are not kept."""
        return InferenceTokenizer(
            load_entry(self.of).load(context),
            self.encoder,
            dropout=self.dropout,
            split=self.split,
            seed=self.seed or 0,
        )
