"""Entries that text passes through while it is merged, and seldom ends in.

Every symbol that BPE makes is merged further or is a token in the end, so it lies in the tree of
merges of one token. That tree depends on the token alone: merges inside its bytes are done in the
order of their ranks, and those across its ends are never done, or it would not be the token. So
the uses of every entry follow from how often each token occurs, and no text is merged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.bench.model import Merging

Join = Callable[[Any, Any], tuple[int, Any] | None]


@dataclass(frozen=True, kw_only=True)
class Uses:
    """How often the texts made one entry."""

    final: int
    """Times that it is a token."""
    intermediate: int
    """Times that it was merged further."""

    @property
    def final_share(self) -> float:
        """Share of its uses in which it is a token in the end."""
        return self.final / (self.final + self.intermediate)


def uses(rules: Merging, finals: Mapping[int, int]) -> dict[int, Uses]:
    """Return the uses of every entry made by merging that the texts made at least once.

    `finals` is how often each id is a token. Entries that merging their own symbols does not
    give are left out: an encoder looks them up whole.

    >>> ranks = {"ab": 3, "abc": 4}
    >>> join = lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None
    >>> rules = Merging(entries=lambda: ((i, token) for token, i in ranks.items()), join=join)
    >>> uses(rules, {4: 9, 3: 1})
    {3: Uses(final=1, intermediate=9), 4: Uses(final=9, intermediate=0)}
    >>> uses(rules, {4: 9})
    {4: Uses(final=9, intermediate=0), 3: Uses(final=0, intermediate=9)}
    """
    made: Counter[Any] = Counter()
    names: dict[Any, int] = {}
    unseen: list[tuple[int, Sequence[Any]]] = []
    for i, symbols in rules.entries():
        if len(symbols) < 2:
            continue
        if not finals.get(i, 0):
            unseen.append((i, symbols))
        elif nodes := tree(symbols, rules.join):
            *inner, root = nodes
            names[root] = i
            for symbol in inner:
                made[symbol] += finals[i]
    for i, symbols in unseen:
        # bytes are joined to bytes, so most of what no tree went through need not be merged
        if isinstance(symbols[0], bytes) and b"".join(symbols) not in made:
            continue
        if nodes := tree(symbols, rules.join):
            names[nodes[-1]] = i
    return {
        i: Uses(final=finals.get(i, 0), intermediate=made[symbol])
        for symbol, i in names.items()
        if finals.get(i, 0) or made[symbol]
    }


def tree(symbols: Sequence[Any], join: Join) -> list[Any] | None:
    """Return the symbols that merging makes on the way to one, which is last; None if it does not.

    >>> ranks = {"ab": 3, "cd": 4, "abcd": 5}
    >>> join = lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None
    >>> tree("abcd", join), tree("abc", join)
    (['ab', 'cd', 'abcd'], None)
    """
    parts, made = list(symbols), []
    pairs = [join(left, right) for left, right in zip(parts, parts[1:], strict=False)]
    while len(parts) > 1:
        known = [(pair[0], at) for at, pair in enumerate(pairs) if pair is not None]
        if not known:
            return None
        _, at = min(known)
        _, symbol = pairs[at] or (0, None)
        made.append(symbol)
        parts[at : at + 2] = [symbol]
        del pairs[at]
        if at:
            pairs[at - 1] = join(parts[at - 1], symbol)
        if at < len(pairs):
            pairs[at] = join(symbol, parts[at + 1])
    return made
