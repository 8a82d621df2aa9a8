"""Where words and graphemes begin, by the rules of UAX #29 over arrays of code points.

Classes of code points are those of the `regex` package, so they belong to the Unicode version that
it names. The rules look at neighbours, so each is one comparison of an array with itself, moved.
Results are those of `regex`: ``(?V1w)\\b`` for words and ``\\X`` for graphemes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray

CodePoints = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

_WORD = (
    "CR", "LF", "Regional_Indicator", "Katakana", "Hebrew_Letter", "ALetter", "Single_Quote",
    "Double_Quote", "MidNumLet", "MidLetter", "MidNum", "Numeric", "ExtendNumLet", "WSegSpace",
)  # fmt: skip
_CLASS = {name: number for number, name in enumerate(_WORD, start=1)}
_LETTERS = ("ALetter", "Hebrew_Letter")
_JOINED_BY_LOW_LINE = (*_LETTERS, "Numeric", "Katakana", "ExtendNumLet")

# A fact is a byte for each character: its class in the low half, and four flags.
_CLASS_BITS = 0x0F
_MARK, ALPHANUMERIC, WHITE_SPACE, _LINE_END = 0x10, 0x20, 0x40, 0x80
_FLAGS = {
    _MARK: r"[\p{Word_Break=Extend}\p{Word_Break=ZWJ}\p{Word_Break=Format}]",
    ALPHANUMERIC: r"[\p{L}\p{N}]",
    WHITE_SPACE: r"\p{White_Space}",
    _LINE_END: r"[\p{Word_Break=CR}\p{Word_Break=LF}\p{Word_Break=Newline}]",
}
Facts = npt.NDArray[np.uint8]

# What two neighbours are to each other: joined, or one side of three that may be joined.
_JOINED, _SPACES = 0x01, 0x80
_ACROSS = {  # the left pair has this bit, the right pair the next one
    0x02: (("MidLetter", "MidNumLet", "Single_Quote"), _LETTERS),
    0x08: (("MidNum", "MidNumLet", "Single_Quote"), ("Numeric",)),
    0x20: (("Double_Quote",), ("Hebrew_Letter",)),
}
_LEFT = 0x02 | 0x08 | 0x20
_JOINER = 0x200D


def word_facts(points: CodePoints) -> Facts:
    """Return for each character its class and flags, among them ALPHANUMERIC and WHITE_SPACE."""
    facts: Facts = _word_facts().take(points)
    return facts


def word_starts(points: CodePoints, facts: Facts | None = None) -> IntArray:
    """Return where the pieces between word boundaries begin; the first is 0.

    `facts` are those of `word_facts`, where they are known.

    >>> word_starts(np.array([ord(c) for c in "can't 3.5"], np.uint32)).tolist()
    [0, 5, 6]
    """
    if not len(points):
        return np.zeros(0, np.int64)
    facts = word_facts(points) if facts is None else facts
    place = _without_marks(facts)
    seen: Facts = facts & np.uint8(_CLASS_BITS)
    if place is not None:
        seen = seen.take(place)
    links = _word_pairs().take((seen[:-1] << 4) | seen[1:])
    joined = np.zeros(len(seen), np.bool_)
    joined[1:] = links & (_JOINED if place is not None else _JOINED | _SPACES)
    three = (links[:-1] & (links[1:] >> 1) & _LEFT) != 0
    joined[1:-1] |= three
    joined[2:] |= three
    _join_flags(joined, seen)
    if place is None:
        return np.flatnonzero(~joined)
    joined[1:] |= ((links & _SPACES) != 0) & (np.diff(place) == 1)
    _join_pictures(joined, points, place)
    return place.take(np.flatnonzero(~joined))


def _without_marks(facts: Facts) -> IntArray | None:
    """Return the characters that do not belong to the one before them (WB4); None: all."""
    marks = (facts & _MARK) != 0
    if not marks.any():
        return None
    marks[0] = False
    marks[1:] &= facts[:-1] < _LINE_END
    return np.flatnonzero(~marks)


def _join_flags(joined: Flags, seen: Facts) -> None:
    """Join every second regional indicator of a row to the one before it (WB15, WB16)."""
    flags = seen == _CLASS["Regional_Indicator"]
    if flags.any():
        joined |= flags & (_in_row(flags) % 2 == 0)


def _in_row(flags: Flags) -> IntArray:
    """Return for each true value how many of them stand in a row up to it."""
    place = np.arange(1, len(flags) + 1)
    row: IntArray = place - np.maximum.accumulate(np.where(flags, 0, place))
    return row


def _join_pictures(joined: Flags, points: CodePoints, place: IntArray) -> None:
    """Join a pictograph to the joiner right before it (WB3c); some pictographs are letters, too."""
    after = _pictographs_after_joiners(points)
    joined[np.searchsorted(place, after)] = True


def _pictographs_after_joiners(points: CodePoints) -> IntArray:
    after: IntArray = np.flatnonzero(points[:-1] == _JOINER) + 1
    return after[_pictographs()[points[after]]]


@cache
def _word_pairs() -> npt.NDArray[np.uint8]:
    """What two classes are to each other, by (first << 4 | second): bits of `_JOINED` and so on.

    Joined are WB3, WB5, WB7a, WB8 to WB10, WB13; spaces only where they touch (WB3d).
    """
    pairs = {("CR", "LF"), ("Hebrew_Letter", "Single_Quote"), ("Numeric", "Numeric")}
    pairs |= set(product(_LETTERS, (*_LETTERS, "Numeric"))) | set(product(("Numeric",), _LETTERS))
    pairs |= {("Katakana", "Katakana")} | set(product(_JOINED_BY_LOW_LINE, ("ExtendNumLet",)))
    pairs |= set(product(("ExtendNumLet",), _JOINED_BY_LOW_LINE))
    table = np.zeros((16, 16), np.uint8)
    _set(table, pairs, _JOINED)
    _set(table, {("WSegSpace", "WSegSpace")}, _SPACES)
    for bit, (middle, sides) in _ACROSS.items():
        _set(table, product(sides, middle), bit)
        _set(table, product(middle, sides), bit << 1)
    return table.ravel()


def _set(table: Facts, pairs: Iterable[tuple[str, str]], bit: int) -> None:
    for first, second in pairs:
        table[_CLASS[first], _CLASS[second]] |= bit


@cache
def _word_facts() -> Facts:
    facts = mark([rf"\p{{Word_Break={name}}}" for name in _WORD])
    for bit, members in _FLAGS.items():
        facts |= mark([members]) * np.uint8(bit)
    return facts


@cache
def _pictographs() -> Flags:
    return mark([r"\p{Extended_Pictographic}"]) > 0


_GRAPHEME = (
    "Control", "CR", "LF", "Extend", "ZWJ", "SpacingMark", "Prepend", "Regional_Indicator",
    "L", "V", "T", "LV", "LVT",
)  # fmt: skip
_CLUSTER = {name: number for number, name in enumerate(_GRAPHEME, start=1)}
_MAY_JOIN, _LINKER = 0x80, 0x40
_NEVER_ALONE = ("Control", "LF", "LV", "LVT")
"""Classes that join only what is of another class; syllables, say, only vowels and marks."""
_HANGUL = {"L": ("L", "V", "LV", "LVT"), "LV": ("V", "T"), "V": ("V", "T"), "LVT": "T", "T": "T"}


def may_join(points: CodePoints) -> Flags:
    """Return which characters can be in one cluster with a neighbour; no other text has any."""
    flags: Flags = _cluster_facts().take(points) >= _MAY_JOIN
    return flags


def cluster_starts(points: CodePoints) -> Flags:
    """Return which characters begin an extended grapheme cluster; shape (points,).

    Texts joined by a line feed have the clusters that they have alone.

    >>> cluster_starts(np.array([ord(c) for c in "e\u0301a"], np.uint32)).tolist()
    [True, False, True]
    """
    joined = np.zeros(len(points), np.bool_)
    if not len(points):
        return joined
    facts = _cluster_facts().take(points)
    classes: Facts = facts & np.uint8(_CLASS_BITS)
    joined[1:] = _cluster_pairs().take((classes[:-1] << 4) | classes[1:])
    if (facts & _LINKER).any():
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
    classes = _conjunct_classes().take(points)
    viramas = np.flatnonzero(classes == _VIRAMA)
    bases = np.flatnonzero((classes == 0) | (classes == _CONSONANT))
    seen = np.searchsorted(viramas, bases)  # viramas before each base
    linked = np.diff(seen, prepend=0) > 0
    joined[bases[linked & (classes[bases] == _CONSONANT)]] = True


def _join_picture_sequences(
    joined: Flags, points: CodePoints, classes: npt.NDArray[np.uint8]
) -> None:
    """Join a pictograph to one before it, with marks and one joiner between (GB11)."""
    joiners = _pictographs_after_joiners(points) - 1
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
    table = np.zeros((16, 16), np.bool_)
    for first, second in pairs:
        table[_CLUSTER[first], _CLUSTER[second]] = True
    breaking = [_CLUSTER[name] for name in ("Control", "CR", "LF")]
    open_ = np.ones(16, np.bool_)
    open_[breaking] = False
    for name in ("Extend", "ZWJ", "SpacingMark"):
        table[open_, _CLUSTER[name]] = True
    table[_CLUSTER["Prepend"], open_] = True
    return table.ravel()


@cache
def _cluster_facts() -> Facts:
    """The class of each character in the low half, and whether it may join or link."""
    facts = mark([rf"\p{{Grapheme_Cluster_Break={name}}}" for name in _GRAPHEME])
    joining = np.ones(16, np.bool_)
    joining[[0, *(_CLUSTER[name] for name in _NEVER_ALONE)]] = False
    facts |= joining[facts] * np.uint8(_MAY_JOIN)
    facts |= (_conjunct_classes() == _VIRAMA) * np.uint8(_LINKER | _MAY_JOIN)
    return facts


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
