"""Entropies, a power law and unseen ids: functions of the counts of distinct ids.

`counts` are int64, positive, one per distinct id; the order does not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray

FloatArray = npt.NDArray[np.float64]
NEGLIGIBLE = 40.0
"""A chance of e^-40 adds nothing to a count of ids."""


def renyi_entropy(counts: IntArray, alpha: float) -> float:
    """Return the Rényi entropy in bits; Shannon's where alpha is 1.

    >>> fair = np.array([5, 5, 5, 5])
    >>> renyi_entropy(fair, 1.0), renyi_entropy(fair, 2.5)
    (2.0, 2.0)
    """
    p = counts / counts.sum()
    if alpha == 1:
        return float(-(p * np.log2(p)).sum()) + 0.0
    return float(np.log2((p**alpha).sum()) / (1 - alpha)) + 0.0


def efficiency(entropy: float, n_ids: int) -> float | None:
    """Return entropy ÷ log2 of a number of ids, None where one id leaves nothing to choose.

    >>> efficiency(1.0, 4), efficiency(0.0, 1)
    (0.5, None)
    """
    return entropy / float(np.log2(n_ids)) if n_ids > 1 else None


def zipf_exponent(counts: IntArray, last_rank: int) -> tuple[float, int] | None:
    """Return the exponent fitted to ranks 1 to `last_rank` or to the last seen, and that rank.

    None where fewer than ten ids were seen. The likelihood is concave in the exponent; Newton's
    steps, none longer than 1, find its one maximum.

    >>> s, last = zipf_exponent((1e9 / np.arange(1.0, 501.0) ** 1.2).astype(np.int64), 500)
    >>> round(s, 4), last
    (1.2, 500)
    """
    ordered = np.sort(counts)[::-1][:last_rank]
    if len(ordered) < 10:
        return None
    logs = np.log(np.arange(1, len(ordered) + 1))
    observed = float((ordered * logs).sum() / ordered.sum())
    exponent = 1.0
    for _ in range(100):
        weights = np.exp(-exponent * logs)
        weights /= weights.sum()
        mean = float(weights @ logs)
        step = (mean - observed) / float(weights @ (logs - mean) ** 2)
        exponent += min(max(step, -1.0), 1.0)
        if abs(step) < 1e-12:
            break
    return exponent, len(ordered)


def expected_distinct(counts: IntArray, n: int) -> float:
    """Return the distinct ids expected in n tokens drawn without replacement (rarefaction).

    >>> round(expected_distinct(np.array([2, 2]), 2), 4)  # 1 + the chance 2/3 of the other id
    1.6667
    >>> expected_distinct(np.array([3, 1]), 4)
    2.0
    """
    total = int(counts.sum())
    if n >= total:
        return float(len(counts))
    distinct, times = np.unique(counts, return_counts=True)
    enough = int(np.ceil(NEGLIGIBLE / -np.log1p(-n / total)))
    longest = min(int(distinct[-1]), enough, total - n)
    k = np.arange(longest)
    # log of the chance to miss an id of count c: Σ log((N − n − k) ÷ (N − k)) over k < c
    missed = np.concatenate(([0.0], np.cumsum(np.log((total - n - k) / (total - k)))))
    within = distinct <= longest
    chance = np.zeros(len(distinct))
    chance[within] = np.exp(missed[distinct[within]])
    return float((times * (1 - chance)).sum())


def good_toulmin(counts: IntArray) -> tuple[float, float]:
    """Return the new ids expected in as much text again, and their standard error.

    >>> good_toulmin(np.array([1, 1, 1, 2, 3]))
    (3.0, 2.23606797749979)
    """
    odd = int((counts % 2).sum())
    return float(2 * odd - len(counts)), float(np.sqrt(len(counts)))


def curve_ranks(n_ids: int) -> list[int]:
    """Return the ranks at which a rank-frequency curve is stored: 1, 2, 5, 10, 20, ...

    >>> curve_ranks(60)
    [1, 2, 5, 10, 20, 50]
    """
    steps = (m * 10**e for e in range(10) for m in (1, 2, 5))
    return [rank for rank in steps if rank <= n_ids]
