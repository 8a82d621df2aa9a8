"""Timing: fresh worker processes that take turns, raw samples kept.

Each tokenizer lives in a process of its own for each number of threads, started fresh and alone
with the text, several times over. The processes take turns, one at a time: cases come in an order
shuffled each round, and within each case the tokenizers do, so that a slow minute of the machine
slows all of them alike. Pinned tokenizers, which the others are compared with, run twice: what
their two processes differ by is the floor below which no difference means anything.

Garbage collection is off inside a sample. Only the library's own calls are timed, without offsets.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tokbench.bench.cache import scratch_folder
from tokbench.bench.config.limits import Limits
from tokbench.bench.environment import no_garbage_collection, peak_bytes
from tokbench.bench.errors import Refusal, TokbenchError
from tokbench.bench.model import Finding, Measurement, Place, Tokenizer
from tokbench.bench.plugins import TrainerPlugin
from tokbench.bench.timing.cases import (
    CallShape,
    Case,
    Phase,
    Sight,
    bytes_of,
    call_of,
    pin_threads,
    single_call,
)
from tokbench.bench.timing.standalone_worker import timed
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.process import WorkerProcess
from tokbench.bench.workers.sources import TokenizerSource, failures_named
from tokbench.bench.workers.state import THIS


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One timed stretch: `passes` times the same documents, `bytes` long each time.

    `item` counts the documents of a latency sample, which is one call; other samples have 0.
    `peak_bytes` is on load samples only: the highest resident memory of that process at its end.
    """

    source: str = "tokbench"
    """Whose clock: tokbench's own, or pytest-benchmark's where its JSON was imported."""
    tokenizer: str
    twin: bool = False
    corpus: str | None = None
    language: str | None = None
    length: str | None = None
    phase: Phase
    call: CallShape | None = None
    batch_size: int | None = None
    threads: int
    text: Sight | None = None
    process: int
    round: int = 0
    item: int = 0
    warm_up: bool = False
    passes: int = 1
    bytes: int | None = None
    wall_seconds: float
    cpu_seconds: float | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a tokenizer of the run was trained, to be trained again by the clock."""

    trainer: TrainerPlugin
    corpus: str
    languages: Sequence[str]


Texts = Mapping[Place, Iterable[str]]
"""The documents of each corpus and language; they may be iterated again."""


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Input of a clock suite: tokenizers, and the documents of each corpus and language."""

    tokenizers: Mapping[str, TokenizerSource]
    texts: Texts
    seed: int
    progress: Callable[[str], None]
    share: Callable[[float], None] = lambda share: None
    """Called with the share of a suite's timing that is done, from 0 to 1."""
    training: Mapping[str, Training] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    """Seconds that a worker may take for one sample, a load or a training."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What a clock suite found: values, every raw sample behind them, and what went wrong."""

    measurements: Sequence[Measurement]
    samples: Sequence[Sample]
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How often everything is timed."""

    processes: int
    rounds: int
    warm_ups: int
    seconds: float
    """Repeated text is encoded again until a sample takes about this long."""
    pinned: frozenset[str]
    """Tokenizers that run twice."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A case that could not be timed for a tokenizer, and why."""

    tokenizer: str
    case: Case
    reason: str
    refused: bool = False
    """Whether there is no such call, rather than one that failed."""


class _Lane(NamedTuple):
    """A tokenizer with a number of threads: each has its own process."""

    tokenizer: str
    threads: int
    twin: bool


def take_turns(
    contest: Contest, cases: Sequence[Case], schedule: Schedule
) -> tuple[list[Sample], list[Failure]]:
    """Return the samples of all processes and rounds, and the cases that failed on the way."""
    turns = _Turns(contest, cases, schedule)
    for process in range(schedule.processes):
        turns.run(process)
    return turns.samples, list(turns.failures.values())


