"""Byte-level byte pair encoding, to be read: bytes, joined pair by pair, lowest rank first.

A model is 256 single bytes and a list of merges. To encode a piece of text, start from its bytes
and, as long as any two neighbours are a known merge, join the two whose merge was learned first
(the leftmost of equal ones). Nothing else decides the ids, apart from where the text is cut into
pieces (`pretokenize`) and one shortcut that published vocabularies need (`whole_pieces`).

This file is the definition. `byte_bpe_fast` gives the same ids with NumPy, `byte_bpe_trainer`
learns merges, `byte_bpe_formats` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from tokbench.bench.errors import ConfigError, TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Merging, Tokenizer, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.convert import numbered_by_bytes
from tokbench.tokenizers_impl.pretokenize import PreTokenization, from_pattern, pre_tokenization

Merge = tuple[int, int, int]
"""Left id, right id, id of the joined token."""

EncodeBatch = Callable[[Sequence[str]], Sequence[Ids]]


@dataclass(frozen=True, kw_only=True)
class BytePairModel:
    """All that decides the ids of a byte-level BPE tokenizer.

    - `byte_ids[b]`: the id of byte b; 256 ids.
    - `merges`: in the order they were learned, which is their rank.
    - `pre_tokenization`: where a text is cut first.
    - `special_tokens`: their ids; they are matched only when asked for.
    - `whole_pieces`: tiktoken's shortcut, None when off. A piece that is an entry of its own gets
      that id without any merging. For merges learned from text this changes nothing, but some
      published vocabularies hold entries that merging never reaches.

    >>> m = minbpe_example()
    >>> m.n_ids, m.token_bytes[256:]
    (259, [b'aa', b'ab', b'aaab'])
    """

    byte_ids: tuple[int, ...]
    merges: tuple[Merge, ...]
    pre_tokenization: PreTokenization
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    whole_pieces: Mapping[bytes, int] | None = None

    @cached_property
    def ranks(self) -> dict[tuple[int, int], int]:
        """The rank of each pair of ids that may be joined."""
        return {(left, right): rank for rank, (left, right, _) in enumerate(self.merges)}

    @cached_property
    def entries(self) -> dict[int, bytes]:
        """The bytes of each id that is not a special token."""
        found = {token: bytes([byte]) for byte, token in enumerate(self.byte_ids)}
        waiting: Sequence[Merge] = self.merges
        while waiting:
            later: list[Merge] = []
            for left, right, joined in waiting:
                # Llama 3 has entries of a lower rank than their parts.
                if left in found and right in found:
                    found[joined] = found[left] + found[right]
                else:
                    later.append((left, right, joined))
            if len(later) == len(waiting):
                raise TokenizerError(f"merge {later[0]} joins ids that no other merge makes")
            waiting = later
        for data, token in (self.whole_pieces or {}).items():
            found[token] = data
        return found

    @cached_property
    def token_bytes(self) -> list[bytes | None]:
        """The bytes of each id; None for special tokens and for ids that do not exist."""
        return [self.entries.get(token) for token in range(self.n_ids)]

    @cached_property
    def n_ids(self) -> int:
        """Highest id + 1."""
        return 1 + max((*self.entries, *self.special_tokens.values()))


def encode(
    model: BytePairModel, text: str, *, allowed_special: Iterable[str] = frozenset()
) -> list[int]:
    """Return the ids of a text.

    Spellings of special tokens are ordinary text, except for those named in `allowed_special`
    (the longest where several match). Raises `TokenizerError` for lone surrogates and for a name
    that is not a special token.

    >>> encode(minbpe_example(), "aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    ids: list[int] = []
    for part, special in _split_special(text, _wanted(model, allowed_special)):
        for piece in model.pre_tokenization.split(part):
            ids += encode_piece(model, _utf8(piece))
        ids += [] if special is None else [special]
    return ids


def encode_piece(model: BytePairModel, piece: bytes) -> list[int]:
    """Return the ids of the bytes of one piece."""
    if model.whole_pieces is not None and piece in model.whole_pieces:
        return [model.whole_pieces[piece]]
    return apply_merges(model, piece)


def apply_merges(model: BytePairModel, piece: bytes) -> list[int]:
    """Join the bytes of a piece, lowest rank first and leftmost among equals.

    >>> apply_merges(minbpe_example(), b"aaab")
    [258]
    """
    ids = [model.byte_ids[byte] for byte in piece]
    never = len(model.merges)
    while len(ids) > 1:
        pairs = pairwise(ids)
        rank, at = min((model.ranks.get(pair, never), at) for at, pair in enumerate(pairs))
        if rank == never:
            break
        ids[at : at + 2] = [model.merges[rank][2]]
    return ids


def replay_merges(model: BytePairModel, piece: bytes) -> list[int]:
    """Return what `apply_merges` returns, by doing every merge of the model in order.

    This is how the merges were made in training. It costs one pass per merge and is here to be
    compared with. For merges that were learned from text the two are equal.

    >>> replay_merges(minbpe_example(), b"aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    ids = [model.byte_ids[byte] for byte in piece]
    for merge in model.merges:
        ids = join_pair(ids, merge)
    return ids


def join_pair(ids: Sequence[int], merge: Merge) -> list[int]:
    """Join every occurrence of one pair, from the left: ``aaaaa`` becomes ``aa aa a``.

    >>> join_pair([97, 97, 97, 97, 97], (97, 97, 256))
    [256, 256, 97]
    """
    left, right, joined = merge
    result: list[int] = []
    at = 0
    while at < len(ids):
        found = at + 1 < len(ids) and ids[at] == left and ids[at + 1] == right
        result.append(joined if found else ids[at])
        at += 2 if found else 1
    return result


def decode_bytes(model: BytePairModel, ids: Iterable[int]) -> bytes:
    """Return the bytes that ids stand for; a special token stands for its name.

    Raises `TokenizerError` for an id that does not exist.
    """
    names = {token: name.encode() for name, token in model.special_tokens.items()}
    try:
        return b"".join(names[i] if i in names else model.entries[i] for i in ids)
    except KeyError as exc:
        raise TokenizerError(f"id {exc.args[0]} is not in the vocabulary") from exc


def minbpe_example() -> BytePairModel:
    """Return the three merges learned from ``aaabdaaabac`` (the example of minbpe and Wikipedia).

    With the tie rule of `byte_bpe_trainer`, (a, b) comes before (aa, a): both occur twice.
    """
    return BytePairModel(
        byte_ids=tuple(range(256)),
        merges=((97, 97, 256), (97, 98, 257), (256, 257, 258)),
        pre_tokenization=pre_tokenization("none"),
    )


def _utf8(piece: str) -> bytes:
    try:
        return piece.encode()
    except UnicodeEncodeError as exc:
        raise TokenizerError(
            f"the text holds a lone surrogate (U+{ord(piece[exc.start]):04X}), which has no UTF-8 "
            "form; repair the text where it is read"
        ) from exc


def _wanted(model: BytePairModel, allowed: Iterable[str]) -> dict[str, int]:
    names = set(allowed)
    if unknown := sorted(names - set(model.special_tokens)):
        raise TokenizerError(
            f"{unknown[0]!r} is not a special token; there are: "
            f"{', '.join(sorted(model.special_tokens)) or 'none'}"
        )
    return {name: model.special_tokens[name] for name in names}


def _split_special(text: str, wanted: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """Return parts of the text, each with the special token that follows it (the last: None)."""
    import regex

    if not wanted:
        return [(text, None)]
    longest_first = sorted(wanted, key=lambda name: (-len(name), name))
    parts = regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text)
    between, names = parts[::2], parts[1::2]
    return list(zip(between, [*(wanted[name] for name in names), None], strict=True))


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
            from tokbench.tokenizers_impl.byte_bpe_fast import FastEncoder

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
                lengths[np.asarray(one, np.int64)], np.array([len(_utf8(p)) for p in parts], int)
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

    def encode_with_special(self, text: str, allowed_special: Iterable[str]) -> list[int]:
        """Return the ids of a text, with these special tokens matched where they are spelled."""
        return encode(self.model, text, allowed_special=allowed_special)

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the text of each list of ids; bytes that are not UTF-8 become U+FFFD."""
        contents = self._contents
        return [
            b"".join(map(contents.__getitem__, document)).decode("utf-8", "replace")
            for document in ids
        ]

    def tokenizer_json(self) -> dict[str, Any]:
        """Return the `tokenizer.json` that gives the same ids in the `tokenizers` library."""
        from tokbench.tokenizers_impl.byte_bpe_formats import tokenizer_json

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

    file: str
    format: Literal["auto", "tiktoken", "tokenizer.json", "json"] = "auto"
    pre_tokenization: str | None = None
    pattern: str | None = None
    special_tokens: dict[str, int] = Field(default_factory=dict)
    whole_piece: bool | None = None
    engine: Literal["fast", "readable"] = "fast"

    @model_validator(mode="after")
    def _one_pattern(self) -> ByteBPE:
        if self.pattern is not None and self.pre_tokenization is not None:
            raise ValueError("give pre_tokenization (a name) or pattern, not both")
        return self

    def load(self, context: LoadContext) -> Tokenizer:
        """Read the file; raise `TokenizerError` when it is missing or not of its format."""
        from tokbench.tokenizers_impl.byte_bpe_formats import load_model

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
