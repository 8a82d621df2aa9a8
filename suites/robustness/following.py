"""How ids follow an edit: distance, growth, and tokens touched beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import BoolArray, IntArray
from tokbench.bench.run.probe import Subject
from tokbench.suites.robustness.variants import Variant


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The ids of a text, and the bytes of the text that each token covers, shape (n_tokens,).

    `starts` and `ends` are None where the places are unknown.
    """

    ids: tuple[int, ...]
    starts: IntArray | None = None
    ends: IntArray | None = None


def placed(subject: Subject, texts: Sequence[str]) -> list[Placed | None]:
    """Return the tokens of each text with their places, None where the library fails."""
    try:
        batch, encoded, cuts = subject.cuts(texts)
    except TokenizerError:  # one text failed: which one is told without places
        answers = subject.ids(texts)
        return [None if isinstance(one, str) else Placed(ids=one) for one in answers]
    found: list[Placed | None] = []
    for i in range(len(texts)):
        mine = slice(int(encoded.offsets[i]), int(encoded.offsets[i + 1]))
        ids, first = tuple(encoded.ids[mine].tolist()), int(batch.offsets[i])
        if not cuts.known[i]:
            found.append(Placed(ids=ids))
            continue
        starts, ends = (edge[mine].astype(np.int64) - first for edge in (cuts.starts, cuts.ends))
        found.append(Placed(ids=ids, starts=starts, ends=ends))
    return found


@dataclass(frozen=True, kw_only=True)
class Original:
    """A document as it is, with its tokens."""

    row: int
    text: str
    tokens: Placed


class Followed(NamedTuple):
    """What one variant of one document gives, in numbers that add up over documents."""

    longer: int
    """The larger of both numbers of tokens."""
    kept: int
    """The same less the edit distance."""
    before: int
    after: int
    outside: int
    """Tokens that overlap no edit; 0 where places are unknown."""
    touched: int
    """Those of them that are not in the variant, at their place and with their id."""


def follow(original: Original, variant: Variant, after: Placed) -> Followed:
    """Compare the tokens of a document with those of its variant."""
    from rapidfuzz.distance import Levenshtein

    before = original.tokens
    distance = Levenshtein.distance(before.ids, after.ids)
    longer = max(len(before.ids), len(after.ids))
    outside, touched = beyond(original.text, before, variant, after)
    return Followed(longer, longer - distance, len(before.ids), len(after.ids), outside, touched)


def beyond(text: str, before: Placed, variant: Variant, after: Placed) -> tuple[int, int]:
    """Return the tokens that overlap no edit, and those of them that the variant does not have."""
    if before.starts is None or before.ends is None or after.starts is None:
        return 0, 0
    moved, edited = _moved(text, variant)
    outside: BoolArray = edited[before.ends] == edited[before.starts]
    theirs = set(zip(after.starts.tolist(), after.ids, strict=True))
    mine = zip(
        moved[before.starts[outside]].tolist(),
        np.array(before.ids, np.int64)[outside].tolist(),
        strict=True,
    )
    touched = sum(one not in theirs for one in mine)
    return int(outside.sum()), touched


def _moved(text: str, variant: Variant) -> tuple[IntArray, IntArray]:
    """Return where each byte of a text is in the variant, and how many before it are edited.

    Both have shape (bytes + 1,); what is edited has no place of its own.
    """
    at = byte_offsets(text)
    first, last = at[np.array(variant.places).T]
    steps = np.zeros((2, int(at[-1]) + 2), np.int64)
    np.add.at(steps[0], last, np.array(variant.lengths) - (last - first))
    np.add.at(steps[1], first + 1, 1)
    np.add.at(steps[1], last + 1, -1)
    shift, inside = np.cumsum(steps, axis=1)[:, :-1]
    return np.arange(len(shift)) + shift, np.cumsum(inside)


def byte_offsets(text: str) -> IntArray:
    """Return where each code point of a text begins in UTF-8, and where the last ends.

    >>> byte_offsets("aé€").tolist()
    [0, 1, 3, 6]
    """
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.ones(len(points), np.int64)
    for limit in (0x80, 0x800, 0x10000):
        lengths += points >= limit
    return np.concatenate(([0], np.cumsum(lengths)))


def differing(before: Sequence[int], after: Sequence[int]) -> tuple[slice, slice]:
    """Return the parts of two sequences between what they begin and what they end with alike.

    >>> differing([1, 2, 3, 4], [1, 5, 4])
    (slice(1, 3, None), slice(1, 2, None))
    """
    least = min(len(before), len(after))
    first = next((i for i in range(least) if before[i] != after[i]), least)
    alike = next((i for i in range(least - first) if before[~i] != after[~i]), least - first)
    return slice(first, len(before) - alike), slice(first, len(after) - alike)