class _Turns:
    """The state of a contest: what was sampled and what has failed."""

    def __init__(self, contest: Contest, cases: Sequence[Case], schedule: Schedule) -> None:
        self._contest = contest
        self._cases = cases
        self._schedule = schedule
        self._order = random.Random(contest.seed)
        self.samples: list[Sample] = []
        self.failures: dict[tuple[str, int], Failure] = {}

    def run(self, process: int) -> None:
        """Start a fresh process for each lane, let them take turns, and end them."""
        workers: dict[_Lane, _LaneWorker] = {}
        try:
            for lane in self._lanes():
                worker = _LaneWorker(lane, self._contest, self._cases, self._schedule.seconds)
                workers[lane] = worker
                self._guarded(workers, lane, range(len(self._cases)), worker.start)
            total = self._schedule.warm_ups + self._schedule.rounds
            for number in range(total):
                self._contest.share((process + number / total) / self._schedule.processes)
                self._contest.progress(
                    f"timing, process {process + 1} of {self._schedule.processes}, "
                    f"round {number + 1} of {total}"
                )
                for case in self._order.sample(range(len(self._cases)), len(self._cases)):
                    self._round(workers, case, process, number)
            for lane, worker in list(workers.items()):
                self._guarded(workers, lane, (), partial(self._end, worker, process))
        finally:
            for worker in workers.values():
                worker.stop()

    def _lanes(self) -> Iterator[_Lane]:
        for name in self._contest.tokenizers:
            for threads in sorted({case.threads for case in self._cases}):
                for twin in (False, True) if name in self._schedule.pinned else (False,):
                    yield _Lane(name, threads, twin)

    def _round(
        self, workers: dict[_Lane, _LaneWorker], number: int, process: int, round_: int
    ) -> None:
        case = self._cases[number]
        lanes = [
            lane
            for lane in workers
            if lane.threads == case.threads
            and (lane.tokenizer, number) not in self.failures
            and (case.phase != "train" or self._trains(lane.tokenizer, case))
        ]
        for lane in self._order.sample(lanes, len(lanes)):
            warm_up = round_ < self._schedule.warm_ups
            turn = partial(self._turn, workers[lane], number, process, round_, warm_up)
            self._guarded(workers, lane, [number], turn)

    def _trains(self, tokenizer: str, case: Case) -> bool:
        training = self._contest.training.get(tokenizer)
        return training is not None and case.corpus == training.corpus

    def _turn(
        self, worker: _LaneWorker, number: int, process: int, round_: int, warm_up: bool
    ) -> None:
        case = self._cases[number]
        for item, lap in enumerate(worker.turn(number, round_, warm_up=warm_up)):
            self.samples.append(
                Sample(
                    tokenizer=worker.lane.tokenizer,
                    twin=worker.lane.twin,
                    corpus=case.corpus,
                    language=case.language,
                    length=case.length,
                    phase=case.phase,
                    call=case.call,
                    batch_size=case.batch_size,
                    threads=case.threads,
                    text=case.sight,
                    process=process,
                    round=round_,
                    item=item,
                    warm_up=warm_up,
                    passes=lap.passes,
                    bytes=lap.bytes,
                    wall_seconds=lap.wall_seconds,
                    cpu_seconds=lap.cpu_seconds,
                )
            )

    def _end(self, worker: _LaneWorker, process: int) -> None:
        loaded, peak = worker.end()
        self.samples.append(
            Sample(
                tokenizer=worker.lane.tokenizer,
                twin=worker.lane.twin,
                phase="load",
                threads=worker.lane.threads,
                process=process,
                wall_seconds=loaded.wall_seconds,
                cpu_seconds=loaded.cpu_seconds,
                peak_bytes=peak,
            )
        )

    def _guarded(
        self,
        workers: dict[_Lane, _LaneWorker],
        lane: _Lane,
        cases: Iterable[int],
        action: Callable[[], None],
    ) -> None:
        """Call a worker; failures are recorded, and a lost worker is dropped."""
        try:
            action()
        except _Lost as exc:
            workers.pop(lane).stop()
            mine = [i for i, case in enumerate(self._cases) if case.threads == lane.threads]
            self._fail(lane.tokenizer, mine, str(exc))
        except TokbenchError as exc:
            self._fail(lane.tokenizer, cases, str(exc), refused=isinstance(exc, Refusal))

    def _fail(
        self, tokenizer: str, cases: Iterable[int], reason: str, *, refused: bool = False
    ) -> None:
        for number in cases:
            failure = Failure(
                tokenizer=tokenizer, case=self._cases[number], reason=reason, refused=refused
            )
            self.failures.setdefault((tokenizer, number), failure)


@dataclass(frozen=True, kw_only=True)
class _Lap:
    """A worker's report on one stretch."""

    passes: int
    bytes: int | None
    wall_seconds: float
    cpu_seconds: float | None


class _Lost(TokbenchError):  # noqa: N818 - where the worker went, not a fault of ours
    """Raised when a worker was lost."""


