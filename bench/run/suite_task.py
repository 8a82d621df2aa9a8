"""Running suites that ask tokenizers: in the worker that counted, and lost with nothing else.

One task is one suite on one tokenizer, or on those that the suite asks together. It follows the
cells of its tokenizer in the same worker process, so that the tokenizer is loaded once, and reads
from files what was counted there. When its process is lost at a call, the task is tried again
with that call made item by item; when it is lost at an item, without that item.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from tokbench.bench.config.limits import Limits
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CorpusFacts
from tokbench.bench.count.token_bytes import read_contents
from tokbench.bench.environment import Stopwatch, peak_bytes
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
    stopwatch,
)
from tokbench.bench.run.probe import Asked, Examination
from tokbench.bench.run.suite import TokenizerSuite
from tokbench.bench.run.suite_output import collect, failed_rows
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.guarded_calls import Calls, LostItem
from tokbench.bench.workers.pool import Loss, Settle, TryAgain
from tokbench.bench.workers.sources import TokenizerSource


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What was counted with some tokenizers, still in files, and how a run looks at it."""

    refusals: Mapping[str, str]
    """Why corpora declared parallel are not, by their keys."""
    seed: int
    resamples: int
    lost_limit: float
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
            contents={key: one for key, one in contents.items() if one is not None},
        )


def _read(task: CellTask, tokenizer: Tokenizer) -> Cell | None:
    parts = parts_of(task)
    identities = [identity_of(part, tokenizer.fingerprint.sha256) for part in parts]
    try:
        return judged(task.key, stored_tally([p.path for p in parts], task.key, identities))
    except ResultsError:  # it could not be counted
        return None


