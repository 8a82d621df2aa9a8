"""Which entries BPE reaches by joining what their own content starts from.

An encoder that looks a whole piece up before it merges can emit entries that merging alone never
builds. In a model trained by merging, every entry is reached; one that is not was put there by
hand or comes from another vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tokbench.bench.model import Merging

Join = Callable[[Any, Any], tuple[int, Any] | None]


def merge(symbols: Sequence[Any], join: Join) -> list[Any]:
    """Join symbols, always the leftmost pair of lowest rank, to the end.

    >>> ranks = {"ba": 2, "ab": 3, "abab": 4}
    >>> join = lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None
    >>> merge("abab", join), merge("ab", join)
    (['a', 'ba', 'b'], ['ab'])
    """
    parts = list(symbols)
    pairs = [join(left, right) for left, right in zip(parts, parts[1:], strict=False)]
    while True:
        at, best = -1, None
        for i, pair in enumerate(pairs):
            if pair is not None and (best is None or pair[0] < best[0]):
                at, best = i, pair
        if best is None:
            return parts
        parts[at : at + 2] = [best[1]]
        del pairs[at]
        if at:
            pairs[at - 1] = join(parts[at - 1], parts[at])
        if at < len(pairs):
            pairs[at] = join(parts[at], parts[at + 1])


def not_reached(merging: Merging) -> tuple[list[int], int]:
    """Return the ids of entries that merging their own symbols does not give, and of how many.

    >>> ranks = {"ab": 3, "bc": 4, "cab": 5, "bcb": 6, "aca": 7}
    >>> join = lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None
    >>> not_reached(Merging(entries=lambda: ((i, token) for token, i in ranks.items()), join=join))
    ([7], 5)
    """
    odd, of = [], 0
    for i, symbols in merging.entries():
        of += 1
        if len(symbols) > 1 and len(merge(symbols, merging.join)) > 1:
            odd.append(i)
    return sorted(odd), of
