"""What the SentencePiece-style tokenizers share: pieces, their ids, unknowns, bytes, decoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Ids, Vocabulary
from tokbench.tokenizers_impl.sentencepiece.text import (
    UNKNOWN_TEXT,
    TextOptions,
    byte_piece,
    decoded,
    fallback_bytes,
    piece_bytes,
)
from tokbench.tokenizers_impl.word_table import cut_at


class Pieces:
    """Pieces in the order of their ids, some of them special, some standing for bytes.

    >>> pieces = Pieces(["<unk>", "▁a", "b"], special_tokens=["<unk>"])
    >>> pieces.learned
    {'▁a': 1, 'b': 2}
    >>> pieces.finished("▁aXYb", [1, 0, 0, 2])
    [1, 0, 2]
    >>> pieces.decoded([1, 0, 2])
    'a ⁇ b'
    """

    def __init__(
        self,
        pieces: Sequence[str],
        *,
        unknown: str = "<unk>",
        special_tokens: Sequence[str] = ("<unk>",),
        byte_fallback: bool = False,
        options: TextOptions | None = None,
    ) -> None:
        """Raise `TokenizerError` when a piece is there twice, or one that is needed is missing."""
        self.texts = tuple(pieces)
        self.unknown = unknown
        self.special_tokens = tuple(special_tokens)
        self.byte_fallback = byte_fallback
        self.options = options or TextOptions()
        if self.options.underbar == "bytes" and not byte_fallback:
            raise TokenizerError(
                "underbar: bytes writes a literal ▁ as byte-fallback pieces: "
                "switch byte_fallback on, or use underbar: space"
            )
        self.ids = _indexed(self.texts, [unknown, *special_tokens])
        self.unknown_id = self.ids[unknown]
        self.special_ids = frozenset(self.ids[token] for token in special_tokens)
        self.byte_ids = _byte_ids(self.ids) if byte_fallback else ()
        apart = {self.unknown_id, *self.special_ids, *self.byte_ids}
        self.learned = {piece: i for piece, i in self.ids.items() if i not in apart}
        """Ids of the pieces that text is cut into."""

    @property
    def byte_exact(self) -> bool:
        """Whether token bytes add up to the text's bytes (a literal ▁ apart)."""
        return self.byte_fallback and self.options.lossless

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The facts about every id."""
        contents: list[bytes | None] = [piece_bytes(piece) for piece in self.texts]
        for index in self.special_ids | {self.unknown_id}:
            contents[index] = None
        for byte, index in enumerate(self.byte_ids):
            contents[index] = bytes([byte])
        return Vocabulary(
            token_bytes=contents,
            special_ids=self.special_ids,
            unknown_ids=frozenset({self.unknown_id}),
            byte_fallback_ids=frozenset(self.byte_ids),
        )

    def settings(self) -> dict[str, Any]:
        """Return all but the pieces, as tokbench's own JSON keeps it; see `settings_of`."""
        return {
            **self.options.as_mapping(),
            "byte_fallback": self.byte_fallback,
            "unknown": self.unknown,
            "special_tokens": self.special_tokens,
        }

    def fingerprint_parts(self) -> Mapping[str, object]:
        """Return what decides the ids, apart from scores or merges."""
        return {
            "vocabulary": [piece.encode() for piece in self.texts],
            "normalizer": self.options.as_mapping(),
            "pre_tokenizer": None,
            "special_tokens": list(self.special_tokens),
            "options": {"byte_fallback": self.byte_fallback, "unknown": self.unknown},
        }

    def notes(self) -> tuple[str, ...]:
        """Say what happens to a literal ▁, where it is lost."""
        if self.options.underbar == "bytes":
            return ()
        return ("a literal ▁ (U+2581) in a text is read as a space and decodes to one",)

    def finished(self, text: str, raw: list[int]) -> list[int]:
        """Return final ids from raw ones, in which each unknown character is an unknown token.

        Unknown characters become bytes; without byte fallback a run of them is one token.
        """
        unknown = self.unknown_id
        if unknown not in raw:
            return raw
        if self.byte_fallback:
            return self._with_bytes(text, raw)
        before = [-1, *raw]
        return [
            i for i, previous in zip(raw, before, strict=False) if i != unknown or previous != i
        ]

    def all_finished(
        self, texts: Sequence[str], raw: npt.NDArray[np.int32], ends: npt.NDArray[np.int64]
    ) -> list[list[int]]:
        """Return what `finished` returns, of many texts; `ends` says where each one's ids end."""
        unknown = np.flatnonzero(raw == self.unknown_id)
        if self.byte_fallback:
            found = cut_at(raw, ends)
            for number in np.unique(np.searchsorted(ends, unknown, side="right")).tolist():
                found[number] = self._with_bytes(texts[number], found[number])
            return found
        again = unknown[1:][np.diff(unknown) == 1]
        again = again[~np.isin(again, ends)]
        return cut_at(np.delete(raw, again), ends - np.searchsorted(again, ends))

    def decoded(self, ids: Ids) -> str:
        """Return the text of ids; unknown tokens become `` ⁇ ``, special ones nothing."""
        return decoded(ids, self._contents, self.options)

    def _with_bytes(self, text: str, raw: list[int]) -> list[int]:
        ids: list[int] = []
        position = 0
        for index in raw:
            if index == self.unknown_id:
                ids += [self.byte_ids[b] for b in fallback_bytes(text[position])]
                position += 1
            else:
                ids.append(index)
                position += len(self.texts[index])
        return ids

    @cached_property
    def _contents(self) -> list[str | int]:
        contents: list[str | int] = list(self.texts)
        for index in self.special_ids:
            contents[index] = ""
        contents[self.unknown_id] = UNKNOWN_TEXT
        for byte, index in enumerate(self.byte_ids):
            contents[index] = byte
        return contents


