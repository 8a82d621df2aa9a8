"""Is a candidate slower? Both sides are timed now, on this machine, and only then judged.

Two configs: the tokenizers that both have are timed side by side in one process. One config and two
interpreters: each library is timed in its own environment, by workers that need no tokbench. Text
and calls are those of the base's config; a stored figure is never judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from tokbench.bench.cache import scratch_folder
from tokbench.bench.config.gate import SpeedLimits
from tokbench.bench.config.schema import Config
from tokbench.bench.environment import cpu_model, library_versions
from tokbench.bench.errors import Refusal, TokbenchError, UsageError
from tokbench.bench.plugins import LoadContext, SuitePlugin, find
from tokbench.bench.progress import Progress
from tokbench.bench.run.clock_input import contest_of
from tokbench.bench.run.inputs import RunContext, prepare
from tokbench.bench.speed.interpreters import BarePair, Library, write_texts
from tokbench.bench.speed.verdict import Ratios, SpeedVerdict, decide, exit_code
from tokbench.bench.timing.cases import Case
from tokbench.bench.timing.race import (
    Race,
    RaceJob,
    Rules,
    Workload,
    race,
    ratios_of,
    run_in_fresh_process,
)
from tokbench.bench.timing.suite import ClockSuite
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.sources import TokenizerSource

SUITE = "throughput"
"""The suite whose cases are timed if the config names no clock suite."""


@dataclass(frozen=True, kw_only=True)
class Pythons:
    """The interpreters of two environments."""

    base: Path
    candidate: Path


@dataclass(frozen=True, kw_only=True)
class SpeedComparison:
    """The verdicts on speed, and the figures behind them."""

    base: str
    candidate: str
    verdicts: Sequence[SpeedVerdict]
    limits: SpeedLimits
    facts: Mapping[str, Any]
    laps: Sequence[Mapping[str, Any]] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 slower, 3 not compared, the chosen code if inconclusive, else 0."""
        return exit_code(self.verdicts, self.limits)

    def table(self) -> pa.Table:
        """Every lap: tokenizer, case, side, process, round, seconds."""
        return pa.Table.from_pylist(list(self.laps))


def compare_configs(
    base: Config, candidate: Config, *, progress: Progress, executor: Executor, seed: int = 0
) -> SpeedComparison:
    """Time the tokenizers that two configs share, both sides in one process.

    Raises `UsageError` if they share no tokenizer.
    """
    gate = _Gate(base, progress, executor, seed)
    theirs = prepare(RunContext(config=candidate, progress=progress, executor=executor)).sources
    if not gate.sources.keys() & theirs.keys():
        raise UsageError(
            f"{base.path} and {candidate.path} have no tokenizer under one key: "
            f"{', '.join(gate.sources)}; {', '.join(theirs)}"
        )
    for name in gate.sources:
        if name in theirs:
            gate.judge(name, _OneProcess(gate.sources[name], theirs[name]), gate.limits.processes)
        else:
            gate.cannot(name, "the candidate has no loadable tokenizer under this key")
    return gate.outcome(base.path, candidate.path, {"versions": library_versions()})


def compare_pythons(
    config: Config, pythons: Pythons, *, progress: Progress, executor: Executor, seed: int = 0
) -> SpeedComparison:
    """Time the libraries of two environments, each in workers of its own that take turns."""
    gate = _Gate(config, progress, executor, seed)
    versions: dict[str, Any] = {}
    with scratch_folder("speed") as folder:
        for name, source in gate.sources.items():
            pair = _TwoPythons(source, pythons, folder)
            gate.judge(name, pair, gate.limits.process_pairs)
            if pair.versions is not None:
                versions[name] = dict(zip(("base", "candidate"), pair.versions, strict=True))
    return gate.outcome(str(pythons.base), str(pythons.candidate), {"versions": versions})


class _Runner(Protocol):
    """Starts both sides afresh for one race."""

    one_thread_only: bool
    obstacle: str | None
    """Why it cannot."""
    remarks: tuple[str, ...]
    """Notes on the verdicts."""

    def run(
        self, cases: Sequence[Case], workloads: Sequence[Workload] | None, rules: Rules
    ) -> Race:
        """Return the race of fresh processes."""


class _OneProcess:
    def __init__(self, base: TokenizerSource, candidate: TokenizerSource) -> None:
        self._base, self._candidate = base, candidate
        self.one_thread_only = False
        self.obstacle: str | None = None
        self.remarks: tuple[str, ...] = ()

    def run(
        self, cases: Sequence[Case], workloads: Sequence[Workload] | None, rules: Rules
    ) -> Race:
        return run_in_fresh_process(
            RaceJob(
                base=self._base,
                candidate=self._candidate,
                cases=cases,
                workloads=workloads,
                rules=rules,
            )
        )


class _TwoPythons:
    def __init__(self, source: TokenizerSource, pythons: Pythons, folder: Path) -> None:
        self.one_thread_only = True
        self.obstacle: str | None = None
        self.remarks: tuple[str, ...] = ()
        self._folder = folder / source.key
        self._folder.mkdir()
        self.versions: tuple[str, str] | None = None
        spec = source.plugin.bare(LoadContext(folder=source.folder), self._folder)
        if spec is None:
            self.obstacle = (
                "its type requires tokbench, so its library cannot be timed alone; compare two "
                "configs in one process"
            )
        self._base = Library(python=pythons.base, spec=spec or {})
        self._candidate = Library(python=pythons.candidate, spec=spec or {})

    def run(
        self, cases: Sequence[Case], workloads: Sequence[Workload] | None, rules: Rules
    ) -> Race:
        texts = self._folder / "texts.json"
        write_texts(texts, cases)
        with BarePair(self._base, self._candidate, texts) as pair:
            self.versions = pair.versions()
            if reason := pair.obstacle():
                raise Refusal(reason)
            self.remarks = pair.remarks()
            return race(pair, cases, workloads, rules)


