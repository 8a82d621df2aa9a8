"""Strings that are hard on tokenizers, drawn from a seed.

Code points come from ranges written here and not from the interpreter's Unicode data, so that a
seed gives the same strings under every Python. None holds a lone surrogate: those cannot be
UTF-8 and no corpus can have them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple


class FuzzText(NamedTuple):
    """A string and the category it was drawn from."""

    category: str
    text: str


SCRIPTS = {
    "Latin": (0x41, 0x24F), "Greek": (0x370, 0x3FF), "Cyrillic": (0x400, 0x4FF),
    "Armenian": (0x531, 0x58A), "Hebrew": (0x591, 0x5F4), "Arabic": (0x600, 0x6FF),
    "Syriac": (0x700, 0x74F), "Thaana": (0x780, 0x7B1), "Devanagari": (0x900, 0x97F),
    "Bengali": (0x981, 0x9FE), "Gurmukhi": (0xA01, 0xA76), "Gujarati": (0xA81, 0xAFF),
    "Tamil": (0xB82, 0xBFA), "Telugu": (0xC00, 0xC7F), "Kannada": (0xC80, 0xCF2),
    "Malayalam": (0xD00, 0xD7F), "Sinhala": (0xD81, 0xDF4), "Thai": (0xE01, 0xE5B),
    "Lao": (0xE81, 0xEDF), "Tibetan": (0xF00, 0xFDA), "Myanmar": (0x1000, 0x109F),
    "Georgian": (0x10A0, 0x10FF), "Hangul jamo": (0x1100, 0x11FF), "Ethiopic": (0x1200, 0x137C),
    "Cherokee": (0x13A0, 0x13FD), "Canadian": (0x1400, 0x167F), "Khmer": (0x1780, 0x17F9),
    "Mongolian": (0x1800, 0x18AA), "Balinese": (0x1B00, 0x1B7C), "Georgian capitals": (0x1C90, 0x1CBF),
    "Latin additional": (0x1E00, 0x1EFF), "Greek extended": (0x1F00, 0x1FFE),
    "Glagolitic": (0x2C00, 0x2C5F), "Tifinagh": (0x2D30, 0x2D7F), "Kana": (0x3041, 0x30FF),
    "Han": (0x4E00, 0x9FFF), "Yi": (0xA000, 0xA48C), "Hangul": (0xAC00, 0xD7A3),
    "Gothic": (0x10330, 0x1034A), "Han extension B": (0x20000, 0x2A6DF),
}  # fmt: skip
"""Name, first and last code point of a stretch of each script."""

_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f"
_BIDI = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_COMPATIBILITY = ((0xA8, 0xBE), (0x2070, 0x209C), (0x2100, 0x214F), (0x2153, 0x218B), (0x2460, 0x24FF), (0x3300, 0x33FF), (0xFB00, 0xFB06), (0xFF01, 0xFF9F), (0x1D400, 0x1D7FF))  # fmt: skip
_COMPOSED = ((0xC0, 0x17F), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE), (0xAC00, 0xD7A3), (0x304C, 0x30FE))
_PEOPLE = (0x1F468, 0x1F469, 0x1F9D1, 0x1F466, 0x1F467)
_THINGS = (0x1F4BB, 0x1F52C, 0x1F680, 0x1F33E, 0x2764, 0x1F91D, 0x2695)
_SKIN = (0x1F3FB, 0x1F3FF)
_FLAG = (0x1F1E6, 0x1F1FF)
_ASCII = "".join(map(chr, range(0x20, 0x7F)))


def fuzz(seed: int, per_category: int, spellings: Sequence[str] = ()) -> list[FuzzText]:
    """Return the strings of all categories; those of special tokens need their spellings.

    >>> fuzz(0, 2) == fuzz(0, 2), fuzz(0, 2) == fuzz(1, 2)
    (True, False)
    >>> len(fuzz(0, 3)) == 3 * len(CATEGORIES)
    True
    """
    texts = []
    for name, draw in CATEGORIES.items():
        rng = random.Random(f"{seed}/{name}")
        texts += [FuzzText(name, draw(rng)) for _ in range(per_category)]
    rng = random.Random(f"{seed}/special_spellings")
    chosen = sorted(spellings)
    texts += [
        FuzzText("special_spellings", _with_spelling(rng, chosen))
        for _ in range(per_category if chosen else 0)
    ]
    return texts


def _characters(rng: random.Random, low: int, high: int, n: int) -> str:
    return "".join(chr(rng.randint(low, high)) for _ in range(n))


def _word(rng: random.Random) -> str:
    low, high = SCRIPTS[rng.choice(list(SCRIPTS))]
    return _characters(rng, low, high, rng.randint(1, 8))


def _scripts(rng: random.Random) -> str:
    return " ".join(_word(rng) for _ in range(rng.randint(1, 6)))


def _any_scalar(rng: random.Random) -> str:
    """Any code point, assigned or not, private or not, but no surrogate and no noncharacter."""
    found: list[str] = []
    while len(found) < 12:
        code = rng.choice((rng.randint(0x80, 0xFFFD), rng.randint(0x10000, 0x10FFFC)))
        if not (0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE):
            found.append(chr(code))
    return "".join(found)


def _ascii(rng: random.Random) -> str:
    return "".join(rng.choice(_ASCII) for _ in range(rng.randint(1, 40)))


def _combining(rng: random.Random) -> str:
    return "".join(
        rng.choice("aeiouyOกक") + _characters(rng, 0x300, 0x36F, rng.randint(1, 6))
        for _ in range(4)
    )


def _emoji(rng: random.Random) -> str:
    return rng.choice((" ", "", "x")).join(_one_emoji(rng) for _ in range(rng.randint(1, 5)))


def _one_emoji(rng: random.Random) -> str:
    kind = rng.randint(0, 3)
    if kind == 0:
        return _characters(rng, *_FLAG, 2)
    if kind == 1:
        return chr(rng.randint(0x1F600, 0x1F64F))
    person = chr(rng.choice(_PEOPLE)) + (chr(rng.randint(*_SKIN)) if rng.random() < 0.5 else "")
    if kind == 2:
        return person + "\u200d" + chr(rng.choice(_THINGS)) + "\ufe0f"
    return "\u200d".join(chr(rng.choice(_PEOPLE)) for _ in range(rng.randint(2, 4)))


def _bidi(rng: random.Random) -> str:
    words = (_characters(rng, 0x5D0, 0x5EA, 3), _characters(rng, 0x621, 0x64A, 4), "abc", "12.3")
    return "".join(rng.choice(_BIDI) + rng.choice(words) for _ in range(rng.randint(1, 6)))


def _white_space(rng: random.Random) -> str:
    parts = ("", "a", "b.", "  ", "\n\n", "\r\n", "\t\t")
    return "".join(
        rng.choice(_SPACES) * rng.randint(1, 3) + rng.choice(parts)
        for _ in range(rng.randint(1, 6))
    )


def _zero_width(rng: random.Random) -> str:
    return "".join(rng.choice(_ZERO_WIDTH) + _word(rng) for _ in range(rng.randint(1, 4)))


def _control(rng: random.Random) -> str:
    controls = [0, *range(1, 9), *range(0x0E, 0x20), *range(0x7F, 0xA0)]
    return "".join(chr(rng.choice(controls)) + rng.choice(("", "a", " ")) for _ in range(6))


def _long_run(rng: random.Random) -> str:
    character: str = rng.choice((*" \n\t=-.aA0あ字", "🙂", "\u0301", "\u200d"))
    length: int = rng.choice((99, 100, 101, 255, 1000, 2000))
    return character * length + rng.choice(("", "x", " x"))


def _ranges(rng: random.Random, ranges: Sequence[tuple[int, int]], n: int) -> str:
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(n))


def _compatibility(rng: random.Random) -> str:
    return _ranges(rng, _COMPATIBILITY, rng.randint(1, 8))


def _composed(rng: random.Random) -> str:
    return _ranges(rng, _COMPOSED, rng.randint(1, 8))


def _decomposed(rng: random.Random) -> str:
    import unicodedata

    # Decompositions of assigned characters never change (Unicode's stability policy).
    return unicodedata.normalize("NFD", _composed(rng))


def _marker(rng: random.Random) -> str:
    """What tokenizers use inside for spaces, word ends and continued words."""
    markers = (
        "▁",
        "##",
        "</w>",
        "Ġ",
        "Ċ",
        "<0x41>",
        "@@",
        "\ufffd",
        "⁇",
        "[UNK]",
        "<unk>",
        " ' s",
        " n't",
    )
    return "".join(
        rng.choice(("a", " ", "")) + rng.choice(markers) for _ in range(rng.randint(1, 5))
    )


def _mixed(rng: random.Random) -> str:
    draws = (_scripts, _ascii, _emoji, _white_space, _combining, _compatibility)
    return "".join(rng.choice(draws)(rng) for _ in range(4))


CATEGORIES: Mapping[str, Callable[[random.Random], str]] = {
    "scripts": _scripts,
    "any_code_point": _any_scalar,
    "ascii": _ascii,
    "combining_marks": _combining,
    "emoji": _emoji,
    "bidi": _bidi,
    "white_space": _white_space,
    "zero_width": _zero_width,
    "control": _control,
    "long_run": _long_run,
    "compatibility_forms": _compatibility,
    "composed": _composed,
    "decomposed": _decomposed,
    "tokenizer_markers": _marker,
    "mixed": _mixed,
}
"""How each category draws one string."""


def _with_spelling(rng: random.Random, spellings: Sequence[str]) -> str:
    around = ("", " ", "  ", "a", "\n", "字")
    return rng.choice(around) + rng.choice(spellings) + rng.choice(around)


def names() -> Iterator[str]:
    """Yield all categories."""
    yield from CATEGORIES
    yield "special_spellings"
