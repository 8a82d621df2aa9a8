"""White space inside a text that appears, vanishes or changes, counted as lost bytes.

White space at the ends of a text does not count: models add one leading space and trim the rest.
Inside, each character that vanished or became another is lost at its own UTF-8 length, and one
that appeared at its length. Runs of white space are paired by what stands between them: the same
words, the same letters, or letters that are the same apart from case, marks and compatibility
forms. Where not even those agree, the characters of the whole text are compared as multisets.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

WHITE_SPACE_CAUSES = ("spacing", "line_ends", "indentation")
LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_ZERO_WIDTH = "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_SPACE_RUN = re.compile(r"\s+")
_RUN = re.compile(rf"([\s{_ZERO_WIDTH}]+)")
_NO_SPACE = re.compile(rf"[^\S ]|[{_ZERO_WIDTH}]")
"""White space other than the plain space, and characters that may turn into it."""

Runs = dict[int, str]
"""Runs of white space by the number of letters before them."""


@dataclass(frozen=True, kw_only=True)
class SpaceLoss:
    """Bytes of white space lost from one text, by cause."""

    lost: Mapping[str, int] = field(default_factory=dict)
    converted: int = 0
    """Of `spacing`, the bytes of zero-width characters that became white space."""


NO_SPACE_LOSS = SpaceLoss()


def white_space_loss(before: str, after: str, *, gaps: bool = False) -> SpaceLoss:
    r"""Return the white space that one text lost on its round trip.

    `gaps` says that parts were taken out of both texts, so that a run of spaces may replace two.

    >>> white_space_loss("a b\n    c", " a b c").lost == {"line_ends": 1, "indentation": 3}
    True
    >>> dict(white_space_loss("it is ok", "it is  ok ").lost)
    {'spacing': 1}
    >>> dict(white_space_loss("a", " a").lost)
    {}
    >>> dict(white_space_loss("Ab\u200bc", "ab c").lost)
    {'spacing': 3}
    """
    x, y = before.strip(), after.strip()
    if x == y:
        return NO_SPACE_LOSS
    if _NO_SPACE.search(x) is None and _NO_SPACE.search(y) is None:
        n_bytes = _spaces_lost(x, y, gaps)
        return SpaceLoss(lost={"spacing": n_bytes}) if n_bytes else NO_SPACE_LOSS
    total: Counter[str] = Counter()
    n_converted = 0
    for run, other in _paired(x, y, gaps):
        if run != other and not (gaps and _both_spaces(run, other)):
            lost, converted = _compared(run, other)
            n_converted += converted
            for cause, n_bytes in lost:
                total[cause] += n_bytes
    return SpaceLoss(lost=total, converted=n_converted)


def _spaces_lost(x: str, y: str, gaps: bool) -> int:
    """Return what the pairs of runs come to where every run is of plain spaces, as in most texts.

    >>> _spaces_lost("a b c", "ab  c", False), _spaces_lost("a b c", "ab  c", True)
    (2, 1)
    """
    mine, theirs = x.split(" "), y.split(" ")
    if "".join(mine) != "".join(theirs):
        mine, theirs = x.translate(_SKELETON).split(" "), y.translate(_SKELETON).split(" ")
        if "".join(mine) != "".join(theirs):
            return 0 if gaps else abs(len(mine) - len(theirs))
    a, b = ([*accumulate(map(len, words[:-1]))] for words in (mine, theirs))
    here, there = set(a), set(b)
    if len(here) == len(a) and len(there) == len(b):
        return len(here ^ there)
    runs, others = Counter(a), Counter(b)
    places = here ^ there if gaps else here | there
    return sum(abs(runs[at] - others[at]) for at in places)


def _both_spaces(run: str, other: str) -> bool:
    return bool(run and other) and not run.strip(" ") and not other.strip(" ")


def _paired(x: str, y: str, gaps: bool) -> Iterator[tuple[str, str]]:
    """Yield the runs that stand in the same place of both texts."""
    if x.split() == y.split():
        yield from zip(_SPACE_RUN.findall(x), _SPACE_RUN.findall(y), strict=True)
        return
    mine, theirs = _RUN.split(x), _RUN.split(y)
    for letters in (_as_they_are, _skeletons):
        a, b = letters(mine[::2]), letters(theirs[::2])
        if "".join(a) == "".join(b):
            yield from _at_the_same_place(_runs(a, mine[1::2]), _runs(b, theirs[1::2]))
            return
    whole, others = "".join(mine[1::2]), "".join(theirs[1::2])
    if gaps:
        whole, others = whole.replace(" ", ""), others.replace(" ", "")
    yield whole, others


def _at_the_same_place(mine: Runs, theirs: Runs) -> Iterator[tuple[str, str]]:
    if mine == theirs:
        return
    for at, run in mine.items():
        yield run, theirs.get(at, "")
    for at, other in theirs.items():
        if at not in mine:
            yield "", other


def _runs(letters: Sequence[str], runs: Sequence[str]) -> Runs:
    ends = list(accumulate(map(len, letters)))
    found: Runs = {}
    for end, run in zip(ends, runs, strict=False):  # two runs may meet where letters vanish
        found[end] = found.get(end, "") + run
    return found


def _as_they_are(words: Sequence[str]) -> Sequence[str]:
    return words


def _skeletons(words: Sequence[str]) -> Sequence[str]:
    return [word.translate(_SKELETON) for word in words]


class _Skeleton(dict[int, str]):
    """A table for `str.translate`: each character without case, marks and compatibility forms.

    Characters can be taken one by one: what normalization reorders are marks, which go.

    >>> "É ﬁ".translate(_SKELETON) == "e fi"
    True
    """

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code).casefold()).casefold()
        self[code] = "".join(c for c in decomposed if unicodedata.category(c)[0] not in "MZ")
        return self[code]


_SKELETON = _Skeleton({ord(" "): " "})


@lru_cache(maxsize=1 << 14)
def _compared(run: str, other: str) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the bytes by cause that one run lost, and those of zero-width characters among them.

    Changed and vanished characters count first, then those that appeared.
    """
    if unicodedata.normalize("NFC", run) == unicodedata.normalize("NFC", other):
        return (), 0
    lost: Counter[str] = Counter()
    missing = sorted((Counter(run) - Counter(other)).elements())
    extra = [c for c in sorted((Counter(other) - Counter(run)).elements()) if c.isspace()]
    spaces = [c for c in missing if c.isspace()]
    if not missing and not extra and len(run) == len(other):  # in another order
        spaces = [a for a, b in zip(run, other, strict=True) if a != b and a.isspace()]
    converted = [c for c in missing if not c.isspace()][: len(extra)]
    for character in spaces:
        lost[_cause(character, run)] += _size(character)
    for character in extra[len(converted) + len(spaces) :]:
        lost[_cause(character, other)] += _size(character)
    n_bytes = sum(map(_size, converted))
    lost["spacing"] += n_bytes
    return tuple((cause, n) for cause, n in lost.items() if n), n_bytes


def _cause(character: str, run: str) -> str:
    if character in LINE_BREAKS:
        return "line_ends"
    return "indentation" if LINE_BREAKS & set(run) else "spacing"


def _size(character: str) -> int:
    return len(character.encode("utf-8", "surrogatepass"))