@dataclass(frozen=True, kw_only=True)
class AskTask:
    """One suite to run on one tokenizer, or on those that it asks together."""

    suite: str
    plugin: TokenizerSuite
    sources: tuple[TokenizerSource, ...]
    counted: Counted
    limits: Limits = field(default_factory=Limits)
    careful: frozenset[int] = frozenset()
    lost_items: Mapping[tuple[int, int], str] = field(default_factory=dict)
    tries: int = 0
    stage: ClassVar[int] = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokenizers that are asked."""
        return tuple(source.key for source in self.sources)

    @property
    def group(self) -> str:
        """The worker process that counted with the tokenizer; one of its own for several."""
        return ", ".join(self.keys)

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.limits.memory

    def lost(self, loss: Loss) -> TryAgain[AskTask] | Settle:
        """Go on without the item that cost a worker; find it first if need be."""
        match loss.place:
            case ("call", _, int(call)) if len(self.careful) < 2 * self.limits.lost_documents:
                return TryAgain(task=replace(self, careful=self.careful | {call}))
            case ("item", str(key), int(call), int(item)):
                lost = {**self.lost_items, (call, item): loss.reason}
                if len(lost) < self.limits.lost_documents:
                    return TryAgain(task=replace(self, lost_items=lost))
                return self._give_up(f"{len(lost)} texts ended its worker, the limit", key, loss)
            case _ if loss.kind == "died" and not self.tries:  # perhaps ended from outside
                return TryAgain(task=replace(self, tries=1))
            case ("call", str(key), int()):
                return self._give_up("too many of its calls ended a worker", key, loss)
        return self._give_up("it cannot be asked", self.keys[0], loss)

    def _give_up(self, why: str, key: str, loss: Loss) -> Settle:
        reason = (
            f"{why}; last, with {key}: {loss.reason}"
            if len(self.keys) > 1
            else (f"{why}; last: {loss.reason}")
        )
        return Settle(outcome=AskOutcome(suite=self.suite, keys=self.keys, reason=reason))

    def hopeless(self, reason: str) -> AskOutcome:
        """Return the outcome for a tokenizer that cannot be loaded, as its cells say."""
        return AskOutcome(suite=self.suite, keys=self.keys)


@dataclass(frozen=True, kw_only=True)
class AskOutcome:
    """What a suite found, and why it could not go on, if it could not."""

    suite: str
    keys: tuple[str, ...]
    measurements: tuple[Measurement, ...] = ()
    findings: tuple[Finding, ...] = ()
    asked: Asked = field(default_factory=Asked)
    reason: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    process: int = 0
    peak_bytes: int = 0


_last: list[tuple[Counted, Tallies]] = []
"""What the last task of this process was about: the suites of a tokenizer follow one another."""


def ask(task: AskTask) -> AskOutcome:
    """Run the suite of a task on its tokenizers."""
    watch = stopwatch()
    calls = Calls(seconds=task.limits.seconds, careful=task.careful, lost=task.lost_items)
    asked = Asked()
    found: list[Measurement | Finding] = []
    reason = None
    try:
        tokenizers = {
            source.key: load(source, task.limits, watch, beside=task.sources)
            for source in task.sources
        }
        with watch.section(task.suite):
            heartbeat.at("between", seconds=task.limits.seconds)
            tallies = _tallies(task.counted, tokenizers)
            examination = Examination(
                tallies=tallies,
                slices={c.key.place: c.slice for c in task.counted.cells},
                tokenizers=tokenizers,
                seed=task.counted.seed,
                calls=calls,
                asked=asked,
            )
            if tallies.cells:
                reason = collect(task.suite, partial(task.plugin.measure, examination), found)
    except TokbenchError:  # a tokenizer that cannot be loaded: its cells say so
        pass
    return AskOutcome(
        suite=task.suite,
        keys=task.keys,
        measurements=tuple(one for one in found if isinstance(one, Measurement)),
        findings=(
            *(one for one in found if isinstance(one, Finding)),
            *(_lost(task.suite, item, reason) for item, reason in calls.met.items()),
        ),
        asked=asked,
        reason=reason,
        seconds=watch.stop(),
        process=os.getpid(),
        peak_bytes=peak_bytes(),
    )


def _tallies(counted: Counted, tokenizers: Mapping[str, Tokenizer]) -> Tallies:
    if not _last or _last[0][0] != counted:
        _last.clear()
        _last.append((counted, counted.tallies(tokenizers)))
    return _last[0][1]


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
    """What the suites of a run found together."""

    measurements: list[Measurement] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    asked: dict[str, Asked] = field(default_factory=dict)
    """What each suite asked for."""


@dataclass(kw_only=True)
class Asking:
    """The suites of a run that ask tokenizers, on their way through an executor."""

    suites: Mapping[str, TokenizerSuite]
    executor: Executor
    progress: Progress
    watch: Stopwatch
    tokenizers: Sequence[str]
    limits: Limits
    peak_bytes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._units = {
            name: [tuple(dict.fromkeys(unit)) for unit in suite.together(self.tokenizers)]
            for name, suite in self.suites.items()
        }
        self._futures: dict[tuple[str, tuple[str, ...]], Future[AskOutcome]] = {}
        self._findings: list[Finding] = []

    def follow(self, source: TokenizerSource, counted: Counted) -> None:
        """Let the suites ask one tokenizer once its cells, which have begun, are finished."""
        for name, units in self._units.items():
            if (source.key,) in units:
                self._begin(name, (source,), counted)

    def together(self, sources: Mapping[str, TokenizerSource], counted: Counted) -> None:
        """Let the suites ask several tokenizers at a time; all cells are finished.

        `counted` holds the cells of the tokenizers that could be loaded.
        """
        able = dict.fromkeys(task.key.tokenizer for task in counted.cells)
        for name, units in self._units.items():
            for unit in units:
                if len(unit) == 1 and unit[0] in self.tokenizers:
                    continue
                if missing := [key for key in unit if key not in able]:
                    known = ", ".join(able) or "none"
                    why = f"no tokenizer {missing[0]!r} was loaded in this run; there are: {known}"
                    self._findings.append(_not_loaded(name, unit, why))
                else:
                    chosen = tuple(sources[key] for key in unit)
                    self._begin(name, chosen, counted.of(unit))

    def _begin(self, name: str, sources: tuple[TokenizerSource, ...], counted: Counted) -> None:
        task = AskTask(
            suite=name,
            plugin=self.suites[name],
            sources=sources,
            counted=counted,
            limits=self.limits,
        )
        self._futures[name, task.keys] = self.executor.submit(ask, task)

    def wait(self) -> Answers:
        """Return what all suites found, in the order of the config, whoever was first."""
        answers = Answers(findings=self._findings)
        for name, units in self._units.items():
            self.progress.step(f"suite {name}")
            futures = [self._futures[name, unit] for unit in units if (name, unit) in self._futures]
            for future in futures:
                self._take(future.result(), answers)
        return answers

    def _take(self, outcome: AskOutcome, answers: Answers) -> None:
        self.watch.take(outcome.seconds, process=outcome.process)
        key = outcome.keys[0]
        self.peak_bytes[key] = max(self.peak_bytes.get(key, 0), outcome.peak_bytes)
        asked = answers.asked.setdefault(outcome.suite, Asked())
        asked.texts += outcome.asked.texts
        asked.bytes += outcome.asked.bytes
        answers.measurements.extend(outcome.measurements)
        answers.findings.extend(outcome.findings)
        if outcome.reason is not None:
            specs = self.suites[outcome.suite].metrics
            answers.measurements.extend(
                failed_rows(outcome.suite, specs, outcome.measurements, outcome.reason, key)
            )
            answers.findings.append(
                Finding(
                    kind="failure",
                    suite=outcome.suite,
                    reason="suite_failed",
                    tokenizer=key,
                    message=outcome.reason,
                )
            )
