"""From raw samples to values: speeds, ratios to the pinned tokenizer, and how far to trust them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, quantiles
from typing import Any

import numpy as np

from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.timing.cases import Case, Grid, LeftOut, bytes_of, lengths_of
from tokbench.bench.timing.contest import Contest, Failure, Sample, Timed
from tokbench.bench.timing.ratios import Ratio, holm, ratio_of
from tokbench.suites.throughput.specs import (
    LATENCY_P50,
    LATENCY_P99,
    LOAD_TIME,
    PEAK_MEMORY,
    RELATIVE_SPEED,
    THROUGHPUT,
    TIMING_FLOOR,
)

UNSTEADY = 0.1
"""Distance of the quartiles, as a share of the median, above which rounds are called unsteady."""
WAITED = 1.15
"""Wall ÷ CPU time on one thread above which the process was kept waiting."""
HIGH_FLOOR = 1.03
ALPHA = 0.05

ByRound = Mapping[int, Mapping[int, float]]
"""Seconds for one pass, by process and round."""


@dataclass(frozen=True, kw_only=True)
class PinnedRatio:
    """A tokenizer beside its pinned one on a case; `ratio` is None where rounds are too few."""

    tokenizer: str
    pinned: str
    case: Case
    ratio: Ratio | None
    floor: Ratio | None
    p_holm: float | None = None

    @property
    def verdict(self) -> str:
        """Return faster, slower or not resolvable."""
        ratio = self.ratio
        if ratio is None or ratio.covers_one or self._within_floor(ratio):
            return "not resolvable"
        if self.p_holm is not None and self.p_holm >= ALPHA:
            return "not resolvable"
        return "faster" if ratio.estimate > 1 else "slower"

    def _within_floor(self, ratio: Ratio) -> bool:
        return self.floor is not None and distance(ratio.estimate) <= distance(self.floor.estimate)


def distance(ratio: float) -> float:
    """Return how far a ratio is from 1, whichever way.

    >>> distance(0.5), distance(2.0)
    (2.0, 2.0)
    """
    return max(ratio, 1 / ratio)


class CaseSamples:
    """The samples of a contest by who and what they are of; warm-ups are left out."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_case: dict[tuple[str, bool, Any], list[Sample]] = defaultdict(list)
        self.loads: dict[tuple[str, int], list[Sample]] = defaultdict(list)
        for sample in samples:
            if sample.phase == "load":
                if not sample.twin:
                    self.loads[sample.tokenizer, sample.threads].append(sample)
            elif not sample.warm_up:
                self._by_case[sample.tokenizer, sample.twin, _identity(sample)].append(sample)

    def of(self, tokenizer: str, case: Case, *, twin: bool = False) -> list[Sample]:
        """Return the samples of a tokenizer on a case, by process and round."""
        return self._by_case.get((tokenizer, twin, _identity(case)), [])

    def seconds(self, tokenizer: str, case: Case, *, twin: bool = False) -> ByRound:
        """Return what two tokenizers are compared by."""
        found: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for sample in self.of(tokenizer, case, twin=twin):
            found[sample.process][sample.round].append(_compared(sample, case))
        return {
            process: {number: median(several) for number, several in rounds.items()}
            for process, rounds in found.items()
        }


def _identity(one: Sample | Case) -> tuple[Any, ...]:
    sight = one.sight if isinstance(one, Case) else one.text
    return (
        one.corpus,
        one.language,
        one.length,
        one.phase,
        one.call,
        one.batch_size,
        one.threads,
        sight,
    )


def _compared(sample: Sample, case: Case) -> float:
    by_cpu = case.threads == 1 and sample.cpu_seconds is not None
    seconds = sample.cpu_seconds if by_cpu else sample.wall_seconds
    assert seconds is not None
    return max(seconds / sample.passes, 1e-9)


