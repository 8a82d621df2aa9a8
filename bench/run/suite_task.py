"""Runs suites that call tokenizers, in the worker that counted; a crash affects nothing else.

One task is one suite on one tokenizer, or on those that the suite asks together. It follows the
cells of its tokenizer in the same worker process, so that the tokenizer is loaded once, and reads
from files what was counted there. When its process is lost at a call, the task is tried again
with that call made item by item; when it is lost at an item, without that item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from tokbench.bench.config.limits import Limits
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CorpusFacts
from tokbench.bench.count.token_bytes import read_contents
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import ResultsError, TokbenchError
from tokbench.bench.model import Finding, Measurement, Tokenizer
from tokbench.bench.progress import Progress
from tokbench.bench.run.cell_files import stored_tally
from tokbench.bench.run.cell_task import (
    CellTask,
    contents_path,
    facts_of,
    identity_of,
    judged,
    load,
    parts_of,
)
from tokbench.bench.run.probe import Asked, Examination, TokenizerSuite
from tokbench.bench.run.suite_output import collect, failed_rows, stopped
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.asking_job import AskingJob
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.guarded_calls import LostItem
from tokbench.bench.workers.job import Answer, perform
from tokbench.bench.workers.sources import TokenizerSource
from tokbench.bench.workers.state import THIS


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The counts of some tokenizers, still in files, and the settings of the run."""

    refusals: Mapping[str, str]
    """Why corpora declared parallel are not, by their keys."""
    seed: int
    resamples: int
    lost_limit: float
    rank_lost_limit: float = 0.001
    cells: tuple[CellTask, ...] = ()

    def of(self, keys: Sequence[str]) -> Counted:
        """Return the part that some tokenizers have in it."""
        return replace(self, cells=tuple(c for c in self.cells if c.key.tokenizer in keys))

    def tallies(self, tokenizers: Mapping[str, Tokenizer]) -> Tallies:
        """Read the cells that could be counted."""
        found = {task.key: _read(task, tokenizers[task.key.tokenizer]) for task in self.cells}
        places = {task.key.place: task.slice for task in self.cells}
        facts = {key: facts_of(tokenizer) for key, tokenizer in tokenizers.items()}
        first = {task.key.tokenizer: task for task in reversed(self.cells)}
        contents = {
            key: read_contents(contents_path(task.path), facts[key].fingerprint)
            for key, task in first.items()
        }
        return Tallies(
            cells={key: cell for key, cell in found.items() if cell is not None},
            tokenizers=facts,
            corpora={
                place: CorpusFacts.of(part, self.refusals.get(place.corpus))
                for place, part in places.items()
            },
            seed=self.seed,
            resamples=self.resamples,
            lost_limit=self.lost_limit,
            rank_lost_limit=self.rank_lost_limit,
            contents={key: one for key, one in contents.items() if one is not None},
        )


def _read(task: CellTask, tokenizer: Tokenizer) -> Cell | None:
    parts = parts_of(task)
    identities = [identity_of(part, tokenizer.fingerprint.sha256) for part in parts]
    try:
        return judged(task.key, stored_tally([p.path for p in parts], identities))
    except ResultsError:  # it could not be counted
        return None


@dataclass(frozen=True, kw_only=True)
class SuiteOutput:
    """The rows and findings of a suite, and its failure if there was one."""

    measurements: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    asked: Asked = field(default_factory=Asked)
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class SuiteTask(AskingJob[SuiteOutput]):
    """One suite to run on one tokenizer, or on those that it asks together."""

    suite: str
    plugin: TokenizerSuite
    sources: tuple[TokenizerSource, ...]
    counted: Counted
    folder: Path = Path()
    """Folder that relative paths in the config start from."""
    stage: ClassVar[int] = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokenizers that are called."""
        return tuple(source.key for source in self.sources)

    def run(self, watch: Stopwatch) -> SuiteOutput:
        """Run the suite on its tokenizers."""
        try:
            tokenizers = {
                source.key: load(source, self.limits, watch, beside=self.sources)
                for source in self.sources
            }
        except TokbenchError:  # a tokenizer that cannot be loaded: its cells say so
            return SuiteOutput()
        calls = self.calls()
        asked = Asked()
        found: list[Measurement | Finding] = []
        with watch.section(self.suite):
            heartbeat.at("between", seconds=self.limits.seconds, limit="limits.seconds")
            tallies = _tallies(self.counted, tokenizers)
            examination = Examination(
                tallies=tallies,
                slices={c.key.place: c.slice for c in self.counted.cells},
                tokenizers=tokenizers,
                seed=self.counted.seed,
                calls=calls,
                asked=asked,
                folder=self.folder,
            )
            give = partial(self.plugin.measure, examination)
            reason = collect(self.suite, give, found) if tallies.cells else None
        return SuiteOutput(
            measurements=tuple(one for one in found if isinstance(one, Measurement)),
            findings=(
                *(one for one in found if isinstance(one, Finding)),
                *(_lost(self.suite, item, why) for item, why in calls.met.items()),
            ),
            asked=asked,
            reason=reason,
        )

    def ended(self, reason: str) -> Answer[SuiteOutput]:
        """Return the answer of a suite that could not go on."""
        return Answer(value=SuiteOutput(reason=reason))

    def give_up(self, reason: str) -> Answer[SuiteOutput]:
        """Return the answer for a tokenizer that cannot be loaded, as its cells say."""
        return Answer(value=SuiteOutput())


def _tallies(counted: Counted, tokenizers: Mapping[str, Tokenizer]) -> Tallies:
    """Return what was counted; the suites of a tokenizer follow one another and read it once."""
    if THIS.tallies is None or THIS.tallies[0] != counted:
        THIS.tallies = counted, counted.tallies(tokenizers)
    tallies: Tallies = THIS.tallies[1]
    return tallies


def _lost(suite: str, item: LostItem, reason: str) -> Finding:
    return Finding(
        kind="failure",
        suite=suite,
        reason="worker_lost",
        tokenizer=item.tokenizer,
        message=f"{reason} at {item}",
        data={"class": "lost", "doing": item.doing, "item": item.item},
    )


def _not_loaded(suite: str, unit: Sequence[str], message: str) -> Finding:
    return Finding(
        kind="failure",
        suite=suite,
        reason="tokenizer_failed",
        message=message,
        data={"tokenizers": list(unit)},
    )


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The findings of all suites of a run."""

    measurements: list[Measurement] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    asked: dict[str, Asked] = field(default_factory=dict)
    """Usage of each suite."""


