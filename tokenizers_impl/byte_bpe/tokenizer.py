"""A byte-level BPE model as a tokenizer that tokbench measures, and as a plug-in with options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from tokbench.bench.errors import ConfigError, TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Merging, Tokenizer, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, encode
from tokbench.tokenizers_impl.convert import numbered_by_bytes
from tokbench.tokenizers_impl.pretokenize import PreTokenization, from_pattern, pre_tokenization
from tokbench.tokenizers_impl.utf8 import utf8

EncodeBatch = Callable[[Sequence[str]], Sequence[Ids]]


class ByteBPETokenizer:
    """A byte-level BPE model as a tokenizer that tokbench can measure."""

    byte_exact = True
    prefix_space = False

    def __init__(
        self,
        model: BytePairModel,
        *,
        engine: Literal["fast", "readable"] = "fast",
        notes: Sequence[str] = (),
    ) -> None:
        self.model = model
        self.notes: Sequence[str] = tuple(notes)
        self.encode_batch: EncodeBatch = self._encode_readably
        if engine == "fast":
            from tokbench.tokenizers_impl.byte_bpe.fast import FastEncoder

            self.encode_batch = FastEncoder(model).encode_batch

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each id, and which ids are special or missing."""
        special = frozenset(self.model.special_tokens.values())
        existing = special.union(self.model.entries)
        return Vocabulary(
            token_bytes=self.model.token_bytes,
            special_ids=special,
            hole_ids=frozenset(range(self.model.n_ids)) - existing,
        )

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Hashes of the vocabulary, merges, pre-tokenization, special tokens and shortcut."""
        model = self.model
        return Fingerprint.of(
            vocabulary=model.token_bytes,
            merges=model.merges,
            pre_tokenizer=model.pre_tokenization.pattern,
            special_tokens=dict(model.special_tokens),
            options={"whole_piece": model.whole_pieces is not None},
        )

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], list[list[int]]]:
        """Return the ids, and for each token which piece of the text it lies in."""
        ids, lengths = self.encode_batch(texts), self.vocabulary.byte_lengths
        pieces = map(self.model.pre_tokenization.split, texts)
        return ids, [
            numbered_by_bytes(
                lengths[np.asarray(one, np.int64)], np.array([len(utf8(p)) for p in parts], int)
            )
            for one, parts in zip(ids, pieces, strict=True)
        ]

    def merging(self) -> Merging:
        """Return how it joins: ids, by the rank of the merge."""
        model = self.model

        def entries() -> Iterator[tuple[int, Sequence[int]]]:
            for token, data in model.entries.items():
                yield token, [model.byte_ids[byte] for byte in data]

        def join(left: int, right: int) -> tuple[int, int] | None:
            rank = model.ranks.get((left, right))
            return None if rank is None else (rank, model.merges[rank][2])

        return Merging(entries=entries, join=join)

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the text of each list of ids; bytes that are not UTF-8 become U+FFFD."""
        contents = self._contents
        return [
            b"".join(map(contents.__getitem__, document)).decode("utf-8", "replace")
            for document in ids
        ]

    def tokenizer_json(self) -> dict[str, Any]:
        """Return the `tokenizer.json` that gives the same ids in the `tokenizers` library."""
        from tokbench.tokenizers_impl.byte_bpe.formats import tokenizer_json

        return tokenizer_json(self.model)

    @cached_property
    def _contents(self) -> dict[int, bytes]:
        names = {token: name.encode() for name, token in self.model.special_tokens.items()}
        return {**self.model.entries, **names}

    def _encode_readably(self, texts: Sequence[str]) -> Sequence[Ids]:
        return [encode(self.model, text) for text in texts]


class ByteBPE(TokenizerPlugin):
    """Byte-level BPE from a file: a tiktoken rank file, a tokenizer.json, or tokbench's own JSON.

    A rank file holds no pattern, so `pre_tokenization` (a name) or `pattern` must be given; the
    other two formats hold theirs. `special_tokens` adds to what the file holds. `whole_piece` is
    tiktoken's shortcut, on by default for rank files, because tiktoken always takes it.
    """

    file: str = Field(
        description="A tiktoken rank file, a `tokenizer.json`, or tokbench's own JSON."
    )
    format: Literal["auto", "tiktoken", "tokenizer.json", "json"] = Field(
        "auto", description="`tiktoken`, `tokenizer.json` or `json`; `auto` looks at the file."
    )
    pre_tokenization: str | None = Field(
        None,
        description="Name of the pattern of a rank file: `none`, `whitespace`, `gpt2`, `cl100k`, "
        "`o200k`, `digits_3`, `digits_3_right` or `digits_1`.",
    )
    pattern: str | None = Field(
        None, description="Pattern of your own, in place of `pre_tokenization`."
    )
    special_tokens: dict[str, int] = Field(
        default_factory=dict, description="Map from spelling to id, added to what the file holds."
    )
    whole_piece: bool | None = Field(
        None,
        description="Take a piece that is an entry whole, without merging; by default as tiktoken "
        "does for rank files.",
    )
    engine: Literal["fast", "readable"] = Field(
        "fast", description="`fast` or `readable`; both give the same ids."
    )

    @model_validator(mode="after")
    def _one_pattern(self) -> ByteBPE:
        if self.pattern is not None and self.pre_tokenization is not None:
            raise ValueError("give pre_tokenization (a name) or pattern, not both")
        return self

    def load(self, context: LoadContext) -> Tokenizer:
        """Read the file; raise `TokenizerError` when it is missing or not of its format."""
        from tokbench.tokenizers_impl.byte_bpe.formats import load_model

        model = load_model(
            context.resolve(self.file),
            format=self.format,
            rule=self._rule(),
            special_tokens=self.special_tokens,
            whole_piece=self.whole_piece,
        )
        return ByteBPETokenizer(model, engine=self.engine)

    def _rule(self) -> PreTokenization | None:
        try:
            if self.pattern is not None:
                return from_pattern(self.pattern)
            return (
                None if self.pre_tokenization is None else pre_tokenization(self.pre_tokenization)
            )
        except ConfigError as exc:
            raise TokenizerError(f"byte_bpe {self.file!r}: {exc}") from exc
