"""Where words and graphemes begin, by the rules of UAX #29 over arrays of code points.

Classes of code points are those of the `regex` package, so they belong to the Unicode version that
it names. The rules look at neighbours, so each is one comparison of an array with itself, moved.
Results are those of `regex`: ``(?V1w)\\b`` for words and ``\\X`` for graphemes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray

CodePoints = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

_WORD = (
    "CR", "LF", "Newline", "Extend", "ZWJ", "Format", "Regional_Indicator", "Katakana",
    "Hebrew_Letter", "ALetter", "Single_Quote", "Double_Quote", "MidNumLet", "MidLetter", "MidNum",
    "Numeric", "ExtendNumLet", "WSegSpace",
)  # fmt: skip
_CLASS = {name: number for number, name in enumerate(_WORD, start=1)}
_LETTERS = ("ALetter", "Hebrew_Letter")
_JOINED_BY_LOW_LINE = (*_LETTERS, "Numeric", "Katakana", "ExtendNumLet")


def word_starts(points: CodePoints) -> IntArray:
    """Return where the pieces between word boundaries begin; the first is 0.

    >>> word_starts(np.array([ord(c) for c in "can't 3.5"], np.uint32)).tolist()
    [0, 5, 6]
    """
    if not len(points):
        return np.zeros(0, np.int64)
    classes = _word_classes()[points]
    place = np.flatnonzero(~_ignored(classes))
    seen = _what_stands(classes[place])
    joined = np.zeros(len(seen), np.bool_)
    joined[1:] = _word_pairs()[seen[:-1].astype(np.int64) * _N_WORD + seen[1:]]
    _join_across(joined, seen, "Letter", _LETTERS)
    _join_across(joined, seen, "Number", ("Numeric",))
    _join_across(joined, seen, "Hebrew", ("Hebrew_Letter",))
    _join_flags(joined, seen)
    beside = np.diff(place, prepend=-2) == 1
    _join_spaces(joined, seen, beside)
    _join_pictures(joined, points, classes, place)
    return place[~joined]


def _ignored(classes: npt.NDArray[np.uint8]) -> Flags:
    """Which characters always belong to the one before them (WB4)."""
    marks = _of(("Extend", "ZWJ", "Format"))[classes]
    marks[0] = False
    marks[1:] &= ~_of(("CR", "LF", "Newline"))[classes[:-1]]
    return marks


def _what_stands(classes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Marks with nothing before them are like any other character."""
    return np.where(_of(("Extend", "ZWJ", "Format"))[classes], np.uint8(0), classes)


_ACROSS = {
    "Letter": ("MidLetter", "MidNumLet", "Single_Quote"),
    "Number": ("MidNum", "MidNumLet", "Single_Quote"),
    "Hebrew": ("Double_Quote",),
}


def _join_across(
    joined: Flags, seen: npt.NDArray[np.uint8], between: str, sides: tuple[str, ...]
) -> None:
    """Join three characters of which the middle one holds two letters or digits together."""
    middle = 1 + np.flatnonzero(_of(_ACROSS[between])[seen[1:-1]])
    side = _of(sides)
    middle = middle[side[seen[middle - 1]] & side[seen[middle + 1]]]
    joined[middle] = True
    joined[middle + 1] = True


def _join_flags(joined: Flags, seen: npt.NDArray[np.uint8]) -> None:
    """Join every second regional indicator of a row to the one before it (WB15, WB16)."""
    flags = seen == _CLASS["Regional_Indicator"]
    if flags.any():
        joined |= flags & (_in_row(flags) % 2 == 0)


def _in_row(flags: Flags) -> IntArray:
    """Return for each true value how many of them stand in a row up to it."""
    place = np.arange(1, len(flags) + 1)
    row: IntArray = place - np.maximum.accumulate(np.where(flags, 0, place))
    return row


def _join_spaces(joined: Flags, seen: npt.NDArray[np.uint8], beside: Flags) -> None:
    space = seen == _CLASS["WSegSpace"]
    joined[1:] |= space[1:] & space[:-1] & beside[1:]


def _join_pictures(
    joined: Flags, points: CodePoints, classes: npt.NDArray[np.uint8], place: IntArray
) -> None:
    """Join a pictograph to the joiner right before it (WB3c); some pictographs are letters, too."""
    joiners = np.flatnonzero(classes[:-1] == _CLASS["ZWJ"])
    after = joiners[_pictographs()[points[joiners + 1]]] + 1
    joined[np.searchsorted(place, after)] = True


_N_WORD = len(_WORD) + 1


@cache
def _word_pairs() -> Flags:
    """Which two classes are never separated (WB3, WB5, WB7a to WB10, WB13)."""
    pairs = {("CR", "LF"), ("Hebrew_Letter", "Single_Quote"), ("Numeric", "Numeric")}
    pairs |= set(product(_LETTERS, (*_LETTERS, "Numeric"))) | set(product(("Numeric",), _LETTERS))
    pairs |= {("Katakana", "Katakana")} | set(product(_JOINED_BY_LOW_LINE, ("ExtendNumLet",)))
    pairs |= set(product(("ExtendNumLet",), _JOINED_BY_LOW_LINE))
    table = np.zeros(_N_WORD * _N_WORD, np.bool_)
    for first, second in pairs:
        table[_CLASS[first] * _N_WORD + _CLASS[second]] = True
    return table


