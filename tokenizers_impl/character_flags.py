"""Which kind each character of a text is, as a byte of flags: what `pretokenize_fast` cuts by."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.uint8] | npt.NDArray[np.uint32]

LETTER, NUMBER, SPACE, NEWLINE, BLANK, OTHER = 1, 2, 4, 8, 16, 32
"""Flags of a character. NEWLINE (CR or LF) and BLANK (U+0020) come with SPACE (any whitespace)."""
UPPER, CASELESS = 64, 128
"""Kinds of letters for o200k: UPPER is Lu or Lt, CASELESS is Lm or Lo; both together is a mark."""
KIND = LETTER | NUMBER | SPACE | OTHER


def flags_and_codes(text: str, o200k: bool) -> tuple[Flags, Codes]:
    """Return the flags and code points of a text's characters, shape (n,)."""
    if text.isascii():
        data = text.encode("ascii")
        return (
            np.frombuffer(data.translate(_ascii_flags(o200k)), np.uint8),
            np.frombuffer(data, np.uint8),
        )
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return flag_table(o200k)[codes], codes


@lru_cache(maxsize=2)
def _ascii_flags(o200k: bool) -> bytes:
    return flag_table(o200k)[:256].tobytes()


@lru_cache(maxsize=2)
def flag_table(o200k: bool) -> Flags:
    """Return the flags of every code point, from the Unicode tables of `regex`."""
    import regex

    table = np.full(0x110000, OTHER, np.uint8)
    # Surrogates are no characters; the letter-less filler keeps places equal to code points.
    everything = "".join(map(chr, range(0xD800))) + "!" * 0x800
    everything += "".join(map(chr, range(0xE000, 0x110000)))
    classes = [(r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", SPACE)]
    classes += [(r"[\r\n]", SPACE | NEWLINE), (r" ", SPACE | BLANK)]
    if o200k:
        classes += [(r"[\p{Lu}\p{Lt}]", LETTER | UPPER), (r"[\p{Lm}\p{Lo}]", LETTER | CASELESS)]
        classes += [(r"\p{M}", LETTER | UPPER | CASELESS)]
    for pattern, flags in classes:
        for match in regex.finditer(f"{pattern}+", everything):
            table[match.start() : match.end()] = flags
    return table