@dataclass(kw_only=True)
class SuiteRunner:
    """Runs the suites that call tokenizers through an executor."""

    suites: Mapping[str, TokenizerSuite]
    executor: Executor
    progress: Progress
    watch: Stopwatch
    tokenizers: Sequence[str]
    limits: Limits
    folder: Path = Path()
    peak_bytes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._units = {
            name: [tuple(dict.fromkeys(unit)) for unit in suite.together(self.tokenizers)]
            for name, suite in self.suites.items()
        }
        self._futures: dict[tuple[str, tuple[str, ...]], Future[Answer[SuiteOutput]]] = {}
        self._findings: list[Finding] = []

    def follow(self, source: TokenizerSource, counted: Counted) -> None:
        """Run the suites on one tokenizer once its submitted cells are finished."""
        for name, units in self._units.items():
            if (source.key,) in units:
                self._begin(name, (source,), counted)

    def together(self, sources: Mapping[str, TokenizerSource], counted: Counted) -> None:
        """Run the suites that call several tokenizers together; all cells are finished.

        `counted` holds the cells of the tokenizers that could be loaded.
        """
        able = dict.fromkeys(task.key.tokenizer for task in counted.cells)
        for name, units in self._units.items():
            for unit in units:
                if len(unit) == 1 and unit[0] in self.tokenizers:
                    continue
                if missing := [key for key in unit if key not in able]:
                    known = ", ".join(able) or "none"
                    why = f"tokenizer {missing[0]!r} was not loaded in this run; available: {known}"
                    self._findings.append(_not_loaded(name, unit, why))
                else:
                    chosen = tuple(sources[key] for key in unit)
                    self._begin(name, chosen, counted.of(unit))

    def _begin(self, name: str, sources: tuple[TokenizerSource, ...], counted: Counted) -> None:
        task = SuiteTask(
            suite=name,
            plugin=self.suites[name],
            sources=sources,
            counted=counted,
            limits=self.limits,
            folder=self.folder,
        )
        self._futures[name, task.keys] = self.executor.submit(perform, task)

    def wait(self) -> Answers:
        """Return the results of all suites, in the order of the config."""
        answers = Answers(findings=self._findings)
        taken = 0
        for name, units in self._units.items():
            self.progress.step(f"suite {name}")
            for unit in units:
                if (name, unit) in self._futures:
                    self.progress.part("suites", taken / len(self._futures))
                    taken += 1
                    self._take(name, unit[0], self._futures[name, unit].result(), answers)
        return answers

    def _take(self, suite: str, key: str, answer: Answer[SuiteOutput], answers: Answers) -> None:
        self.watch.take(answer.seconds, process=answer.process)
        self.peak_bytes[key] = max(self.peak_bytes.get(key, 0), answer.peak_bytes)
        output = answer.value or SuiteOutput(reason=answer.reason)
        asked = answers.asked.setdefault(suite, Asked())
        asked.texts += output.asked.texts
        asked.bytes += output.asked.bytes
        answers.measurements.extend(output.measurements)
        answers.findings.extend(output.findings)
        if output.reason is not None:
            specs = self.suites[suite].metrics
            answers.measurements.extend(
                failed_rows(suite, specs, output.measurements, output.reason, key)
            )
            answers.findings.append(replace(stopped(suite, output.reason), tokenizer=key))
