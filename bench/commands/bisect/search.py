"""The search for the first version that differs: pure, so tests feed it made-up outcomes.

As `git bisect`, it takes for granted that what changed once stays changed. A version that cannot be
tried is skipped, and its neighbours are tried in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

VersionOutcome = Literal["same", "changed", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Search:
    """The result: the first version that changed, the last that did not, and what is unknown.

    `first` is None where even the last version is the same, or could not be tried.
    """

    last_same: str
    first: str | None
    unknown: tuple[str, ...] = ()
    """Skipped versions between the two: one of them may have changed already."""


def search(versions: Sequence[str], outcome: Callable[[str], VersionOutcome]) -> Search:
    """Find the first version that changed; the first of `versions` is the one to compare with.

    >>> search(list("abcdef"), lambda v: "changed" if v >= "d" else "same")
    Search(last_same='c', first='d', unknown=())
    >>> search(list("abcd"), lambda v: "skipped" if v in "bc" else "changed")
    Search(last_same='a', first='d', unknown=('b', 'c'))
    """
    low, high = 0, len(versions) - 1
    if outcome(versions[high]) != "changed":
        return Search(last_same=versions[low], first=None)
    skipped: set[int] = set()
    while untried := [i for i in range(low + 1, high) if i not in skipped]:
        middle = min(untried, key=lambda i: abs(2 * i - low - high))
        found = outcome(versions[middle])
        if found == "same":
            low = middle
        elif found == "changed":
            high = middle
        else:
            skipped.add(middle)
    unknown = tuple(versions[i] for i in sorted(skipped) if low < i < high)
    return Search(last_same=versions[low], first=versions[high], unknown=unknown)
