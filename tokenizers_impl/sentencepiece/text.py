"""What SentencePiece does to a text before and after its model: spaces become ``▁``.

A text is one sequence of characters, spaces included, so that tokens can be joined back into it.

>>> marked("Hello  world ", TextOptions())
'▁Hello▁▁world▁'
>>> marked("Hello  world ", TextOptions(remove_extra_whitespaces=True))
'▁Hello▁world'

With `identity`, no removal and byte fallback nothing is lost, with one exception: a literal ``▁``
(U+2581) reads as a space, and decodes to one. `underbar="bytes"` writes it as its three bytes
instead, which needs byte fallback, and which the `sentencepiece` library does not do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
LITERAL = "\udc81"
"""Stands for a literal ▁ that is to become bytes: no text can hold a lone surrogate."""

UNKNOWN_TEXT = " \u2047 "
"""What an unknown token decodes to, as in the `sentencepiece` library."""

Normalization = Literal["identity", "nfkc"]


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How text is prepared; names are those of SentencePiece's options."""

    normalization: Normalization = "identity"
    add_dummy_prefix: bool = True
    """Put a space before the text, so that its first word is written like the others."""
    remove_extra_whitespaces: bool = False
    """Drop leading, trailing and repeated spaces. Loses text."""
    underbar: Literal["space", "bytes"] = "space"
    """What a literal ▁ in text becomes."""

    @property
    def lossless(self) -> bool:
        """Whether a text can be had back from what `marked` makes of it (▁ apart)."""
        return self.normalization == "identity" and not self.remove_extra_whitespaces

    def as_mapping(self) -> dict[str, Any]:
        """Return the options by name."""
        return {
            "normalization": self.normalization,
            "add_dummy_prefix": self.add_dummy_prefix,
            "remove_extra_whitespaces": self.remove_extra_whitespaces,
            "underbar": self.underbar,
        }


def marked(text: str, options: TextOptions) -> str:
    """Return the normalized text with ``▁`` for each space."""
    if options.normalization == "nfkc":
        text = unicodedata.normalize("NFKC", text)
    if options.remove_extra_whitespaces:
        text = " ".join(part for part in text.split(" ") if part)
    if not text:
        return ""
    if options.underbar == "bytes" and SPACE in text:
        text = text.replace(SPACE, LITERAL)
    text = text.replace(" ", SPACE)
    if options.add_dummy_prefix:
        text = SPACE + text
    # a literal ▁ at the end goes as well, as it does in the library
    return text.rstrip(SPACE) if options.remove_extra_whitespaces else text


def decoded(ids: Iterable[int], contents: Sequence[str | int], options: TextOptions) -> str:
    """Return the text of ids: ``▁`` is a space again and the dummy prefix is gone.

    `contents[i]` is the piece of id i, or the number of the byte it stands for. Bytes that are
    not UTF-8 become U+FFFD.

    >>> decoded([0, 1, 2, 3], ["▁Z", 0xC3, 0xBC, "rich▁▁"], TextOptions())
    'Zürich  '
    """
    text = ""
    for is_byte, group in groupby((contents[i] for i in ids), lambda c: isinstance(c, int)):
        if is_byte:
            text += bytes(group).decode("utf-8", "replace")  # type: ignore[arg-type]
        else:
            part = "".join(group)  # type: ignore[arg-type]
            if options.add_dummy_prefix and not text:
                part = part.removeprefix(SPACE)
            text += part.replace(SPACE, " ")
    return text


def byte_piece(byte: int) -> str:
    """Return SentencePiece's spelling of a byte-fallback piece.

    >>> byte_piece(10)
    '<0x0A>'
    """
    return f"<0x{byte:02X}>"


def fallback_bytes(character: str) -> bytes:
    """Return the bytes that byte fallback writes for a character of marked text."""
    return (SPACE if character == LITERAL else character).encode()


def piece_bytes(piece: str) -> bytes:
    """Return the text a piece stands for.

    >>> piece_bytes("▁the")
    b' the'
    """
    return piece.replace(SPACE, " ").encode()


class WordSplitter:
    """Cuts marked text where no piece reaches across, so that the parts can be cached.

    >>> WordSplitter(["▁a", "b"]).split("▁ab▁▁a")
    ['▁ab', '▁', '▁a']
    >>> WordSplitter(["▁a", "▁▁"]).split("▁ab▁▁a")
    ['▁ab', '▁▁a']
    >>> WordSplitter(["a▁b"]).split("▁ab▁▁a")
    ['▁ab▁▁a']
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self._runs = self._across = False
        for piece in pieces:
            if SPACE in piece[1:]:
                self._runs = True
                self._across = self._across or SPACE in piece.lstrip(SPACE)

    def split(self, text: str) -> list[str]:
        """Return the parts; joined, they are the text."""
        if self._across:
            return [text] if text else []
        # "\0" may be part of a text; a lone surrogate cannot
        cut = text.replace(SPACE, "\udc80" + SPACE)
        if self._runs:
            cut = cut.replace(SPACE + "\udc80", SPACE)
        words = cut.split("\udc80")
        return words if words[0] else words[1:]
