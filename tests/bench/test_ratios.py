"""How sure a ratio is: intervals hold the truth as often as they say, and Holm is Holm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tokbench.bench.timing.ratios import Ratio, holm, ratio_of

TRIALS = 400


def logs(rng: np.random.Generator, processes: int, rounds: int, *, between: float) -> np.ndarray:
    """Logarithms of ratios of equal sides: processes differ, one round in ten is far off."""
    far = np.where(rng.random((processes, rounds)) < 0.1, 5.0, 1.0)
    shift = rng.normal(0, between, (processes, 1))
    return shift + rng.normal(0, 0.04, (processes, rounds)) * far


def covers(found: Ratio | None) -> bool:
    assert found is not None
    return found.covers_one


def two_stage_covers(sample: np.ndarray, rng: np.random.Generator) -> bool:
    """The interval of resampled processes and then rounds, for comparison."""
    processes, rounds = sample.shape
    drawn = sample[rng.integers(0, processes, (200, processes))]
    inner = rng.integers(0, rounds, drawn.shape)
    medians = np.median(np.take_along_axis(drawn, inner, 2), axis=2).mean(axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return bool(low <= 0 <= high)


@pytest.mark.parametrize("between", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("processes", [3, 5])
def test_19_in_20_intervals_over_processes_hold_the_truth(processes: int, between: float) -> None:
    rng = np.random.default_rng(1)
    samples = [np.exp(logs(rng, processes, 30, between=between)) for _ in range(TRIALS)]
    share = sum(covers(ratio_of(sample.tolist())) for sample in samples) / TRIALS
    assert 0.93 <= share <= 0.97


def test_resampling_three_processes_and_their_rounds_would_hold_it_three_times_in_four() -> None:
    rng = np.random.default_rng(2)
    samples = [logs(rng, 3, 30, between=0.05) for _ in range(TRIALS)]
    share = sum(two_stage_covers(sample, rng) for sample in samples) / TRIALS
    assert 0.70 <= share <= 0.82


@pytest.mark.parametrize("rounds", [7, 11, 30])
def test_intervals_over_rounds_hold_it_at_least_as_often_as_they_say(rounds: int) -> None:
    rng = np.random.default_rng(3)
    samples = [np.exp(logs(rng, 1, rounds, between=0)) for _ in range(TRIALS)]
    share = sum(covers(ratio_of(sample.tolist())) for sample in samples) / TRIALS
    assert 0.94 <= share <= 1


def test_the_estimate_is_the_geometric_mean_of_the_medians_of_processes() -> None:
    found = ratio_of([[1.0, 2.0, 9.0], [8.0, 8.0, 0.1], [4.0, 4.0, 4.0]])
    assert found is not None
    assert found.estimate == pytest.approx(4.0)  # of 2, 8, 4
    spread = math.log(2) / math.sqrt(3) * 4.302653  # Student's t of 2 degrees of freedom
    assert found.high == pytest.approx(4 * math.exp(spread), rel=1e-6)
    assert (found.over, found.processes, found.rounds) == ("processes", 3, 9)


def test_one_slow_round_moves_nothing() -> None:
    quiet = [[1.0] * 9, [1.1] * 9, [0.9] * 9]
    spiky = [[*rounds[:8], 50.0] for rounds in quiet]
    assert ratio_of(spiky) == ratio_of(quiet)


def test_with_fewer_than_three_processes_the_interval_is_over_rounds_and_has_no_p_value() -> None:
    found = ratio_of([[1.0, 1.2, 1.1, 1.4, 1.3], [1.5, 1.6]])
    assert found is not None
    assert (found.estimate, found.low, found.high) == (1.3, 1.0, 1.6)
    assert (found.over, found.p) == ("rounds", None)


def test_five_rounds_of_one_process_give_no_interval() -> None:
    assert ratio_of([[1.0, 1.1, 1.2, 1.3, 1.4]]) is None


def test_p_values_agree_with_intervals() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        found = ratio_of(np.exp(logs(rng, 4, 10, between=0.03)).tolist())
        assert found is not None
        assert found.p is not None
        assert (found.p < 0.05) == (not found.covers_one)


def test_holm_keeps_the_order_and_never_exceeds_one() -> None:
    assert holm([0.5, 0.001, 0.04, 0.9]) == pytest.approx([1.0, 0.004, 0.12, 1.0])
    assert holm([]) == []
