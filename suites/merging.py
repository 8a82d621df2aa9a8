"""Entries of a byte-level BPE vocabulary that its own merges do not reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def merge_by_rank(content: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Merge neighbours of lowest rank, the first of equals, until none is in the vocabulary.

    >>> ranks = {b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5}
    >>> merge_by_rank(b"abc", ranks), merge_by_rank(b"ab", ranks)
    ([b'abc'], [b'ab'])
    """
    parts = [content[i : i + 1] for i in range(len(content))]
    none = len(ranks) + 1
    pairs = [ranks.get(a + b, none) for a, b in zip(parts, parts[1:], strict=False)]
    while pairs:
        lowest = min(pairs)
        if lowest == none:
            break
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        if at < len(pairs):
            pairs[at] = ranks.get(parts[at] + parts[at + 1], none)
        if at:
            pairs[at - 1] = ranks.get(parts[at - 1] + parts[at], none)
    return parts


def unreached(token_bytes: Sequence[bytes | None], left_out: Iterable[int] = ()) -> list[int]:
    """Return the ids whose bytes, merged by rank, do not become the id; ids are the ranks.

    The whole-piece shortcut of encoders (a pre-token that is an entry is that entry) is not
    taken: what is found here occurs in text only as a whole pre-token.

    >>> unreached([b"a", b"b", b"c", b"bc", b"ab", b"abc"])
    []
    >>> unreached([b"a", b"b", b"c", b"d", b"bc", b"ab", b"cd", b"abcd"])
    [7]
    """
    skipped = set(left_out)
    entries = [(i, c) for i, c in enumerate(token_bytes) if c is not None and i not in skipped]
    ranks = {content: i for i, content in entries}
    top = max(ranks.values(), default=0) + 2
    dense = ranks if len(ranks) + 1 >= top else _dense(ranks)
    return [i for i, content in entries if merge_by_rank(content, dense) != [content]]


def _dense(ranks: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the same order without gaps."""
    ordered = sorted(ranks, key=lambda content: ranks[content])
    return {content: place for place, content in enumerate(ordered)}