def values(
    contest: Contest,
    grid: Grid,
    samples: Sequence[Sample],
    failures: Sequence[Failure],
    pinned: Mapping[str, str],
) -> Timed:
    """Return every value of the suite, and a finding for each tokenizer that failed."""
    failed = {(f.tokenizer, _identity(f.case)): f for f in failures}
    # what failed in one process has no value, whatever others gave; its samples are stored
    kept = CaseSamples(s for s in samples if (s.tokenizer, _identity(s)) not in failed)
    measurements: list[Measurement] = []
    comparisons = list(_corrected_by_kind(_comparisons(contest, grid, kept, pinned)))
    for case in grid.cases:
        facts = {**case.params(), "documents": len(case.blocks[0])}
        facts |= {"bytes": bytes_of(case.blocks[0]), "document_bytes": lengths_of(case.blocks[0])}
        for name in contest.tokenizers:
            if failure := failed.get((name, _identity(case))):
                measurements += _without(case, name, failure)
            elif found := kept.of(name, case):
                measurements += _speeds(case, name, found, facts)
        measurements += _ratios(case, contest, comparisons, failed, pinned)
        measurements += _floors(case, kept, pinned)
    measurements += _processes(kept, contest)
    measurements += _left_out(grid.left_out, contest)
    return Timed(measurements=measurements, samples=samples, findings=list(_findings(failures)))


def _row(metric: MetricSpec, case: Case, tokenizer: str, **values_: Any) -> Measurement:
    return Measurement(
        metric=metric,
        tokenizer=tokenizer,
        corpus=case.corpus,
        language=case.language,
        **values_,
    )


def _speeds(
    case: Case, tokenizer: str, samples: Sequence[Sample], facts: Mapping[str, Any]
) -> Iterator[Measurement]:
    if case.phase == "latency":
        walls = np.array([sample.wall_seconds for sample in samples]) * 1e6
        for metric, level in ((LATENCY_P50, 50), (LATENCY_P99, 99)):
            yield _row(
                metric,
                case,
                tokenizer,
                value=float(np.percentile(walls, level)),
                n=len(walls),
                params={**facts, "unit_of_n": "calls"},
            )
        return
    speeds = [
        (s.process, (s.bytes or 0) * s.passes / 1e6 / max(s.wall_seconds, 1e-9)) for s in samples
    ]
    every = [speed for _, speed in speeds]
    medians = [
        median(speed for process, speed in speeds if process == one)
        for one in dict.fromkeys(process for process, _ in speeds)
    ]
    low, _, high = quantiles(every, n=4, method="inclusive")
    value = median(medians)
    yield _row(
        THROUGHPUT[case.phase],
        case,
        tokenizer,
        value=value,
        n=len(every),
        params={
            **facts,
            "unit_of_n": "rounds",
            "processes": len(medians),
            "quartiles": [low, high],
            "megacharacters_per_second": value * _characters_per_byte(case),
            "wall_per_cpu": _wall_per_cpu(samples),
        },
        **_unsteady(instabilities(case, samples, every)),
    )


def _unsteady(symptoms: Iterable[str]) -> dict[str, str | None]:
    words = "; ".join(symptoms)
    return {"reason": "unsteady", "detail": words} if words else {}


def _characters_per_byte(case: Case) -> float:
    documents = case.blocks[0]
    return sum(map(len, documents)) / max(bytes_of(documents), 1)


def _wall_per_cpu(samples: Sequence[Sample]) -> float | None:
    shares = [s.wall_seconds / s.cpu_seconds for s in samples if s.cpu_seconds]
    return median(shares) if shares else None


def instabilities(case: Case, samples: Sequence[Sample], speeds: Sequence[float]) -> Iterator[str]:
    """Yield what makes a speed uncertain, and what to do about it."""
    low, middle, high = quantiles(speeds, n=4, method="inclusive")
    spread = (high - low) / middle if middle else 0.0
    if spread > UNSTEADY:
        yield (
            f"unsteady: the middle half of the rounds spreads over {spread:.0%} of the median; "
            "close other programs, or raise rounds and processes"
        )
    waited = _wall_per_cpu(samples)
    if case.threads == 1 and waited is not None and waited > WAITED:
        yield (
            f"kept waiting: {waited:.2f} s on the wall for a second of CPU, so other programs ran; "
            "the ratio is by CPU time, read that or time it again alone"
        )
    drift = _drift(samples)
    if drift > UNSTEADY:
        yield (
            f"drifting: the second half of the rounds differs by {drift:.0%} from the first; "
            "raise warm_ups, or let the machine cool down"
        )