def settings_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `Pieces` takes beside its pieces, from what `Pieces.settings` gave.

    Raises `KeyError` where a setting is missing.
    """
    return {
        **{name: content[name] for name in ("unknown", "special_tokens", "byte_fallback")},
        "options": TextOptions(**{name: content[name] for name in TextOptions().as_mapping()}),
    }


class PieceTokenizer(ABC):
    """What all tokenizers over such pieces have in common; satisfies `tokbench.bench.model.Tokenizer`.

    They differ in how a text is cut into pieces, and in what beside the pieces decides that.
    """

    pieces: Pieces

    @property
    def byte_exact(self) -> bool:
        """Whether token bytes add up to the text's bytes (a literal ▁ apart)."""
        return self.pieces.byte_exact

    @property
    def prefix_space(self) -> bool:
        """Whether a space is put before a text."""
        return self.pieces.options.add_dummy_prefix

    @property
    def vocabulary(self) -> Vocabulary:
        """The facts about every id."""
        return self.pieces.vocabulary

    @property
    def notes(self) -> Sequence[str]:
        """Say what happens to a literal ▁."""
        return self.pieces.notes()

    @abstractmethod
    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[int]]]:
        """Return the ids; a text is one pre-token, since nothing is cut before pieces are."""
        ids = self.encode_batch(texts)
        return ids, [[0] * len(one) for one in ids]

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the text of each list of ids; unknown tokens become `` ⁇ ``."""
        return [self.pieces.decoded(one) for one in ids]


def _indexed(pieces: Sequence[str], needed: Sequence[str]) -> dict[str, int]:
    ids = {piece: index for index, piece in enumerate(pieces)}
    if len(ids) < len(pieces):
        twice = next(piece for i, piece in enumerate(pieces) if ids[piece] != i)
        raise TokenizerError(f"the vocabulary has the piece {twice!r} twice: remove one of them")
    for piece in needed:
        if piece not in ids:
            raise TokenizerError(f"the vocabulary has no piece {piece!r}: add it")
    return ids


def _byte_ids(ids: Mapping[str, int]) -> tuple[int, ...]:
    try:
        return tuple(ids[byte_piece(byte)] for byte in range(256))
    except KeyError as exc:
        raise TokenizerError(
            f"byte_fallback needs all 256 byte pieces, and {exc} is missing: "
            "add it, or switch byte_fallback off"
        ) from exc
