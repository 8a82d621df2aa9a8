"""Intervals: paired bootstrap over documents, as weights × counts.

Each resample is a vector of weights, one per document (or per cluster of documents), drawn once
per corpus from a seed. Every tokenizer and, on a parallel corpus, every language is weighted by
the same draws, so ratios are paired. With fewer than 100 units intervals are corrected for bias
and skew (BCa, Efron 1987); with more they are percentiles. All are 95 %, pointwise.
"""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator

FloatArray = npt.NDArray[np.float64]
Draws = npt.NDArray[np.uint8]
"""How often each unit was drawn in each resample, shape (resamples, n_units)."""
SHORT = np.float32
LOW, HIGH = 0.025, 0.975
MAX_UNITS = 4096
"""Above this many documents, neighbours are resampled together in blocks, to bound the cost."""
BCA_BELOW = 100


class Interval(NamedTuple):
    """Low and high end; None without an interval."""

    low: float | None
    high: float | None


NO_INTERVAL = Interval(None, None)


def draw_weights(n_units: int, resamples: int, seed: int) -> Draws:
    """Return multinomial bootstrap weights of shape (resamples, n_units), in a byte each.

    >>> draw_weights(4, 3, seed=0).sum(axis=1).tolist()
    [4, 4, 4]
    """
    rng = Generator(PCG64(seed))
    weights = np.empty((resamples, n_units), np.uint8)
    for start in range(0, resamples, 64):  # a few rows at a time need little memory for the draws
        rows = weights[start : start + 64]
        picks = rng.integers(0, n_units, rows.shape, dtype=np.int32)
        picks += np.arange(0, rows.size, n_units, dtype=np.int32)[:, None]
        # none is drawn 256 times of 4,096: the mean is 1, and the chance is below 10^-500
        rows[:] = np.bincount(picks.ravel(), minlength=rows.size).reshape(rows.shape)
    return weights


def weighted_totals(totals: FloatArray, weights: npt.NDArray[Any]) -> FloatArray:
    """Return the totals of each resample, shape (k, resamples), of whole numbers per unit (k, n).

    `weights` are draws in any type of number; in `SHORT` they need no copy for most totals.

    >>> weighted_totals(np.array([[1.0, 10.0]]), np.array([[2, 0], [1, 1]], np.uint8)).tolist()
    [[2.0, 11.0]]
    """
    # Sums below 2^24 are whole in 32 bits, in whatever order they are added up.
    most = float(np.abs(totals).max(initial=0.0)) * totals.shape[-1]
    kind: type[np.floating[Any]] = SHORT if most < 1 << 24 else np.float64
    product: FloatArray = (totals.astype(kind) @ weights.T.astype(kind, copy=False)).astype(
        np.float64
    )
    return product


def seed_of(*parts: object) -> int:
    """Return a 64-bit seed that depends on nothing but its parts."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def interval_of_resamples(
    resampled: FloatArray, numerator: FloatArray, denominator: FloatArray
) -> Interval:
    """Return the 95 % interval of Σ numerator ÷ Σ denominator from its resamples.

    `numerator` and `denominator` hold one total per unit; they are needed for the correction
    below 100 units. None where there is one unit only, or where a resample divides by nothing.

    >>> interval_of_resamples(np.arange(1.0, 1002.0), np.ones(200), np.ones(200))
    Interval(low=26.0, high=976.0)
    """
    ordered = np.sort(resampled)
    ends = float(ordered[0]), float(ordered[-1])  # what is not a number is sorted to the end
    if len(numerator) < 2 or not all(map(math.isfinite, ends)):
        return NO_INTERVAL
    low, high = LOW, HIGH
    if len(numerator) < BCA_BELOW:
        low, high = _bca_levels(resampled, numerator, denominator)
    return Interval(_quantile(ordered, low), _quantile(ordered, high))


def _quantile(ordered: FloatArray, level: float) -> float:
    """Interpolate linearly, as `numpy.quantile` does; its overhead matters for 10,000 rows."""
    place = level * (len(ordered) - 1)
    left = int(place)
    right = min(left + 1, len(ordered) - 1)
    return float(ordered[left] + (ordered[right] - ordered[left]) * (place - left))


def _bca_levels(
    resampled: FloatArray, numerator: FloatArray, denominator: FloatArray
) -> tuple[float, float]:
    """Shift the percentiles for median bias and skew (Efron 1987, equation 6.8)."""
    normal = NormalDist()
    top, bottom = numerator.sum(), denominator.sum()
    below = float((resampled < top / bottom).mean() + (resampled == top / bottom).mean() / 2)
    rest = bottom - denominator
    if not 0 < below < 1 or (rest <= 0).any():
        return LOW, HIGH
    bias = normal.inv_cdf(below)
    jackknife = (top - numerator) / rest
    deviation = jackknife.mean() - jackknife
    spread = float((deviation**2).sum() ** 1.5)
    skew = float((deviation**3).sum()) / (6 * spread) if spread else 0.0

    def shifted(level: float) -> float:
        z = bias + normal.inv_cdf(level)
        return normal.cdf(bias + z / (1 - skew * z))

    return shifted(LOW), shifted(HIGH)
