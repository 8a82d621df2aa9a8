"""Where two texts differ: spots, found by walking along both.

Made for a text and its round trip, which agree almost everywhere: equal stretches are compared
as slices, and only around a difference does it look for the place where both go on alike. It is
no minimal edit script; a spot may hold a few characters that are equal.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import NamedTuple

WINDOWS = (16, 128, 1 << 62)
"""How far ahead both texts go on alike, tried in this order."""

GRAM = 3
"""Characters that must agree before texts are taken to go on alike."""


class Spot(NamedTuple):
    """``before[start:end]`` came back as ``after[to_start:to_end]``."""

    start: int
    end: int
    to_start: int
    to_end: int


def spots(before: str, after: str) -> list[Spot]:
    """Return all differing stretches, in order; `parts` splits one that holds equal characters.

    >>> spots("Das Café ist zu.", "das Cafe ist zu")
    [Spot(start=0, end=1, to_start=0, to_end=1), Spot(start=7, end=8, to_start=7, to_end=8), Spot(start=15, end=16, to_start=15, to_end=15)]
    >>> spots("same", "same")
    []
    """
    tail = _common_tail(before, after)
    a, b = before[: len(before) - tail], after[: len(after) - tail]
    found: list[Spot] = []
    i = j = 0
    while True:
        same = _common_head(a, i, b, j)
        i, j = i + same, j + same
        if i == len(a) and j == len(b):
            return found
        to_i, to_j = _go_on(a, i, b, j)
        found.append(Spot(i, to_i, j, to_j))
        i, j = to_i, to_j


def _common_head(a: str, i: int, b: str, j: int) -> int:
    """Return how many characters agree from i and j on."""
    limit = min(len(a) - i, len(b) - j)
    if a[i : i + limit] == b[j : j + limit]:
        return limit
    low, high = 0, limit  # they agree for `low` characters, and do not for `high`
    while high - low > 1:
        middle = (low + high) // 2
        if a[i + low : i + middle] == b[j + low : j + middle]:
            low = middle
        else:
            high = middle
    return low


def _common_tail(a: str, b: str) -> int:
    limit = min(len(a), len(b))
    size = 0
    while size < limit and a[-size - 1] == b[-size - 1]:
        size += 1
    return size


def _go_on(a: str, i: int, b: str, j: int) -> tuple[int, int]:
    """Return the nearest places at which both go on with the same few characters."""
    for window in WINDOWS:
        place: dict[str, int] = {}
        for ahead in range(min(window, len(b) - j - GRAM + 1)):
            place.setdefault(b[j + ahead : j + ahead + GRAM], ahead)
        best: tuple[int, int] | None = None
        for ahead in range(min(window, len(a) - i - GRAM + 1)):
            if best is not None and ahead >= sum(best):
                break
            other = place.get(a[i + ahead : i + ahead + GRAM])
            if other is not None and (best is None or ahead + other < sum(best)):
                best = ahead, other
        if best is not None:
            return i + best[0], j + best[1]
        if window >= max(len(a) - i, len(b) - j):
            break
    return len(a), len(b)


def parts(spot: Spot, before: str, after: str) -> list[Spot]:
    """Split a spot where single characters inside it agree.

    >>> parts(Spot(0, 3, 0, 3), "a-b", "A-B")
    [Spot(start=0, end=1, to_start=0, to_end=1), Spot(start=2, end=3, to_start=2, to_end=3)]
    """
    x, y = before[spot.start : spot.end], after[spot.to_start : spot.to_end]
    if len(x) < 2 or not y or len(x) * len(y) > 10_000:
        return [spot]
    return [
        Spot(spot.start + start, spot.start + end, spot.to_start + to_start, spot.to_start + to_end)
        for start, end, to_start, to_end in _opcodes(x, y)
    ]


@lru_cache(maxsize=1 << 14)
def _opcodes(x: str, y: str) -> tuple[tuple[int, int, int, int], ...]:
    matcher = difflib.SequenceMatcher(None, x, y, autojunk=False)
    return tuple(code[1:] for code in matcher.get_opcodes() if code[0] != "equal")
