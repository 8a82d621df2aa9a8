"""Ways to cut a piece with a given vocabulary, to be read.

A tokenizer is a vocabulary and a way to cut text with it. Here the vocabulary stays and the way
changes, so that a difference in tokens comes from the way alone (Uzan, Schmidt, Tanner and Pinter
2024, "Greed is All You Need"):

- `longest_match`: from the left, always the longest entry, as WordPiece does;
- `fewest_tokens`: the cut with the fewest entries (Hofmann, Schütze and Pierrehumbert 2022, FLOTA,
  and Schmidt et al. 2024, PathPiece, at inference);
- `merged`: the merges of BPE, of which each that could be made may be left out by chance
  (BPE-dropout; Provilkov, Emelianenko and Voita 2020).

`split_at_random` then cuts tokens into two entries each (StochasTok; Sims et al. 2025).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

Entries = Mapping[bytes, int]
"""The id of each entry, by its bytes."""


def longest_match(piece: bytes, entries: Entries, longest: int) -> list[int] | None:
    """Return the ids of the longest entries from the left; None where no entry fits.

    >>> entries = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bcc": 4}
    >>> longest_match(b"abcc", entries, longest=3)
    [3, 2, 2]
    """
    ids: list[int] = []
    at = 0
    while at < len(piece):
        for end in range(min(len(piece), at + longest), at, -1):
            if (found := entries.get(piece[at:end])) is not None:
                ids.append(found)
                at = end
                break
        else:
            return None
    return ids


def fewest_tokens(piece: bytes, entries: Entries, longest: int) -> list[int] | None:
    """Return the ids of the cut with the fewest entries; None where there is no cut.

    Of several such cuts, the one whose first entry is longest, then whose second is, and so on.

    >>> entries = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bcc": 4}
    >>> fewest_tokens(b"abcc", entries, longest=3)
    [0, 4]
    """
    never = len(piece) + 1
    # for each place: the tokens from there to the end, and where the first of them ends
    best: list[tuple[int, int]] = [(never, 0)] * len(piece) + [(0, 0)]
    for at in range(len(piece) - 1, -1, -1):
        for end in range(min(len(piece), at + longest), at, -1):
            if best[end][0] + 1 < best[at][0] and piece[at:end] in entries:
                best[at] = best[end][0] + 1, end
    if best[0][0] >= never:
        return None
    ids, at = [], 0
    while at < len(piece):
        end = best[at][1]
        ids.append(entries[piece[at:end]])
        at = end
    return ids


def merged(
    symbols: Sequence[Any],
    join: Callable[[Any, Any], tuple[int, Any] | None],
    *,
    dropout: float = 0.0,
    chance: random.Random | None = None,
) -> list[Any]:
    """Join symbols, lowest rank first and leftmost among equals, to the end.

    In each round every join that could be made is left out with probability `dropout`; where all
    of them are, the piece stays as it is.

    >>> ranks = {"ab": 0, "abc": 1}
    >>> join = lambda a, b: (ranks[a + b], a + b) if a + b in ranks else None
    >>> merged("abc", join), merged("abc", join, dropout=1.0, chance=random.Random(0))
    (['abc'], ['a', 'b', 'c'])
    """
    parts = list(symbols)
    while True:
        found = [
            (joined[0], at, joined[1])
            for at, (left, right) in enumerate(pairwise(parts))
            if (joined := join(left, right)) is not None
            and not (chance is not None and dropout and chance.random() < dropout)
        ]
        if not found:
            return parts
        _, at, symbol = min(found, key=lambda one: one[:2])
        parts[at : at + 2] = [symbol]


def split_at_random(
    ids: Sequence[int],
    rate: float,
    halves: Callable[[int], Sequence[tuple[int, int]]],
    chance: random.Random,
) -> list[int]:
    """Cut tokens into two entries each: `rate` × their number tries, each at a random token.

    A token that is no two entries stays; a half may be cut again.

    >>> halves = {3: [(0, 1)]}
    >>> split_at_random([3, 3], 0.5, lambda i: halves.get(i, []), random.Random(1))
    [0, 1, 3]
    """
    parts = list(ids)
    for _ in range(round(rate * len(parts))):
        at = chance.randrange(len(parts))
        if ways := halves(parts[at]):
            parts[at : at + 1] = chance.choice(ways)
    return parts
