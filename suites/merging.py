"""Which entries byte-level BPE reaches by merging their own bytes.

An encoder that looks a whole piece up before it merges can emit entries that merging alone never
builds. In a model trained by merging, every entry is reached; one that is not was put there by
hand or comes from another vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping


def merge(token: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Merge the bytes of a token, always the leftmost pair of lowest rank, to the end.

    >>> merge(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5})
    [b'abc']
    >>> merge(b"abc", {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"abc": 4})
    [b'abc']
    >>> merge(b"abab", {b"a": 0, b"b": 1, b"ba": 2, b"ab": 3, b"abab": 4})
    [b'a', b'ba', b'b']
    """
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 1:
        at, best = -1, 1 << 62
        for i in range(len(parts) - 1):
            rank = ranks.get(parts[i] + parts[i + 1])
            if rank is not None and rank < best:
                at, best = i, rank
        if at < 0:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def not_reached(ranks: Mapping[bytes, int]) -> list[bytes]:
    """Return the entries that merging their own bytes does not give, by rank.

    >>> not_reached({b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"cab": 5, b"bcb": 6, b"aca": 7})
    [b'aca']
    """
    odd = [token for token in ranks if len(token) > 1 and len(merge(token, ranks)) > 1]
    return sorted(odd, key=lambda token: ranks[token])
