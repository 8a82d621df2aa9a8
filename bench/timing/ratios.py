"""Interval of a ratio of speeds, from rounds within processes.

Rounds of one process are alike: they share the addresses of its memory and the minute it ran in.
So the unit is the process. Each gives the median of its rounds' ratios; the estimate is their
geometric mean, and the interval is Student's, on logarithms, over processes (Kalibera and Jones
2013, *Rigorous Benchmarking in Reasonable Time*, section 9). It holds what varies between
processes and what varies within. Resampling processes and then their rounds is the same idea, but
not with a handful of processes: where they differ more than their rounds do, its 95 % intervals
from three of them hold the truth three times in four, and from ten nine times in ten; where they
do not differ, it counts the rounds' noise twice (`tests/bench/test_ratios.py` simulates this).

With fewer than three processes the interval is over rounds and speaks for those processes only:
the order statistics of the median, which need no assumption but like rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean, median, stdev
from typing import Literal

LEVEL = 0.95
LEAST_PROCESSES = 3
"""Below this many, the interval is over rounds."""
LEAST_ROUNDS = 6
"""Below this many, no two rounds enclose the median in 95 % of cases."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio with its 95 % interval, pointwise.

    `p` is the probability of so large a difference from 1 where there is none; None where the
    interval is over rounds, since it would speak of one process.
    """

    estimate: float
    low: float
    high: float
    p: float | None
    processes: int
    rounds: int
    over: Literal["processes", "rounds"]

    @property
    def half_width(self) -> float:
        """How far the interval reaches to each side, as a share of the estimate.

        >>> r = ratio_of([[1.0] * 5, [1.02] * 5, [0.98] * 5])
        >>> round(r.half_width, 3)
        0.051
        """
        return math.sqrt(self.high / self.low) - 1

    @property
    def covers_one(self) -> bool:
        """Whether the interval includes 1, no difference."""
        return self.low <= 1 <= self.high

    def in_words(self) -> str:
        """Return estimate and interval.

        >>> ratio_of([[2.0] * 9] * 4).in_words()
        '2.000 (2.000 to 2.000)'
        """
        return f"{self.estimate:.3f} ({self.low:.3f} to {self.high:.3f})"


def ratio_of(processes: Sequence[Sequence[float]]) -> Ratio | None:
    """Return the ratio that some processes show; each is the ratios of its rounds.

    None where there are too few rounds for an interval.

    >>> ratio_of([[1.1, 1.0, 1.2, 1.3, 1.1, 1.1, 1.0]]).in_words()
    '1.100 (1.000 to 1.300)'
    """
    if len(processes) >= LEAST_PROCESSES:
        return _over_processes(processes)
    rounds = sorted(ratio for rounds in processes for ratio in rounds)
    if len(rounds) < LEAST_ROUNDS:
        return None
    below = _ranks_of_the_median(len(rounds))
    return Ratio(
        estimate=median(rounds),
        low=rounds[below],
        high=rounds[-1 - below],
        p=None,
        processes=len(processes),
        rounds=len(rounds),
        over="rounds",
    )


def _over_processes(processes: Sequence[Sequence[float]]) -> Ratio:
    logs = [math.log(median(rounds)) for rounds in processes]
    n = len(logs)
    centre, error = fmean(logs), stdev(logs) / math.sqrt(n)
    reach = _t_quantile(n - 1) * error
    return Ratio(
        estimate=math.exp(centre),
        low=math.exp(centre - reach),
        high=math.exp(centre + reach),
        p=_p_value(centre, error, n - 1),
        processes=n,
        rounds=sum(map(len, processes)),
        over="processes",
    )


def _p_value(centre: float, error: float, freedom: int) -> float:
    if error == 0:
        return 1.0 if centre == 0 else 0.0
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(centre) / error))


@cache
def _t_quantile(freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


@cache
def _ranks_of_the_median(n: int) -> int:
    """Return how many values to leave out at each end, so that the rest encloses the median.

    The number of values below the median is binomial (n, ½) for any distribution.

    >>> _ranks_of_the_median(7), _ranks_of_the_median(30)
    (0, 9)
    """
    tail = (1 - LEVEL) / 2
    total, k = 0.0, 0
    while True:
        total += math.comb(n, k) / 2**n
        if total > tail:
            return max(k - 1, 0)
        k += 1


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm 1979): below α, that difference is real
    with at most α chance that any of those found is not.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected
