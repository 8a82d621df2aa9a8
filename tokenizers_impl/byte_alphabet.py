"""The 256 characters that GPT-2's vocabulary file writes bytes with.

Bytes that print as a visible Latin-1 character stand for themselves; the other 68 take the
code points from U+0100 on, in order. Files of byte-level tokenizers still use it.
"""

from __future__ import annotations

from collections.abc import Mapping

_VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN = tuple(b for b in range(256) if b not in _VISIBLE)

BYTE_OF: Mapping[str, int] = {chr(b): b for b in _VISIBLE} | {
    chr(0x100 + n): b for n, b in enumerate(_HIDDEN)
}

CHARACTER_OF: Mapping[int, str] = {byte: character for character, byte in BYTE_OF.items()}


def to_bytes(piece: str) -> bytes | None:
    """Return the bytes a piece of that alphabet stands for, None if it is not written in it.

    >>> to_bytes("Ġthe"), to_bytes("Ã©"), to_bytes("日")
    (b' the', b'\\xc3\\xa9', None)
    """
    try:
        return bytes([BYTE_OF[character] for character in piece])
    except KeyError:
        return None
