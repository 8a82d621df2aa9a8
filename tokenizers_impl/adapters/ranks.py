"""Rank files: one base64 token and its rank on each line, as tiktoken reads and writes them.

Also turns ranks, a pattern and special tokens into a tokenizer that tiktoken runs. It does not
know where files come from.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from tokbench.bench.errors import TokenizerError, is_library_failure
from tokbench.bench.model import Fingerprint, Ids, Merging, Vocabulary
from tokbench.tokenizers_impl.convert import as_list, numbered_by_bytes
from tokbench.tokenizers_impl.files import bounded


def parse_ranks(content: bytes, source: str) -> dict[bytes, int]:
    """Return rank by token; `source` names the file in errors.

    >>> parse_ranks(b"YQ== 0\\nYg== 1\\n", "two.tiktoken")
    {b'a': 0, b'b': 1}
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            # Not strict, as tiktoken is not: Whisper's file ends in a lone "=", the empty token.
            data, number_of = base64.b64decode(token), int(rank)
        except (ValueError, binascii.Error) as exc:
            raise TokenizerError(
                f"{source}:{number}: expected a base64 token, a space and its rank, got "
                f"{line[:60]!r}; is it a rank file of tiktoken?"
            ) from exc
        if ranks.setdefault(data, number_of) != number_of:
            raise TokenizerError(
                f"{source}:{number}: a second rank, {number_of}, for the token {data!r}, which has "
                f"{ranks[data]}; the file is damaged"
            )
    return ranks


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Return the file of some ranks, which `parse_ranks` reads back.

    >>> write_ranks({b"a": 0, b"b": 1})
    b'YQ== 0\\nYg== 1\\n'
    """
    return b"".join(b"%b %d\n" % (base64.b64encode(t), rank) for t, rank in ranks.items())


def _check_ranks(ranks: Mapping[bytes, int], source: str) -> None:
    if len(set(ranks.values())) != len(ranks):
        raise TokenizerError(f"{source}: two tokens have one rank; the file is damaged")
    if not all(rank >= 0 for rank in ranks.values()):
        raise TokenizerError(f"{source}: a rank below 0; the file is damaged")
    bounded(max(ranks.values(), default=0) + 1, source)
    missing = [b for b in range(256) if bytes([b]) not in ranks]
    if missing:
        # tiktoken would panic on the first text that holds such a byte.
        raise TokenizerError(
            f"{source}: no rank for {len(missing)} of the 256 single bytes (first: "
            f"0x{missing[0]:02X}), so some texts could not be encoded; use a complete rank file"
        )


def _check_special(special_tokens: Mapping[str, int], source: str) -> None:
    spelled: dict[int, str] = {}
    for spelling, i in special_tokens.items():
        if (other := spelled.setdefault(i, spelling)) != spelling:
            raise TokenizerError(
                f"{source}: special tokens {other!r} and {spelling!r} share id {i}"
            )
        if not spelling or i < 0:
            raise TokenizerError(f"{source}: special token {spelling!r} with id {i} cannot be used")
        bounded(i + 1, source)


@dataclass(frozen=True, kw_only=True, eq=False)
class RankTokenizer:
    """Byte-level BPE by ranks, run by tiktoken one document at a time on one thread."""

    encoding: Any
    """A `tiktoken.Encoding`."""
    vocabulary: Vocabulary
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Id by spelling; spellings in a text are ordinary text all the same."""
    byte_exact: bool = True
    prefix_space: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Hashed when it is asked for: of 200,000 entries that takes a tenth of a second."""
        return Fingerprint.of(
            vocabulary=list(self.vocabulary.token_bytes),
            pre_tokenizer=self.encoding._pat_str,
            special_tokens=dict(self.special_tokens),
        )

    @property
    def ranks(self) -> Mapping[bytes, int]:
        """Rank by token."""
        ranks: Mapping[bytes, int] = self.encoding._mergeable_ranks
        return ranks

    def merging(self) -> Merging:
        """Return how it joins: bytes, by the rank of what they become."""
        ranks = self.ranks

        def entries() -> Iterator[tuple[int, Sequence[bytes]]]:
            for token, rank in ranks.items():
                yield rank, [token[i : i + 1] for i in range(len(token))]

        def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
            rank = ranks.get(left + right)
            return None if rank is None else (rank, left + right)

        return Merging(entries=entries, join=join)

    encode_call: ClassVar[str] = "tiktoken.Encoding.encode_to_numpy"

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one uint32 array for each text."""
        encode = self.encoding.encode_to_numpy  # quicker than encode_ordinary, the same ids
        return [encode(text, disallowed_special=()) for text in texts]

    def encode_one(self, text: str) -> Ids:
        """Return a uint32 array, as `encode_batch` does for each text."""
        ids: Ids = self.encoding.encode_to_numpy(text, disallowed_special=())
        return ids

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> list[Ids]:
        """Return one list for each text, by tiktoken's own pool of threads."""
        ids: list[Ids] = self.encoding.encode_ordinary_batch(list(texts), num_threads=threads)
        return ids

    def encode_batch_in_pre_tokens(self, texts: Sequence[str]) -> tuple[list[Ids], list[list[int]]]:
        """Return the ids, and for each token which piece of the pattern it lies in."""
        # `regex` reads the same dialect as tiktoken's fancy-regex, which has no call for this
        find, lengths = _compiled(self.encoding._pat_str).findall, self.vocabulary.byte_lengths
        ids = self.encode_batch(texts)
        numbers = [
            numbered_by_bytes(lengths[one], np.array([len(p.encode()) for p in find(text)], int))
            for one, text in zip(ids, texts, strict=True)
        ]
        return ids, numbers

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts; bytes that are not UTF-8 become U+FFFD."""
        decode = self.encoding.decode
        return [decode(as_list(document)) for document in ids]


@cache
def _compiled(pattern: str) -> Any:
    import regex

    return regex.compile(pattern)


def build(
    *, name: str, pattern: str, ranks: Mapping[bytes, int], special_tokens: Mapping[str, int]
) -> RankTokenizer:
    """Return a tokenizer of these parts; raise `TokenizerError` when they do not fit together."""
    import tiktoken

    _check_ranks(ranks, name)
    _check_special(special_tokens, name)
    taken = set(ranks.values()) & set(special_tokens.values())
    if taken:
        spelling = next(s for s, i in special_tokens.items() if i in taken)
        raise TokenizerError(
            f"{name}: special token {spelling!r} has id {special_tokens[spelling]}, which is the "
            f"rank of a token; special ids of this vocabulary are free from "
            f"{max(ranks.values()) + 1} on"
        )
    try:
        encoding = tiktoken.Encoding(
            name=name,
            pat_str=pattern,
            mergeable_ranks=dict(ranks),
            special_tokens=dict(special_tokens),
        )
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        raise TokenizerError(
            f"{name}: tiktoken refuses the pattern {pattern!r} or the ranks: {exc}"
        ) from None
    return from_parts(encoding, pattern, ranks, special_tokens)


def from_parts(
    encoding: Any,
    pattern: str,
    ranks: Mapping[bytes, int],
    special_tokens: Mapping[str, int],
    notes: tuple[str, ...] = (),
) -> RankTokenizer:
    """Return the tokenizer around an encoding that exists, with its vocabulary facts."""
    special_ids = frozenset(special_tokens.values())
    n_ids = max(max(ranks.values()), max(special_ids, default=-1)) + 1
    content: list[bytes | None] = [None] * n_ids
    for token, rank in ranks.items():
        content[rank] = token
    holes = frozenset(i for i, b in enumerate(content) if b is None) - special_ids
    return RankTokenizer(
        encoding=encoding,
        vocabulary=Vocabulary(token_bytes=content, special_ids=special_ids, hole_ids=holes),
        special_tokens=dict(special_tokens),
        notes=notes,
    )
