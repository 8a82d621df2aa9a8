"""The ways to cut a text into pieces with probabilities: the best, the n best, one at random.

Pieces are taken to be independent, so the log probability of a cut is the sum of its pieces'
scores. The best cut is found by Viterbi's algorithm, from left to right: the best way to reach a
position is the best way to reach an earlier one and one piece from there (Kudo 2018).

>>> scores = {"▁": -3.0, "▁a": -2.0, "a": -3.0, "b": -3.0, "ab": -3.5}
>>> best_cut("▁ab", scores, unknown_score=-20.0)
[(0, 2), (2, 3)]
>>> [(score, cut) for score, cut in n_best_cuts("▁ab", scores, unknown_score=-20.0, n=2)]
[(-5.0, [(0, 2), (2, 3)]), (-6.5, [(0, 1), (1, 3)])]

These are the definitions, not the fast ways. Three rules make the best cut that of the
`sentencepiece` library (0.2.3) with the same pieces: sums are rounded to single precision after
each addition; when one falls below -100,000, it is subtracted from itself and from all that were
begun; among equal sums the leftmost start wins.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np

REBASE_AT = 100_000.0
"""Where sums are counted anew, so that long texts keep some precision."""

Cut = list[tuple[int, int]]
"""First and one-past-last position of each piece; they join without gaps."""


def best_cut(
    text: str, scores: Mapping[str, float], *, unknown_score: float, start: float = 0.0
) -> Cut:
    """Return the most probable cut; unknown characters are pieces of their own.

    `start` is the score of what comes before the text: it decides how sums are rounded.
    """
    longest = max(map(len, scores), default=1)
    best = [np.float32(-np.inf)] * (len(text) + 1)
    best[0] = np.float32(start)
    came_from = [0] * len(best)
    for begin in range(len(text)):
        rebase(best, begin, longest)
        for end in range(begin + 1, min(begin + longest, len(text)) + 1):
            score = scores.get(text[begin:end])
            if score is None:
                if end > begin + 1:
                    continue
                score = unknown_score
            reached = np.float32(best[begin] + np.float32(score))
            if reached > best[end]:
                best[end] = reached
                came_from[end] = begin
    return followed(came_from)


def rebase(best: list[np.float32], begin: int, longest: int) -> None:
    """Count from here once sums have become large; those of all pieces begun so far too."""
    base = best[begin]
    if base < -REBASE_AT:
        for end in range(begin, min(begin + longest, len(best))):
            best[end] = best[end] - base  # minus infinity, not reached yet, stays so


def followed(came_from: Sequence[int]) -> Cut:
    """Walk back along the best ways to reach each position, and return the cut they make."""
    cut = []
    end = len(came_from) - 1
    while end > 0:
        cut.append((came_from[end], end))
        end = came_from[end]
    return cut[::-1]


def n_best_cuts(
    text: str, scores: Mapping[str, float], *, unknown_score: float, n: int
) -> list[tuple[float, Cut]]:
    """Return the n most probable cuts with their scores, best first.

    Each position keeps its n best ways to be reached. Among equal scores the cut whose last
    pieces start further left comes first.
    """
    longest = max(map(len, scores), default=1)
    ways: list[list[tuple[float, int, int]]] = [[(0.0, 0, 0)]]
    for end in range(1, len(text) + 1):
        found = [
            (total + score, begin, rank)
            for begin, score in _pieces_ending(text, end, scores, longest, unknown_score)
            for rank, (total, _, _) in enumerate(ways[begin])
        ]
        ways.append(sorted(found, key=lambda way: (-way[0], way[1:]))[:n])
    return [(ways[-1][rank][0], _way_back(ways, rank)) for rank in range(len(ways[-1]))]


def _way_back(ways: list[list[tuple[float, int, int]]], rank: int) -> Cut:
    cut: Cut = []
    end = len(ways) - 1
    while end:
        _, begin, rank = ways[end][rank]
        cut.append((begin, end))
        end = begin
    return cut[::-1]


def _pieces_ending(
    text: str, end: int, scores: Mapping[str, float], longest: int, unknown_score: float
) -> list[tuple[int, float]]:
    found = []
    for begin in range(max(0, end - longest), end):
        score = scores.get(text[begin:end])
        if score is not None:
            found.append((begin, score))
        elif begin == end - 1:
            found.append((begin, unknown_score))
    return found


def sampled_cut(
    text: str,
    scores: Mapping[str, float],
    *,
    unknown_score: float,
    temperature: float,
    draw: random.Random,
) -> Cut:
    """Draw a cut with probability proportional to exp(temperature * score).

    The sums over all cuts are made from left to right and a cut is drawn from right to left:
    subword regularization (Kudo 2018), whose α is the temperature here. 0 makes all cuts equally
    likely; the larger it is, the more often the best cut comes.

    >>> scores = {"a": -1.0, "b": -1.0, "ab": -2.0}  # "ab" is as probable as "a", "b"
    >>> draw = random.Random(0)
    >>> cuts = [sampled_cut("ab", scores, unknown_score=-9.0, temperature=1.0, draw=draw)
    ...         for _ in range(1000)]
    >>> 450 < sum(len(cut) == 2 for cut in cuts) < 550
    True
    """
    longest = max(map(len, scores), default=1)
    sums = [0.0]
    ways: list[list[tuple[int, float]]] = [[]]
    for end in range(1, len(text) + 1):
        pieces = _pieces_ending(text, end, scores, longest, unknown_score)
        ways.append([(b, sums[b] + temperature * score) for b, score in pieces])
        sums.append(_log_sum_exp([total for _, total in ways[-1]]))
    cut: Cut = []
    end = len(text)
    while end:
        weights = [math.exp(total - sums[end]) for _, total in ways[end]]
        begin = draw.choices([b for b, _ in ways[end]], weights)[0]
        cut.append((begin, end))
        end = begin
    return cut[::-1]


def _log_sum_exp(values: Sequence[float]) -> float:
    highest = max(values)
    return highest + math.log(sum(math.exp(v - highest) for v in values))
