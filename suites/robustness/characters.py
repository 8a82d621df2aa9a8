"""Which characters stand for which: layouts of keyboards, look-alikes, confusions of OCR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

LAYOUTS: Mapping[str, Sequence[str]] = {
    "qwerty": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("qwertzuiop", "asdfghjkl", "yxcvbnm"),
    "azerty": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
    "turkish_q": ("qwertyuıopğü", "asdfghjklşi", "zxcvbnmöç"),
    "russian": ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    "ukrainian": ("йцукенгшщзхї", "фівапролджє", "ячсмитьбю"),
    "bulgarian": ("уеишщксдзц", "ьяаожгтнвмч", "юйъэфхпрлб"),
    "greek": ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
    "hebrew": ("קראטוןםפ", "שדגכעיחלךף", "זסבהנמצתץ"),
    "arabic": ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
    "persian": ("ضصثقفغعهخحجچ", "شسیبلاتنمکگ", "ظطزرذدپو"),
}
"""Rows of letters of national layouts, from the top; letters of dead keys are left out."""

_OF_SCRIPT = {
    "Latn": "qwerty",
    "Cyrl": "russian",
    "Grek": "greek",
    "Hebr": "hebrew",
    "Arab": "arabic",
}
_OF_LANGUAGE = {
    **dict.fromkeys((f"{code}-Latn" for code in ("de", "cs", "sk", "hu", "hr", "sl")), "qwertz"),
    "fr-Latn": "azerty",
    "tr-Latn": "turkish_q",
    "uk-Cyrl": "ukrainian",
    "bg-Cyrl": "bulgarian",
    "fa-Arab": "persian",
}
KEYBOARD_SCRIPTS = frozenset(_OF_SCRIPT)


def layout_of(language: str, script: str) -> str:
    """Return the layout for a language (its subtag in BCP-47), or the one of its script.

    >>> layout_of("de", "Latn"), layout_of("sw", "Latn"), layout_of("fa", "Arab")
    ('qwertz', 'qwerty', 'persian')
    """
    return _OF_LANGUAGE.get(f"{language}-{script}", _OF_SCRIPT[script])


@cache
def neighbours(layout: str) -> Mapping[str, tuple[str, ...]]:
    """Return the keys beside each letter: left, right, and those it touches above and below.

    >>> neighbours("qwerty")["g"], neighbours("qwerty")["q"]
    (('f', 'h', 't', 'y', 'v', 'b'), ('w', 'a'))
    """
    rows = LAYOUTS[layout]
    return {
        letter: tuple(_beside(rows, number, place))
        for number, row in enumerate(rows)
        for place, letter in enumerate(row)
    }


def _beside(rows: Sequence[str], number: int, place: int) -> Iterator[str]:
    """Each row stands about half a key to the right of the one above."""
    around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    for up, along in around:
        if 0 <= number + up < len(rows) and 0 <= place + along < len(rows[number + up]):
            yield rows[number + up][place + along]


_LATIN_CYRILLIC = dict(zip("aceopxyisjABCEHIKMOPSTXJ", "асеорхуіѕјАВСЕНІКМОРЅТХЈ", strict=True))
_GREEK_LATIN = dict(zip("ονρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovpABEZHIKMNOPTYX", strict=True))
HOMOGLYPHS: Mapping[str, str] = {
    **_LATIN_CYRILLIC,
    **{cyrillic: latin for latin, cyrillic in _LATIN_CYRILLIC.items()},
    **_GREEK_LATIN,
}
"""Letters that look the same in another script, after the confusables of UTS #39."""

_BOTH_WAYS = (
    ("rn", "m"), ("cl", "d"), ("vv", "w"), ("l", "1"), ("O", "0"), ("S", "5"), ("B", "8"),
    ("e", "c"), ("h", "b"), ("I", "l"), ("о", "0"), ("з", "3"), ("б", "6"), ("ш", "щ"), ("н", "п"),
    ("и", "н"),
)  # fmt: skip
OCR: Mapping[str, str] = {
    **{right: left for left, right in reversed(_BOTH_WAYS) if not right.isdigit()},
    **dict(reversed(_BOTH_WAYS)),
}
"""What OCR reads for what, in Latin and Cyrillic print."""
