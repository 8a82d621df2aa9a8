"""Values from made-up samples: ratios, floors, verdicts and words about unsteadiness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tokbench.bench.model import Measurement
from tokbench.bench.timing.cases import Case, Grid
from tokbench.bench.timing.contest import Contest, Failure, Sample, Timed
from tokbench.suites.throughput.values import values

CASE = Case(corpus="web", phase="encode", blocks=(("a" * 500_000, "é" * 250_000),))
GRID = Grid(cases=[CASE], rounds=9, warm_ups=1)
PINNED = {"pinned": "pinned", "other": "pinned", "third": "pinned"}

Seconds = Callable[[str, bool, int, int], float]
"""Of a tokenizer, whether it is the twin, in a process and a round."""


def samples(seconds: Seconds, *, processes: int = 3, wall: float = 1.0) -> list[Sample]:
    lanes = [("pinned", False), ("pinned", True), ("other", False), ("third", False)]
    return [
        Sample(
            tokenizer=name,
            twin=twin,
            corpus="web",
            phase="encode",
            call="batch",
            threads=1,
            text="repeated",
            process=process,
            round=number,
            warm_up=number == 0,
            passes=2,
            bytes=1_000_000,
            wall_seconds=2 * wall * seconds(name, twin, process, number),
            cpu_seconds=2 * seconds(name, twin, process, number),
        )
        for process in range(processes)
        for number in range(10)
        for name, twin in lanes
    ]


def measured(found: list[Sample], **changes: Any) -> Timed:
    contest = Contest(
        tokenizers=dict.fromkeys(PINNED),  # type: ignore[arg-type]
        texts={},
        seed=0,
        progress=lambda text: None,
    )
    arguments: dict[str, Any] = {"failures": [], "pinned": PINNED, **changes}
    return values(contest, GRID, found, **arguments)


def row(timed: Timed, metric: str, tokenizer: str) -> Measurement:
    [found] = [m for m in timed.measurements if (m.metric.name, m.tokenizer) == (metric, tokenizer)]
    return found


def wobble(process: int, number: int) -> float:
    return 1 + 0.002 * ((process * 7 + number * 3) % 5)


def twice_as_fast(name: str, twin: bool, process: int, number: int) -> float:
    """`other` takes half the time; `third` differs from the pinned by less than its twin does."""
    share = {"pinned": 1.01 if twin else 1.0, "other": 0.5, "third": 1.005}[name]
    return 0.1 * share * wobble(process, number)


def test_throughput_is_bytes_over_wall_seconds_of_a_pass_without_warm_ups() -> None:
    found = row(measured(samples(twice_as_fast, wall=1.25)), "encode_throughput", "other")
    assert found.value == pytest.approx(1 / (1.25 * 0.05 * 1.004), rel=1e-6)
    assert (found.n, found.params["processes"], found.params["documents"]) == (27, 3, 2)
    assert found.params["bytes"] == 1_000_000
    assert found.params["document_bytes"]["most"] == 500_000
    assert found.params["megacharacters_per_second"] == pytest.approx(0.75 * (found.value or 0))


def test_the_ratio_is_by_cpu_in_the_same_rounds_and_above_one_is_faster() -> None:
    timed = measured(samples(twice_as_fast, wall=1.25))
    found = row(timed, "relative_speed", "other")
    assert found.value == pytest.approx(2.0)
    assert (found.ci_low, found.ci_high) == (pytest.approx(2.0), pytest.approx(2.0))
    assert (found.params["verdict"], found.params["reference"]) == ("faster", "pinned")
    assert (found.params["comparisons"], found.params["correction"]) == (2, "holm")
    assert found.params["interval_over"] == "processes"


def test_a_difference_within_the_floor_is_not_resolvable_however_narrow_its_interval() -> None:
    timed = measured(samples(twice_as_fast))
    floor = row(timed, "timing_floor", "pinned")
    assert floor.value == pytest.approx(1.01)
    third = row(timed, "relative_speed", "third")
    assert third.ci_high is not None
    assert third.ci_high < 1
    assert third.params["verdict"] == "not resolvable"
    assert third.params["floor"] == pytest.approx(1.01)


def test_an_interval_that_covers_one_is_not_resolvable() -> None:
    def apart(name: str, twin: bool, process: int, number: int) -> float:
        return 0.1 * (1.0 if name == "pinned" else (0.8, 1.0, 1.2)[process])

    found = row(measured(samples(apart)), "relative_speed", "other")
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < 1 < found.ci_high
    assert found.params["verdict"] == "not resolvable"


def test_holm_takes_away_what_would_be_found_by_looking_often_enough() -> None:
    def hardly(name: str, twin: bool, process: int, number: int) -> float:
        """p is 0.036 for each of two: below 0.05 alone, not together."""
        return 0.1 if name == "pinned" else 0.1 / (1.0755, 1.1, 1.16)[process]

    found = row(measured(samples(hardly)), "relative_speed", "other")
    assert found.ci_low is not None
    assert found.ci_low > 1
    assert found.params["p_holm"] > 0.05
    assert found.params["verdict"] == "not resolvable"


def test_one_process_has_an_interval_over_rounds_and_is_said_to_be_pointwise() -> None:
    found = row(measured(samples(twice_as_fast, processes=1)), "relative_speed", "other")
    assert (found.params["interval_over"], found.params["correction"]) == ("rounds", "pointwise")
    assert found.params["verdict"] == "faster"


def test_unsteady_rounds_are_told_with_what_to_do() -> None:
    def jumping(name: str, twin: bool, process: int, number: int) -> float:
        return 0.1 * (1.0 if number % 2 else 1.5)

    detail = row(measured(samples(jumping)), "encode_throughput", "other").detail or ""
    assert "unsteady: the middle half of the rounds spreads over" in detail
    assert "close other programs, or raise rounds and processes" in detail


def test_a_process_that_was_kept_waiting_and_one_that_drifts_are_told() -> None:
    waited = row(measured(samples(twice_as_fast, wall=1.5)), "encode_throughput", "other")
    assert "kept waiting: 1.50 s on the wall for a second of CPU" in (waited.detail or "")

    def drifting(name: str, twin: bool, process: int, number: int) -> float:
        return 0.1 if number < 6 else 0.13

    drift = row(measured(samples(drifting)), "encode_throughput", "other").detail or ""
    assert "drifting: the second half of the rounds differs by 30%" in drift


def test_a_pinned_tokenizer_far_from_itself_is_told() -> None:
    def apart(name: str, twin: bool, process: int, number: int) -> float:
        return 0.1 * (1.2 if twin else 1.0)

    found = row(measured(samples(apart)), "timing_floor", "pinned")
    assert found.value == pytest.approx(1.2)
    assert "differs by 20.0%: smaller differences mean nothing here" in (found.detail or "")


def test_a_pinned_tokenizer_that_was_not_timed_leaves_no_ratio_and_says_so() -> None:
    rest = [s for s in samples(twice_as_fast) if s.tokenizer != "pinned"]
    failure = Failure(tokenizer="pinned", case=CASE, reason="its process ended")
    timed = measured(rest, failures=[failure])
    found = row(timed, "relative_speed", "other")
    assert (found.status, found.value) == ("refused", None)
    assert found.detail == "the pinned tokenizer pinned was not timed here"
    assert row(timed, "encode_throughput", "other").value is not None
    assert [f.message for f in timed.findings] == ["not timed: its process ended"]


def test_what_failed_in_one_process_has_no_value_from_the_others() -> None:
    failure = Failure(tokenizer="other", case=CASE, reason="its process ended")
    timed = measured(samples(twice_as_fast), failures=[failure])
    assert row(timed, "encode_throughput", "other").status == "failed"
    ratios = [m.tokenizer for m in timed.measurements if m.metric.name == "relative_speed"]
    assert ratios == ["third"]
    assert len(timed.samples) == len(samples(twice_as_fast))


def test_latency_is_percentiles_over_calls() -> None:
    case = Case(corpus="web", phase="latency", call="single", length="to_9", blocks=(("a", "b"),))
    calls = [
        Sample(
            tokenizer="pinned",
            corpus="web",
            length="to_9",
            phase="latency",
            call="single",
            threads=1,
            text="repeated",
            process=0,
            round=n,
            item=item,
            bytes=1,
            wall_seconds=(n * 2 + item + 1) * 1e-6,
        )
        for n in range(50)
        for item in (0, 1)
    ]
    contest = Contest(
        tokenizers={"pinned": None},  # type: ignore[dict-item]
        texts={},
        seed=0,
        progress=lambda text: None,
    )
    grid = Grid(cases=[case], rounds=50, warm_ups=1)
    timed = values(contest, grid, calls, [], {"pinned": "pinned"})
    assert row(timed, "latency_p50", "pinned").value == pytest.approx(50.5)
    assert row(timed, "latency_p99", "pinned").value == pytest.approx(99.01)