@cache
def _of(names: tuple[str, ...]) -> Flags:
    table = np.zeros(_N_WORD, np.bool_)
    table[[_CLASS[name] for name in names]] = True
    return table


@cache
def _word_classes() -> npt.NDArray[np.uint8]:
    return mark([rf"\p{{Word_Break={name}}}" for name in _WORD])


@cache
def _pictographs() -> Flags:
    return mark([r"\p{Extended_Pictographic}"]) > 0


_GRAPHEME = (
    "Control", "CR", "LF", "Extend", "ZWJ", "SpacingMark", "Prepend", "Regional_Indicator",
    "L", "V", "T", "LV", "LVT",
)  # fmt: skip
_CLUSTER = {name: number for number, name in enumerate(_GRAPHEME, start=1)}
_N_CLUSTER = len(_GRAPHEME) + 1
_HANGUL = {"L": ("L", "V", "LV", "LVT"), "LV": ("V", "T"), "V": ("V", "T"), "LVT": "T", "T": "T"}


def cluster_starts(points: CodePoints) -> Flags:
    """Return which characters begin an extended grapheme cluster; shape (points,).

    Texts joined by a line feed have the clusters that they have alone.

    >>> cluster_starts(np.array([ord(c) for c in "e\u0301a"], np.uint32)).tolist()
    [True, False, True]
    """
    joined = np.zeros(len(points), np.bool_)
    if not len(points):
        return joined
    classes = _cluster_classes()[points]
    joined[1:] = _cluster_pairs()[classes[:-1].astype(np.int64) * _N_CLUSTER + classes[1:]]
    _join_conjuncts(joined, points)
    _join_picture_sequences(joined, points, classes)
    flags = classes == _CLUSTER["Regional_Indicator"]
    if flags.any():  # GB12, GB13
        joined |= flags & (_in_row(flags) % 2 == 0)
    joined[0] = False
    return ~joined


def _join_conjuncts(joined: Flags, points: CodePoints) -> None:
    """Join a consonant to what has a virama, with nothing but marks between (GB9c).

    `regex` does not ask whether a consonant stands before the virama, as the rule has it.
    """
    classes = _conjunct_classes()[points]
    viramas = np.flatnonzero(classes == _VIRAMA)
    if not len(viramas):
        return
    bases = np.flatnonzero((classes == 0) | (classes == _CONSONANT))
    seen = np.searchsorted(viramas, bases)  # viramas before each base
    linked = np.diff(seen, prepend=0) > 0
    joined[bases[linked & (classes[bases] == _CONSONANT)]] = True


def _join_picture_sequences(
    joined: Flags, points: CodePoints, classes: npt.NDArray[np.uint8]
) -> None:
    """Join a pictograph to one before it, with marks and one joiner between (GB11)."""
    joiners = np.flatnonzero(classes[:-1] == _CLUSTER["ZWJ"])
    joiners = joiners[_pictographs()[points[joiners + 1]]]
    if not len(joiners):
        return
    bases = np.flatnonzero(classes != _CLUSTER["Extend"])
    place = np.searchsorted(bases, joiners) - 1
    before = bases[np.maximum(place, 0)]
    joined[joiners[(place >= 0) & _pictographs()[points[before]]] + 1] = True


@cache
def _cluster_pairs() -> Flags:
    """Which two classes are one cluster (GB3 to GB9b)."""
    pairs = {("CR", "LF")} | {(a, b) for a, some in _HANGUL.items() for b in some}
    table = np.zeros((_N_CLUSTER, _N_CLUSTER), np.bool_)
    for first, second in pairs:
        table[_CLUSTER[first], _CLUSTER[second]] = True
    breaking = [_CLUSTER[name] for name in ("Control", "CR", "LF")]
    open_ = np.ones(_N_CLUSTER, np.bool_)
    open_[breaking] = False
    for name in ("Extend", "ZWJ", "SpacingMark"):
        table[open_, _CLUSTER[name]] = True
    table[_CLUSTER["Prepend"], open_] = True
    return table.ravel()


@cache
def _cluster_classes() -> npt.NDArray[np.uint8]:
    return mark([rf"\p{{Grapheme_Cluster_Break={name}}}" for name in _GRAPHEME])


_VIRAMA, _CONSONANT = 1, 3


@cache
def _conjunct_classes() -> npt.NDArray[np.uint8]:
    """Classes of GB9c; all 0 where this version of `regex` does not join consonants."""
    import regex

    if len(regex.findall(r"\X", "क्त")) > 1:
        return np.zeros(0x110000, np.uint8)
    names = ("Linker", "Extend", "Consonant")
    return mark([rf"\p{{Indic_Conjunct_Break={name}}}" for name in names])


def mark(classes: Sequence[str], points: CodePoints | None = None) -> npt.NDArray[np.uint8]:
    """Return for each code point (all of them by default) the last class that has it, from 1, or 0."""
    import regex

    points = np.arange(0x110000, dtype="<u4") if points is None else points
    text = points.tobytes().decode("utf-32-le", "surrogatepass")
    marks = np.zeros(len(points), np.uint8)
    for number, one in enumerate(classes, start=1):
        for run in regex.finditer(f"{one}+", text):
            marks[run.start() : run.end()] = number
    return marks
