"""How an entry of a BPE vocabulary was built: the pairs that were merged, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.bench.markup import visible
from tokbench.bench.model import Merging


@dataclass(frozen=True, kw_only=True)
class Joined:
    """One merge: two adjacent symbols become one."""

    rank: int
    """Rank of the merge; lower ranks were learned earlier."""
    left: Any
    right: Any
    symbols: tuple[Any, ...]
    """All symbols of the entry after the step."""


def lineage(rules: Merging, symbols: Sequence[Any]) -> tuple[Joined, ...]:
    """Return the steps from an entry's first symbols to what no merge joins any further.

    Of the pairs side by side, the one of the lowest rank is joined, the leftmost of equal ones.
    An entry that its own merges do not reach ends in more than one symbol.

    >>> ranks = {"ab": 0, "abc": 1}
    >>> rules = Merging(
    ...     entries=lambda: [],
    ...     join=lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None,
    ... )
    >>> [step.symbols for step in lineage(rules, "abc")]
    [('ab', 'c'), ('abc',)]
    """
    now = tuple(symbols)
    steps: list[Joined] = []
    while True:
        pairs = [
            (rules.join(a, b), at) for at, (a, b) in enumerate(zip(now, now[1:], strict=False))
        ]
        known = [(joined[0], at, joined[1]) for joined, at in pairs if joined is not None]
        if not known:
            return tuple(steps)
        rank, at, symbol = min(known, key=lambda one: one[:2])
        left, right = now[at : at + 2]
        now = (*now[:at], symbol, *now[at + 2 :])
        steps.append(Joined(rank=rank, left=left, right=right, symbols=now))


def lineages(rules: Merging, ids: Iterable[int]) -> Mapping[int, tuple[Joined, ...]]:
    """Return the steps of each entry; entries that are not made by merging are left out."""
    wanted = set(ids)
    return {id: lineage(rules, symbols) for id, symbols in rules.entries() if id in wanted}


def written(step: Joined) -> str:
    """Write a step in one line.

    >>> written(Joined(rank=7, left=b"a", right=b"b", symbols=(b"ab", b"c")))
    'a + b (merge 7) → ab c'
    """
    left, right = shown(step.left), shown(step.right)
    return f"{left} + {right} (merge {step.rank:,}) → {' '.join(map(shown, step.symbols))}"


def shown(symbol: Any) -> str:
    r"""Write a symbol; bytes of incomplete characters as ``\xNN``.

    >>> shown(b"\xc3"), shown(" a")
    ('\\xC3', '␣a')
    """
    if not isinstance(symbol, bytes):
        return visible(str(symbol))
    text = symbol.decode("utf-8", "surrogateescape")
    return "".join(
        f"\\x{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text
    )
