"""The verdict on speed: when a candidate counts as slower, and when the result is inconclusive.

Pure: it gets the ratios of fresh processes and decides, so tests feed it made-up ratios. A
ratio is the candidate's time ÷ the base's, the median of a process's rounds, so above 1 is slower.

A cell fails only where the interval's low end and the estimate both exceed their limits, and then
the same again in fresh processes. As long as a cell is undecided, one more process is timed; when
the maximum is reached, it is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tokbench.bench.config.gate import SpeedLimits
from tokbench.bench.timing.ratios import Ratio, ratio_of

Outcome = Literal["slower", "incomparable", "inconclusive", "unconfirmed", "faster", "same"]

Ratios = Mapping[str, Sequence[float]]
"""By cell: the ratio of each round of one fresh process."""

Measure = Callable[[Sequence[str]], Ratios]
"""Time the named cells in one more fresh process."""


@dataclass(frozen=True, kw_only=True)
class SpeedVerdict:
    """The outcome of one cell: the ratio that decided, and the one that confirmed it or not."""

    cell: str
    outcome: Outcome
    ratio: Ratio | None = None
    again: Ratio | None = None
    reason: str = ""
    remarks: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Return cell, outcome, ratios and reason in one line."""
        parts = [f"{self.cell}: {self.outcome}"]
        if self.ratio is not None:
            parts.append(f"{self.ratio.in_words()} over {self.ratio.processes} processes")
        if self.again is not None:
            parts.append(f"again in {self.again.processes} fresh ones: {self.again.in_words()}")
        return "; ".join([*parts, *filter(None, (self.reason,)), *self.remarks])


def decide(
    cells: Sequence[str], measure: Measure, limits: SpeedLimits, *, first: int
) -> list[SpeedVerdict]:
    """Return the verdict on each cell; `first` is the number of processes to begin with."""
    found = _settled(cells, measure, limits, first)
    suspects = [cell for cell, ratio in found.items() if _slower(ratio, limits)]
    again = _settled(suspects, measure, limits, first) if suspects else {}
    return [_verdict(cell, found[cell], again.get(cell), limits) for cell in cells]


def _settled(
    cells: Sequence[str], measure: Measure, limits: SpeedLimits, first: int
) -> dict[str, Ratio]:
    """Return the ratio of each cell, over as many processes as are needed to decide."""
    processes: dict[str, list[Sequence[float]]] = {cell: [] for cell in cells}
    open_ = list(cells)
    for number in range(1, limits.max_processes + 1):
        for cell, ratios in measure(open_).items():
            processes[cell].append(ratios)
        if number >= first:
            open_ = [cell for cell in open_ if not _clear(_ratio(processes[cell]), limits)]
        if not open_:
            break
    return {cell: _ratio(found) for cell, found in processes.items()}


def _ratio(processes: Sequence[Sequence[float]]) -> Ratio:
    ratio = ratio_of(processes)
    assert ratio is not None, "the gate requires three processes or more"
    return ratio


def _slower(ratio: Ratio, limits: SpeedLimits) -> bool:
    return ratio.low > limits.bound and ratio.estimate > limits.estimate


def _clear(ratio: Ratio, limits: SpeedLimits) -> bool:
    """Return whether more processes could hardly change the verdict.

    An interval that ends below the estimate's limit is clear however wide it is.
    """
    narrow = ratio.half_width <= limits.max_interval
    return _slower(ratio, limits) or narrow or ratio.high <= limits.estimate


def _verdict(cell: str, ratio: Ratio, again: Ratio | None, limits: SpeedLimits) -> SpeedVerdict:
    last = again or ratio
    outcome: Outcome
    reason = ""
    if again is not None and _slower(again, limits):
        outcome = "slower"
    elif not _clear(last, limits):
        outcome = "inconclusive"
        reason = (
            f"the interval is wider than ±{limits.max_interval * 100:g} % after {last.processes} "
            "processes; run it on a quieter machine, or allow more processes "
            "(gate.speed.max_processes)"
        )
    elif again is not None:
        outcome, reason = "unconfirmed", "fresh processes did not confirm it"
    else:
        outcome = "faster" if ratio.high < 1 else "same"
    return SpeedVerdict(cell=cell, outcome=outcome, ratio=ratio, again=again, reason=reason)


def exit_code(verdicts: Iterable[SpeedVerdict], limits: SpeedLimits) -> int:
    """Return the exit code for some verdicts.

    It is 1 if a cell is slower, else 3 if one was not compared or there is none, else the chosen
    code if a cell is inconclusive, else 0.
    """
    outcomes = {verdict.outcome for verdict in verdicts}
    if "slower" in outcomes:
        return 1
    if "incomparable" in outcomes or not outcomes:
        return 3
    return limits.inconclusive if "inconclusive" in outcomes else 0
