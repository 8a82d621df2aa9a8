"""Verdicts on speed from made-up ratios: who is slower, who is not, and when nobody can tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tokbench.bench.config.gate import SpeedLimits
from tokbench.bench.speed.verdict import Measure, Outcome, SpeedVerdict, decide, exit_code

LIMITS = SpeedLimits()


class Machine:
    """Gives made-up ratios, and remembers what it was asked for."""

    def __init__(self, ratios: Callable[[str, int], float]) -> None:
        self._ratios = ratios
        self.asked: list[Sequence[str]] = []

    def measure(self, cells: Sequence[str]) -> dict[str, list[float]]:
        self.asked.append(list(cells))
        return {cell: [self._ratios(cell, len(self.asked))] * LIMITS.rounds for cell in cells}


def steady(ratio: float) -> Callable[[str, int], float]:
    return lambda cell, process: ratio * (1 + 0.001 * (process % 3))


def one(machine: Machine, first: int = 3) -> SpeedVerdict:
    [verdict] = decide(["cell"], machine.measure, LIMITS, first=first)
    return verdict


def test_a_slower_candidate_fails_after_fresh_processes_showed_it_again() -> None:
    machine = Machine(steady(1.1))
    verdict = one(machine)
    assert verdict.outcome == "slower"
    assert verdict.ratio is not None
    assert verdict.again is not None
    assert (verdict.ratio.processes, verdict.again.processes) == (3, 3)
    assert len(machine.asked) == 6


def test_what_fresh_processes_do_not_show_again_passes() -> None:
    machine = Machine(lambda cell, process: 1.1 if process <= 3 else 1.0)
    verdict = one(machine)
    assert verdict.outcome == "unconfirmed"
    assert verdict.reason == "fresh processes did not confirm it"


@pytest.mark.parametrize(("ratio", "outcome"), [(1.0, "same"), (1.04, "same"), (0.9, "faster")])
def test_little_or_no_slowing_passes_at_once(ratio: float, outcome: Outcome) -> None:
    machine = Machine(steady(ratio))
    assert one(machine).outcome == outcome
    assert len(machine.asked) == 3


def test_an_estimate_of_six_per_cent_that_may_be_one_is_no_failure() -> None:
    """The interval must clear its own limit: 1.06 from 1.00 to 1.12 does not."""
    ratios = {1: 1.04, 2: 1.06, 3: 1.08}
    machine = Machine(lambda cell, process: ratios.get(process, 1.0))
    verdict = one(machine)
    assert verdict.outcome == "same"
    assert len(machine.asked) > 3


def test_a_wide_interval_asks_for_more_processes_until_none_are_left() -> None:
    machine = Machine(lambda cell, process: 1.3 if process % 2 else 0.9)
    verdict = one(machine)
    assert verdict.outcome == "inconclusive"
    assert len(machine.asked) == LIMITS.max_processes
    assert "quieter machine" in verdict.reason


def test_only_open_cells_are_measured_again() -> None:
    def ratio(cell: str, process: int) -> float:
        return 1.0 if cell == "calm" else (1.3 if process % 2 else 0.9)

    machine = Machine(ratio)
    verdicts = decide(["calm", "wild"], machine.measure, LIMITS, first=3)
    assert [v.outcome for v in verdicts] == ["same", "inconclusive"]
    assert machine.asked[2] == ["calm", "wild"]
    assert machine.asked[3] == ["wild"]


def test_a_confirmation_that_stays_wide_is_inconclusive() -> None:
    wild = {True: 1.4, False: 0.8}
    machine = Machine(lambda cell, process: 1.1 if process <= 3 else wild[process % 2 == 0])
    assert one(machine).outcome == "inconclusive"


def verdicts(*outcomes: Outcome) -> list[SpeedVerdict]:
    return [SpeedVerdict(cell=str(i), outcome=o) for i, o in enumerate(outcomes)]


def test_slower_outranks_incomparable_outranks_inconclusive() -> None:
    limits = SpeedLimits(inconclusive=7)
    assert exit_code(verdicts("same", "inconclusive", "incomparable", "slower"), limits) == 1
    assert exit_code(verdicts("same", "inconclusive", "incomparable"), limits) == 3
    assert exit_code(verdicts("same", "inconclusive"), limits) == 7
    assert exit_code(verdicts("same", "faster", "unconfirmed"), limits) == 0


def test_nothing_to_compare_never_passes_and_nobody_can_tell_passes_by_default() -> None:
    assert exit_code([], LIMITS) == 3
    assert exit_code(verdicts("inconclusive"), LIMITS) == 0


def noisy(seed: int, ratio: float, between: float) -> Measure:
    """A machine on which processes of equal sides differ, and one round in ten is far off."""
    rng = np.random.default_rng(seed)

    def measure(cells: Sequence[str]) -> dict[str, list[float]]:
        found = {}
        for cell in cells:
            far = np.where(rng.random(LIMITS.rounds) < 0.1, 5.0, 1.0)
            logs = rng.normal(0, between) + rng.normal(0, 0.05, LIMITS.rounds) * far
            found[cell] = (ratio * np.exp(logs)).tolist()
        return found

    return measure


CELLS = [str(n) for n in range(6)]


@pytest.mark.parametrize(("first", "between"), [(3, 0.01), (5, 0.04)])
def test_equal_sides_raise_no_alarm_in_100_runs_of_six_cells(first: int, between: float) -> None:
    alarms = 0
    for seed in range(100):
        found = decide(CELLS, noisy(seed, 1.0, between), LIMITS, first=first)
        alarms += exit_code(found, LIMITS)
    assert alarms == 0


@pytest.mark.parametrize(("first", "between", "least"), [(3, 0.01, 50), (5, 0.04, 47)])
def test_a_candidate_slower_by_a_tenth_is_caught(first: int, between: float, least: int) -> None:
    caught = sum(
        exit_code(decide(["cell"], noisy(seed, 1.1, between), LIMITS, first=first), LIMITS)
        for seed in range(50)
    )
    assert caught >= least