class _LaneWorker:
    """One lane's process, seen from here."""

    def __init__(
        self, lane: _Lane, contest: Contest, cases: Sequence[Case], seconds: float
    ) -> None:
        self.lane = lane
        self._job = _LaneJob(
            source=contest.tokenizers[lane.tokenizer],
            training=contest.training.get(lane.tokenizer),
            cases=tuple(cases),
            threads=lane.threads,
            seconds=seconds,
            limits=contest.limits,
        )
        self._process: WorkerProcess | None = None

    def start(self) -> None:
        self._process = WorkerProcess.start()
        try:
            self._ask("while loading", _begin, self._job)
        except TokbenchError as exc:
            raise _Lost(str(exc)) from exc

    def turn(self, case: int, number: int, *, warm_up: bool) -> list[_Lap]:
        laps: list[_Lap] = self._ask("while it was being timed", _turn, case, number, warm_up)
        return laps

    def end(self) -> tuple[_Lap, int]:
        loaded, peak = self._ask("while it was being timed", _end)
        return loaded, peak

    def _ask(self, doing: str, fn: Callable[..., Any], *arguments: object) -> Any:
        assert self._process is not None
        answer = self._process.ask(fn, *arguments)
        if isinstance(answer, Died):
            raise _Lost(f"{answer.reason} {doing}")
        return answer

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()


@dataclass(frozen=True, kw_only=True)
class _LaneJob:
    """What a lane's process is started with."""

    source: TokenizerSource
    training: Training | None
    cases: tuple[Case, ...]
    threads: int
    seconds: float
    limits: Limits


def _begin(job: _LaneJob) -> None:
    """Load the tokenizer in the worker; what its library fails with is a `TokbenchError`."""
    pin_threads(job.threads)
    heartbeat.at("load", seconds=job.limits.load_seconds, limit="limits.load_seconds")
    with failures_named():
        THIS.session = Session(job)


def _turn(case: int, round_: int, warm_up: bool) -> list[_Lap]:
    with failures_named():
        laps: list[_Lap] = THIS.session.turn(case, round_, warm_up)
    return laps


def _end() -> tuple[_Lap, int]:
    return THIS.session.loaded, peak_bytes()


class Session:
    """A loaded tokenizer in its worker, and the calls that have been prepared."""

    def __init__(self, job: _LaneJob) -> None:
        self._job = job
        wall, cpu = time.perf_counter(), time.process_time()
        self._tokenizer: Tokenizer = job.source.load()
        self.loaded = _Lap(
            passes=1,
            bytes=None,
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )
        self._calls: dict[tuple[int, int], Callable[[], object]] = {}
        self._passes: dict[int, int] = {}

    def turn(self, number: int, round_: int, warm_up: bool) -> list[_Lap]:
        """Time one case once."""
        case, limits = self._job.cases[number], self._job.limits
        if case.phase == "train":
            heartbeat.at("turn", seconds=limits.train_seconds, limit="limits.train_seconds")
        else:
            heartbeat.at("turn", seconds=limits.seconds, limit="limits.seconds")
        documents = case.block(round_)
        if case.phase == "latency":
            return self._latencies(documents)
        passes = self._passes.get(number, 1)
        wall, cpu = timed(self._call(number, round_), passes)
        if warm_up and case.sight == "repeated" and case.phase != "train":
            self._passes[number] = max(1, round(self._job.seconds / max(wall / passes, 1e-6)))
        return [_Lap(passes=passes, bytes=bytes_of(documents), wall_seconds=wall, cpu_seconds=cpu)]

    def _call(self, number: int, round_: int) -> Callable[[], object]:
        case = self._job.cases[number]
        key = number, round_ % len(case.blocks)
        if key not in self._calls:
            documents = case.block(round_)
            if case.phase == "train":
                assert self._job.training is not None
                self._calls[key] = partial(_train, self._job.training.trainer, documents)
            else:
                self._calls[key] = call_of(self._tokenizer, case, documents)
            gc.collect()
            gc.freeze()  # so that the collection before each sample has little to walk
        return self._calls[key]

    def _latencies(self, documents: Sequence[str]) -> list[_Lap]:
        """Time each document on its own."""
        call, clock = single_call(self._tokenizer), time.perf_counter
        walls = []
        gc.collect()
        with no_garbage_collection():
            for text in documents:
                start = clock()
                call(text)
                walls.append(clock() - start)
        return [
            _Lap(passes=1, bytes=len(text.encode()), wall_seconds=wall, cpu_seconds=None)
            for text, wall in zip(documents, walls, strict=True)
        ]


def _train(trainer: TrainerPlugin, documents: Sequence[str]) -> None:
    with scratch_folder("train") as folder:
        trainer.train(documents, folder)