class _Gate:
    """The cases of a config, and the verdicts so far."""

    def __init__(self, config: Config, progress: Progress, executor: Executor, seed: int) -> None:
        self.limits = config.run.gate.speed
        self._progress = progress
        self._seed = seed
        context = RunContext(config=config, progress=progress, executor=executor)
        prepared = prepare(context)
        self.sources = prepared.sources
        contest = contest_of(context, prepared)
        suite = _clock_suite(config)
        self.cases = [
            case
            for case in suite.cases(contest).cases
            if case.phase in ("encode", "decode") and case.sight == "repeated"
        ]
        self._gated = config.run.gate
        self._verdicts: list[SpeedVerdict] = []
        self._laps: list[dict[str, Any]] = []
        for name, reason in prepared.untrained.items():
            self.cannot(name, reason)

    def cannot(self, name: str, reason: str) -> None:
        """Add the verdict on a tokenizer that is missing on one side."""
        self._verdicts.append(SpeedVerdict(cell=name, outcome="incomparable", reason=reason))

    def judge(self, name: str, runner: _Runner, first: int) -> None:
        """Add the verdicts on one tokenizer; threads are fixed where a process starts."""
        wanted = [case for case in self.cases if self._is_gated(name, case)]
        for threads in dict.fromkeys(case.threads for case in wanted):
            cases = {f"{name}-{c.id}": c for c in wanted if c.threads == threads}
            if threads > 1 and runner.one_thread_only:
                self.tell(f"{name}: {threads} threads are skipped: they require one process each")
                continue
            if runner.obstacle:
                self._verdicts += _incomparable(cases, runner.obstacle)
                continue
            measuring = _Measuring(name, cases, runner, self)
            try:
                verdicts = decide(list(cases), measuring.measure, self.limits, first=first)
            except UsageError:
                raise
            except TokbenchError as exc:
                self._verdicts += _incomparable(cases, str(exc))
                continue
            self._verdicts += measuring.remarked(verdicts)

    def _is_gated(self, name: str, case: Case) -> bool:
        settings = self._gated.settings(
            metric=f"{case.phase}_throughput",
            tokenizer=name,
            corpus=case.corpus,
            language=case.language,
        )
        return bool(settings.gated)

    def outcome(self, base: str, candidate: str, facts: Mapping[str, Any]) -> SpeedComparison:
        """Return the whole comparison."""
        return SpeedComparison(
            base=base,
            candidate=candidate,
            verdicts=self._verdicts,
            limits=self.limits,
            facts={"cpu": cpu_model(), "cells": len(self._verdicts), **facts},
            laps=self._laps,
        )

    def rules(self, process: int) -> Rules:
        """Return the rules of one more process."""
        return Rules(
            rounds=self.limits.rounds,
            seconds=self.limits.milliseconds / 1000,
            seed=self._seed * 1009 + process,
        )

    def keep(self, name: str, ids: Sequence[str], found: Race, process: int) -> None:
        """Keep the raw laps."""
        self._laps += [
            {
                "tokenizer": name,
                "cell": ids[lap.case],
                "process": process,
                **{k: v for k, v in asdict(lap).items() if k != "case"},
                **asdict(found.workloads[lap.case]),
            }
            for lap in found.laps
        ]

    def tell(self, text: str) -> None:
        """Report what is being timed."""
        self._progress.step(text)


class _Measuring:
    """One tokenizer's fresh processes, one after the other."""

    def __init__(self, name: str, cases: Mapping[str, Case], runner: _Runner, gate: _Gate) -> None:
        self._name, self._cases, self._runner, self._gate = name, cases, runner, gate
        self._workloads: dict[str, Workload] = {}
        self._other_ids: set[str] = set()
        self._process = 0

    def measure(self, cells: Sequence[str]) -> Ratios:
        """Return the ratios of one more fresh process; see `tokbench.bench.speed.verdict.Measure`."""
        self._process += 1
        self._gate.tell(f"{self._name}: process {self._process}, {len(cells)} cells")
        cases = [self._cases[cell] for cell in cells]
        known = [self._workloads[cell] for cell in cells if cell in self._workloads]
        found = self._runner.run(cases, known or None, self._gate.rules(self._process))
        self._workloads |= dict(zip(cells, found.workloads, strict=True))
        self._gate.keep(self._name, cells, found, self._process)
        if found.ids is not None:
            pairs = zip(cells, *found.ids, strict=True)
            self._other_ids.update(cell for cell, a, b in pairs if a != b)
        return {
            cell: ratios_of(found, case, number)
            for number, (cell, case) in enumerate(zip(cells, cases, strict=True))
        }

    def remarked(self, verdicts: Iterable[SpeedVerdict]) -> Iterator[SpeedVerdict]:
        """Add notes on the figures."""
        for verdict in verdicts:
            other = verdict.cell in self._other_ids
            ids = ("the ids of the two sides differ, so they did not do the same work",)
            yield replace(verdict, remarks=(*self._runner.remarks, *(ids if other else ())))


def _incomparable(cases: Mapping[str, Case], reason: str) -> list[SpeedVerdict]:
    return [SpeedVerdict(cell=cell, outcome="incomparable", reason=reason) for cell in cases]


def _clock_suite(config: Config) -> ClockSuite:
    named = [suite for suite in config.suites.values() if isinstance(suite, ClockSuite)]
    if named:
        return named[0]
    suite = find(SuitePlugin, SUITE)()
    assert isinstance(suite, ClockSuite)
    return suite
