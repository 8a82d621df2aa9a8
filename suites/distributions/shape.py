"""The shape of a curve of frequencies: functions of the counts of distinct ids.

`counts` are int64, positive, one per distinct id; the order does not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray
from tokbench.suites.information.entropy import expected_distinct

FloatArray = npt.NDArray[np.float64]
HALVINGS = 5
"""Points of the fit of Heaps' law: all tokens, half of them, ..., a sixteenth."""
LEAST_IDS = 10


def rank_frequency_area(counts: IntArray) -> float | None:
    """Return the area under log count over log rank, in shares of the largest of both.

    None where fewer than ten ids were seen, or each as often as once.

    >>> straight = (1024.0 / np.arange(1.0, 1025.0)).round().astype(np.int64)
    >>> round(rank_frequency_area(straight), 2)
    0.5
    """
    x, y = _logs(counts)
    if len(x) < LEAST_IDS or y[0] == 0:
        return None
    return float(np.trapezoid(y, x) / (x[-1] * y[0]))


def power_law_deviation(counts: IntArray) -> float | None:
    """Return the mean distance in bits from the fitted line; None where fewer than ten ids were seen.

    >>> law = (2.0**40 / np.arange(1.0, 1025.0) ** 1.5).astype(np.int64)
    >>> power_law_deviation(law) < 1e-4
    True
    """
    x, y = _logs(counts)
    if len(x) < LEAST_IDS:
        return None
    weights = 1 / np.arange(1, len(x) + 1)
    weights /= weights.sum()
    dx, dy = x - weights @ x, y - weights @ y
    slope = (weights * dx) @ dy / ((weights * dx) @ dx)
    return float(weights @ np.abs(dy - slope * dx))


def heaps_exponent(counts: IntArray) -> float | None:
    """Return the slope of log distinct ids over log tokens; None for fewer than 32 tokens.

    >>> heaps_exponent(np.ones(1000, np.int64))
    1.0
    """
    n = [int(counts.sum()) >> k for k in range(HALVINGS)]
    if n[-1] < 2:
        return None
    x = np.log(np.array(n))
    y = np.log(np.array([expected_distinct(counts, one) for one in n]))
    x -= x.mean()
    return round(float(x @ y / (x @ x)), 12)


def heaps_curve(counts: IntArray) -> dict[int, float]:
    """Return the ids expected in 1,000, 2,000, 5,000, ... tokens, and in all of them."""
    total = int(counts.sum())
    steps = [m * 10**e for e in range(3, 12) for m in (1, 2, 5)]
    return {n: expected_distinct(counts, n) for n in [*(n for n in steps if n < total), total]}


def _logs(counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return log₂ of ranks and of counts, most frequent first."""
    ordered = np.sort(counts)[::-1]
    return np.log2(np.arange(1, len(ordered) + 1)), np.log2(ordered)
