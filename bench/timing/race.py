"""Two sides on the same text, turn by turn: the laps behind a verdict on speed.

`race` is one fresh process of both sides, or one fresh pair of processes; it sees a `Track`, which
can run a lap of either side. `InOneProcess` is a track whose sides are two tokenizers that tokbench
loaded, and `run_in_fresh_process` starts a process for it; `tokbench.bench.speed.interpreters` is
the other.
"""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tokbench.bench.errors import TokbenchError
from tokbench.bench.model import Tokenizer
from tokbench.bench.timing.cases import Case, call_of, pin_threads
from tokbench.bench.timing.standalone_worker import digest_of_ids, thinned, timed
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.process import WorkerProcess
from tokbench.bench.workers.sources import TokenizerSource, failures_named

Side = Literal["base", "candidate"]
SIDES: tuple[Side, Side] = ("base", "candidate")
WARM_UPS = 2
REPLY_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Part of a case that a lap encodes: every stride-th document, repeated."""

    stride: int = 1
    passes: int = 1


@dataclass(frozen=True, kw_only=True)
class Lap:
    """One side's part of a round."""

    case: int
    side: Side
    round: int
    warm_up: bool
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Race:
    """What one fresh process, or pair of them, gave: laps, and a hash of each side's ids by case."""

    laps: Sequence[Lap]
    workloads: Sequence[Workload]
    ids: tuple[Sequence[str], Sequence[str]] | None
    """None if they were checked before."""


class Track(Protocol):
    """Both sides, loaded and ready."""

    def lap(self, side: Side, case: int, load: Workload) -> tuple[float, float]:
        """Return wall and CPU seconds of one lap."""

    def ids(self, side: Side) -> Sequence[str]:
        """Return a hash of the ids of each case's documents."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How long a race is."""

    rounds: int
    seconds: float
    """What a lap should take, about."""
    seed: int


def race(
    track: Track, cases: Sequence[Case], workloads: Sequence[Workload] | None, rules: Rules
) -> Race:
    """Run rounds in which the cases, and the sides within each, come in shuffled order.

    Workloads are the same for both sides. Where none are given it is the first race: they are
    fitted on the base, and ids are compared.
    """
    ids = None
    if workloads is None:
        ids = track.ids("base"), track.ids("candidate")
        workloads = [_fitted(track, i, case, rules.seconds) for i, case in enumerate(cases)]
    order = random.Random(rules.seed)
    laps = []
    for number in range(WARM_UPS + rules.rounds):
        for case in order.sample(range(len(cases)), len(cases)):
            for side in order.sample(SIDES, 2):
                wall, cpu = track.lap(side, case, workloads[case])
                laps.append(
                    Lap(
                        case=case,
                        side=side,
                        round=number,
                        warm_up=number < WARM_UPS,
                        wall_seconds=wall,
                        cpu_seconds=cpu,
                    )
                )
    return Race(laps=laps, workloads=workloads, ids=ids)


def _fitted(track: Track, number: int, case: Case, seconds: float) -> Workload:
    """Return the workload that takes about so long on the base, once its caches are warm."""
    walls = [track.lap("base", number, Workload())[0] for _ in range(3)]
    share = seconds / max(min(walls), 1e-6)
    if share >= 1:
        return Workload(passes=round(share))
    return Workload(stride=min(math.ceil(1 / share), len(case.blocks[0])))


def ratios_of(found: Race, case: Case, number: int) -> list[float]:
    """Return candidate ÷ base of each round: by CPU time on one thread, by wall time on several."""
    seconds: dict[Side, list[float]] = {"base": [], "candidate": []}
    for lap in found.laps:  # rounds come in order, so both lists are by round
        if lap.case == number and not lap.warm_up:
            one = lap.cpu_seconds if case.threads == 1 else lap.wall_seconds
            seconds[lap.side].append(max(one, 1e-9))
    return [c / b for b, c in zip(seconds["base"], seconds["candidate"], strict=True)]


class InOneProcess:
    """Both sides in this process."""

    def __init__(
        self, base: TokenizerSource, candidate: TokenizerSource, cases: Sequence[Case], seed: int
    ) -> None:
        sources = {"base": base, "candidate": candidate}
        self._cases = cases
        self._tokenizers: dict[Side, Tokenizer] = {}
        for side in random.Random(seed).sample(SIDES, 2):  # who comes first gets other addresses
            self._tokenizers[side] = sources[side].load()
        self._calls: dict[tuple[Side, int, Workload], Callable[[], object]] = {}

    def lap(self, side: Side, case: int, load: Workload) -> tuple[float, float]:
        """Time one lap; its call is built before, once."""
        key = side, case, load
        if key not in self._calls:
            one = self._cases[case]
            documents = thinned(one.blocks[0], load.stride)
            self._calls[key] = call_of(self._tokenizers[side], one, documents)
            gc.collect()
            gc.freeze()  # so that the collection before each lap has little to walk
        return timed(self._calls[key], load.passes)

    def ids(self, side: Side) -> list[str]:
        """Return the hashes of one side."""
        encode = self._tokenizers[side].encode_batch
        return [digest_of_ids(list(encode(list(case.blocks[0])))) for case in self._cases]


@dataclass(frozen=True, kw_only=True)
class RaceJob:
    """What a fresh process of both sides needs."""

    base: TokenizerSource
    candidate: TokenizerSource
    cases: Sequence[Case]
    workloads: Sequence[Workload] | None
    rules: Rules


def run_in_fresh_process(job: RaceJob) -> Race:
    """Race both sides in a process that has done nothing else.

    Raises `TokbenchError` when a library fails, or the process dies or times out.
    """
    process = WorkerProcess.start()
    try:
        found = process.ask(_race, job)
    finally:
        process.stop()
    if isinstance(found, Died):
        raise TokbenchError(f"{found.reason} while it was being timed")
    return found


def _race(job: RaceJob) -> Race:
    """Run in the worker: load both sides and race them."""
    heartbeat.at("race", seconds=REPLY_SECONDS)
    pin_threads(job.cases[0].threads)
    with failures_named():
        track = InOneProcess(job.base, job.candidate, job.cases, job.rules.seed)
        return race(track, job.cases, job.workloads, job.rules)
