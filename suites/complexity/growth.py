"""How time grows with length: the slope of a line through logarithms.

Time = c · length^k is a line of slope k where both axes are logarithmic. Fitted by least squares
(for example Goldsmith, Aiken and Wilkerson, "Measuring Empirical Computational Complexity", 2007)
to the upper lengths only, where fixed costs no longer show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LEAST, MOST = 4, 12
"""Lengths that a line can be fitted to: two of them are used up by the line itself."""

STUDENT_T: Mapping[int, float] = {
    2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
}  # fmt: skip
"""97.5 % point of Student's t by degrees of freedom, from any table of it."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A length in code points, and CPU seconds of one call on a text of that length."""

    length: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A fitted exponent with its 95 % interval, and the lengths it comes from."""

    exponent: float
    low: float
    high: float
    lengths: tuple[int, ...]


def resolvable(points: Sequence[Point], floor: float) -> list[Point]:
    """Return the points whose time is above the noise: those from the last one below it on.

    >>> points = [Point(length=n, seconds=s) for n, s in ((1, 2), (2, 1), (4, 3), (8, 6))]
    >>> [point.length for point in resolvable(points, floor=1.5)]
    [4, 8]
    """
    below = [i for i, point in enumerate(points) if point.seconds < floor]
    return list(points[below[-1] + 1 if below else 0 :])


def fit(points: Sequence[Point], upper: int) -> Growth | None:
    """Fit the exponent to the upper lengths, None where there are fewer than `LEAST`.

    The interval is that of a slope: ± t · s / √Σ(x − x̄)², with Student's t for m − 2 degrees of
    freedom and s² the mean square of the residuals. It says how straight the line is.

    >>> squares = [Point(length=n, seconds=3e-9 * n**2) for n in (1000, 2000, 4000, 8000, 16000)]
    >>> found = fit(squares, upper=4)
    >>> round(found.exponent, 9), found.lengths
    (2.0, (2000, 4000, 8000, 16000))
    >>> fit(squares[:3], upper=4) is None
    True
    """
    chosen = sorted(points, key=lambda point: point.length)[-upper:]
    if len(chosen) < LEAST:
        return None
    x = np.log([point.length for point in chosen])
    y = np.log([point.seconds for point in chosen])
    spread = x - x.mean()
    slope = float(spread @ (y - y.mean()) / (spread @ spread))
    residuals = y - y.mean() - slope * spread
    freedom = len(chosen) - 2
    error = float(np.sqrt(residuals @ residuals / freedom / (spread @ spread)))
    margin = STUDENT_T[freedom] * error
    return Growth(
        exponent=slope,
        low=slope - margin,
        high=slope + margin,
        lengths=tuple(point.length for point in chosen),
    )
