"""Script and category of a piece of text, to group segments in tables."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache
from typing import Any

SCRIPTS = (
    "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Han", "Hiragana", "Katakana", "Hangul",
    "Devanagari", "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi",
    "Oriya", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Georgian", "Armenian",
    "Ethiopic", "Mongolian", "Syriac", "Thaana", "Nko", "Tifinagh", "Cherokee", "Bopomofo", "Yi",
    "Javanese", "Balinese", "Meetei_Mayek", "Ol_Chiki", "Canadian_Aboriginal", "Coptic", "Vai",
    "Adlam", "Lisu", "Gothic",
)  # fmt: skip
"""Scripts reported by name; letters of all others are "other"."""


def script_of(text: bytes) -> str:
    """Return the script of most letters; "none" without letters.

    >>> script_of("день 1".encode()), script_of(b"42"), script_of(b"\\xe0\\xa4")
    ('Cyrillic', 'none', 'none')
    """
    letters = Counter(
        _script(c) for c in text.decode("utf-8", "ignore") if unicodedata.category(c)[0] in "LM"
    )
    return min(letters, key=lambda name: (-letters[name], name)) if letters else "none"


def category_of(text: bytes) -> str:
    """Return the category of a segment; spaces and joiners count only if there is nothing else.

    >>> [category_of(t) for t in (b" the", b"2024", b"x86", b").", b"\\n\\n", b"\\xe4\\xbd")]
    ['letters', 'digits', 'letters and digits', 'punctuation', 'white space', 'part of a character']
    """
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return "part of a character"
    seen = {unicodedata.category(c) for c in decoded if not c.isspace()}
    kinds = sorted({_KINDS[name[0]] for name in seen - _JOINERS}, key=_ORDER.index)
    if not kinds:
        return "invisible characters" if seen else "white space"
    return " and ".join(kinds) if len(kinds) < 3 else "mixed"


_ORDER = ("letters", "digits", "punctuation", "symbols", "control characters")
_KINDS = {
    "L": "letters",
    "M": "letters",
    "N": "digits",
    "P": "punctuation",
    "S": "symbols",
    "C": "control characters",
    "Z": "control characters",
}
_JOINERS = {"Cf"}  # zero-width spaces and joiners are part of words in several scripts


@cache
def _script(c: str) -> str:
    found = _pattern().fullmatch(c)
    return str(found.lastgroup).replace("_", " ") if found else "other"


@cache
def _pattern() -> Any:
    import regex

    return regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}})" for name in SCRIPTS))