def _drift(samples: Sequence[Sample]) -> float:
    """Return how far the medians of the earlier and the later rounds are apart."""
    rounds = sorted({sample.round for sample in samples})
    middle = rounds[len(rounds) // 2]
    halves = [
        [
            s.wall_seconds / s.passes / max(s.bytes or 1, 1)
            for s in samples
            if (s.round < middle) is first
        ]
        for first in (True, False)
    ]
    if not all(halves):
        return 0.0
    return distance(max(median(halves[1]), 1e-15) / max(median(halves[0]), 1e-15)) - 1


def _comparisons(
    contest: Contest, grid: Grid, samples: CaseSamples, pinned: Mapping[str, str]
) -> Iterator[PinnedRatio]:
    for case in grid.cases:
        for name in contest.tokenizers:
            other = pinned[name]
            if name == other or not samples.of(name, case) or not samples.of(other, case):
                continue
            yield PinnedRatio(
                tokenizer=name,
                pinned=other,
                case=case,
                ratio=_ratio(samples.seconds(other, case), samples.seconds(name, case)),
                floor=floor_of(samples, other, case),
            )


def floor_of(samples: CaseSamples, pinned: str, case: Case) -> Ratio | None:
    """Return the ratio of a pinned tokenizer to its twin."""
    return _ratio(samples.seconds(pinned, case), samples.seconds(pinned, case, twin=True))


def _ratio(top: ByRound, bottom: ByRound) -> Ratio | None:
    """Return top ÷ bottom over the rounds that both have, process by process."""
    processes = [
        [top[p][r] / bottom[p][r] for r in sorted(top[p].keys() & bottom[p].keys())]
        for p in sorted(top.keys() & bottom.keys())
    ]
    return ratio_of([rounds for rounds in processes if rounds])


def _corrected_by_kind(comparisons: Iterable[PinnedRatio]) -> Iterator[PinnedRatio]:
    """Correct within each kind of call: comparisons that a reader sees in one table."""
    families: dict[tuple[Any, ...], list[PinnedRatio]] = defaultdict(list)
    for comparison in comparisons:
        families[_kind_of_call(comparison.case)].append(comparison)
    for family in families.values():
        yield from corrected(family)


def _kind_of_call(case: Case) -> tuple[Any, ...]:
    return case.phase, case.call, case.batch_size, case.threads, case.sight


def corrected(comparisons: Sequence[PinnedRatio]) -> list[PinnedRatio]:
    """Give each comparison its p-value corrected by Holm; none where one has no p-value."""
    p_values = [c.ratio.p if c.ratio else None for c in comparisons]
    known = [p for p in p_values if p is not None]
    if len(known) < len(p_values):
        return list(comparisons)
    pairs = zip(comparisons, holm(known), strict=True)
    return [replace(comparison, p_holm=p) for comparison, p in pairs]


def _ratios(
    case: Case,
    contest: Contest,
    comparisons: Sequence[PinnedRatio],
    failed: Mapping[tuple[str, Any], Failure],
    pinned: Mapping[str, str],
) -> Iterator[Measurement]:
    family = sum(_kind_of_call(c.case) == _kind_of_call(case) for c in comparisons)
    for comparison in comparisons:
        if comparison.case is case:
            yield _relative(comparison, family)
    compared = {c.tokenizer for c in comparisons if c.case is case}
    for name in contest.tokenizers:
        other = pinned[name]
        if name in compared or name == other or (name, _identity(case)) in failed:
            continue
        if case.phase == "train" and name not in contest.training:
            continue
        reason = f"the pinned tokenizer {other} was not timed here"
        if other not in contest.tokenizers:
            reason = f"the pinned tokenizer {other} is not in this run, or was not loaded"
        params = {**case.params(), "reference": other}
        yield _row(
            RELATIVE_SPEED,
            case,
            name,
            params=params,
            status="refused",
            reason="reference_missing",
            detail=reason,
        )


def _relative(comparison: PinnedRatio, comparisons: int) -> Measurement:
    ratio, case = comparison.ratio, comparison.case
    params = {**case.params(), "reference": comparison.pinned, "comparisons": comparisons}
    if ratio is None:
        return _row(
            RELATIVE_SPEED,
            case,
            comparison.tokenizer,
            params=params,
            status="refused",
            reason="too_few_rounds",
            detail="too few rounds for an interval: six at least, or three processes",
        )
    params |= {
        "verdict": comparison.verdict,
        "correction": "pointwise" if comparison.p_holm is None else "holm",
        "p_holm": comparison.p_holm,
        "floor": distance(comparison.floor.estimate) if comparison.floor else None,
        "unit_of_n": "rounds",
        "processes": ratio.processes,
        "interval_over": ratio.over,
    }
    return _row(
        RELATIVE_SPEED,
        case,
        comparison.tokenizer,
        value=ratio.estimate,
        ci_low=ratio.low,
        ci_high=ratio.high,
        n=ratio.rounds,
        params=params,
    )


def _floors(case: Case, samples: CaseSamples, pinned: Mapping[str, str]) -> Iterator[Measurement]:
    for name in dict.fromkeys(pinned.values()):
        ratio = floor_of(samples, name, case)
        if ratio is None:
            continue
        value = distance(ratio.estimate)
        advice = (
            f"the same tokenizer in two processes differs by {value - 1:.1%}: smaller differences "
            "mean nothing here; raise processes, or time it on a quieter machine"
        )
        yield _row(
            TIMING_FLOOR,
            case,
            name,
            value=value,
            n=ratio.rounds,
            params={
                **case.params(),
                "unit_of_n": "rounds",
                "processes": ratio.processes,
                "ratio": ratio.estimate,
                "interval": [ratio.low, ratio.high],
                "interval_over": ratio.over,
            },
            **_unsteady([advice] if value > HIGH_FLOOR else []),
        )


def _processes(samples: CaseSamples, contest: Contest) -> Iterator[Measurement]:
    """Yield load time and peak memory, by number of threads."""
    for (name, threads), loads in samples.loads.items():
        if name not in contest.tokenizers:
            continue
        params = {"threads": threads, "unit_of_n": "processes"}
        peaks = [one.peak_bytes for one in loads if one.peak_bytes]
        found = {LOAD_TIME: median(one.wall_seconds for one in loads)}
        if peaks:
            found[PEAK_MEMORY] = median(peaks) / 1e6
        for metric, value in found.items():
            yield Measurement(
                metric=metric,
                tokenizer=name,
                value=value,
                n=len(loads),
                params=params,
            )


def _metrics_of(case: Case) -> tuple[MetricSpec, ...]:
    if case.phase == "latency":
        return LATENCY_P50, LATENCY_P99
    return (THROUGHPUT[case.phase],)


def _without(case: Case, tokenizer: str, failure: Failure) -> Iterator[Measurement]:
    """Give a case that could not be timed its rows, with the reason in place of a value."""
    detail = f"not timed: {failure.reason}"
    status, reason = ("refused", "call_missing") if failure.refused else ("failed", "timing_failed")
    for metric in _metrics_of(case):
        yield _row(
            metric,
            case,
            tokenizer,
            params=case.params(),
            status=status,
            reason=reason,
            detail=detail,
        )


def _left_out(left_out: Sequence[LeftOut], contest: Contest) -> Iterator[Measurement]:
    for one in left_out:
        for metric in _metrics_of(one.case):
            for name in contest.tokenizers:
                yield _row(
                    metric,
                    one.case,
                    name,
                    params=one.case.params(),
                    status="refused",
                    reason="too_few_documents",
                    detail=f"not timed: {one.reason}",
                )


def _findings(failures: Sequence[Failure]) -> Iterator[Finding]:
    """Yield one finding for each tokenizer and reason."""
    broken = [failure for failure in failures if not failure.refused]
    for tokenizer, reason in dict.fromkeys((f.tokenizer, f.reason) for f in broken):
        yield Finding(
            kind="failure",
            reason="timing_failed",
            tokenizer=tokenizer,
            message=f"not timed: {reason}",
        )
