"""A run from start to end: slices, cells, suites, files, report.

A failure affects only what depends on it: a corpus that cannot be read fails its cells, a tokenizer
that cannot be loaded fails its own, everything else is measured and written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tokbench.bench.config.schema import Config
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey, CorpusFacts, Need, TokenizerFacts
from tokbench.bench.count.token_bytes import CONTENTS, Contents, read_contents
from tokbench.bench.environment import Stopwatch, describe, no_garbage_collection, peak_bytes
from tokbench.bench.files import write_json
from tokbench.bench.markup import plural
from tokbench.bench.model import Finding, Measurement, Place
from tokbench.bench.progress import SILENT, Progress
from tokbench.bench.results.report import write_reports
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.run.cell_task import CellTask, forget_tokenizers
from tokbench.bench.run.clock_input import time_tokenizers
from tokbench.bench.run.estimates import kept_estimate, measured
from tokbench.bench.run.folder import Rerun, open_folder, remove_cells
from tokbench.bench.run.inputs import Prepared, RunContext, prepare
from tokbench.bench.run.plan import Plan, cells_by_tokenizer, make_plan, seconds_by_part
from tokbench.bench.run.preflight import refuse_hopeless
from tokbench.bench.run.probe import TokenizerSuite
from tokbench.bench.run.remote_output import output_folder
from tokbench.bench.run.scheduler import Counting
from tokbench.bench.run.segments.keeper import TextKeeper
from tokbench.bench.run.shared_place import check_seen
from tokbench.bench.run.suite_output import collect, failed_rows, stopped
from tokbench.bench.run.suite_task import Answers, Counted, SuiteRunner
from tokbench.bench.run.write import RunRecord, write_run
from tokbench.bench.timing.contest import Timed
from tokbench.bench.workers.executors import Executor, Foreign, Inline, facts_of
from tokbench.bench.workers.pool import Workers


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """The results of a run, and what is missing from them."""

    results: Results
    problems: Sequence[str]

    @property
    def exit_code(self) -> int:
        """0 if everything was measured, 3 if a cell or an input failed."""
        return 3 if self.problems else 0


def run(
    config: Config,
    *,
    output: str | os.PathLike[str],
    progress: Progress = SILENT,
    watch: Stopwatch | None = None,
    new: bool = False,
    rerun: Rerun | None = None,
    executor: Executor | None = None,
    keep_cells: bool = True,
) -> RunOutcome:
    """Run a config and write the run folder below `output`, a folder or an address.

    `executor` counts the cells; None counts them in this process. Without `keep_cells` the private
    files of cells, which only serve to resume, are removed once all cells are complete.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    context = RunContext(
        config=config,
        executor=_known(executor or Inline()),
        progress=progress,
        watch=watch or Stopwatch(),
    )
    plan = make_plan(config)
    refuse_hopeless(config)
    with (
        output_folder(output, plan.name, progress, again=rerun is not None) as place,
        open_folder(place, plan, new=new, rerun=rerun) as folder,
    ):
        progress.step(f"run {folder.name}: {len(plan.cells)} cells")
        check_seen(context.executor, folder)
        progress.expect(seconds_by_part(config, plan), cells_by_tokenizer(plan))
        outcome = _run(context, plan, folder)
        if not keep_cells:
            remove_cells(folder, outcome.results)
        return outcome


def _known(executor: Executor) -> Executor:
    return executor if type(executor) in (Inline, Workers) else Foreign(executor)


def _run(context: RunContext, plan: Plan, folder: Path) -> RunOutcome:
    """Corpora and tokenizers, then counts, then suites, then the clock, then files."""
    started = datetime.now(UTC)
    prepared = prepare(context)
    context.progress.part("corpora", 1)
    asking, keeper = _asking(context), _keeper(context, prepared)
    tallies = _count(context, plan, folder, prepared, asking, keeper)
    found = _measure(context, tallies, asking)
    segments = keeper.tables(tallies, prepared.sources)
    forget_tokenizers()
    context.progress.part("suites", 1)
    timed = time_tokenizers(context, prepared, tallies.tokenizers)
    context.progress.part("timing", 1)
    record = RunRecord(
        config=context.config,
        plan=plan,
        slices=prepared.slices,
        tallies=tallies,
        measurements=found.measurements,
        findings=[*found.findings, *prepared.findings(), *_findings_of_cells(tallies)],
        timed=timed,
        segments=segments,
    )
    context.progress.step("writing results")
    write_run(folder, record)
    context.progress.part("reports", 0.5)
    problems = _problems(tallies, prepared, found, timed)
    usage = _usage(found, asking)
    usage["estimate"] = _estimate(context, plan, folder, prepared, started, asking)
    return _report(context, folder, started, problems, usage)


def _estimate(
    context: RunContext,
    plan: Plan,
    folder: Path,
    prepared: Prepared,
    started: datetime,
    asking: SuiteRunner,
) -> dict[str, Any]:
    """Return the estimate of this plan, if there was one, and what all but the reports took."""
    if (estimated := kept_estimate(plan)) is None:
        return {}
    seconds, peaks = context.watch.stop(), asking.peak_bytes
    took = measured(folder, prepared.slices.values(), started, seconds, peaks)
    return {"estimated": estimated, "measured": took}


def _usage(found: Answers, asking: SuiteRunner) -> dict[str, dict[str, Any]]:
    """Return the usage of each suite, and the memory of each tokenizer's processes."""
    return {
        "asked": {suite: asdict(asked) for suite, asked in found.asked.items()},
        "peak_bytes": {"run": 0, **asking.peak_bytes},
    }


def _problems(tallies: Tallies, prepared: Prepared, found: Answers, timed: Timed) -> list[str]:
    """Return one sentence for each thing that failed."""
    return [
        *_missing_cells(tallies, prepared.failures),
        *(_failed_suite(finding) for finding in found.findings if finding.kind == "failure"),
        *(f"{finding.tokenizer or finding.suite}: {finding.message}" for finding in timed.findings),
    ]


def _report(
    context: RunContext,
    folder: Path,
    started: datetime,
    problems: list[str],
    usage: dict[str, dict[str, Any]],
) -> RunOutcome:
    """Write the reports, and `environment.json` before and after them."""
    environment = {
        **describe(started),
        "executor": facts_of(context.executor),
        "estimate": usage["estimate"],
        "problems": problems,
    }
    write_json(folder / "environment.json", environment)  # reports name the machine
    with context.watch.section("reports"):
        wanted = context.config.run.reports
        context.progress.step("writing reports")
        results = load_results(folder)
        problems += write_reports(wanted, results, context.watch)
    usage["peak_bytes"]["run"] = peak_bytes()
    seconds = {name: round(value, 4) for name, value in context.watch.stop().items()}
    write_json(folder / "environment.json", {**environment, "cpu_seconds": seconds, **usage})
    return RunOutcome(results=results, problems=problems)


def _asking(context: RunContext) -> SuiteRunner:
    config = context.config
    return SuiteRunner(
        suites={name: s for name, s in config.suites.items() if isinstance(s, TokenizerSuite)},
        executor=context.executor,
        progress=context.progress,
        watch=context.watch,
        tokenizers=list(config.tokenizers),
        limits=config.run.limits,
        folder=config.folder,
    )


def _keeper(context: RunContext, prepared: Prepared) -> TextKeeper:
    return TextKeeper(
        config=context.config,
        executor=context.executor,
        watch=context.watch,
        slices=prepared.slices,
    )


def _count(
    context: RunContext,
    plan: Plan,
    folder: Path,
    prepared: Prepared,
    asking: SuiteRunner,
    keeper: TextKeeper,
) -> Tallies:
    """Count all cells; suites that call tokenizers follow in the same workers."""
    counting = Counting(
        plan=plan,
        folder=folder,
        executor=context.executor,
        progress=context.progress,
        watch=context.watch,
        peak_bytes=asking.peak_bytes,
    )
    run = context.config.run
    counted = Counted(
        refusals=prepared.refusals,
        seed=run.seed,
        resamples=run.resamples,
        lost_limit=run.lost_limit,
        rank_lost_limit=run.rank_limit,
    )
    begun: list[CellTask] = []
    for tokenizer, keys in groupby(plan.cells, key=lambda key: key.tokenizer):
        tasks = list(_tasks(context, counting, keys, prepared))
        counting.begin(tasks)
        if tasks:
            asking.follow(prepared.sources[tokenizer], replace(counted, cells=tuple(tasks)))
            keeper.follow(prepared.sources[tokenizer], [task.key.place for task in tasks])
        begun += tasks
    cells = counting.wait()
    facts = counting.facts_in_order()
    able = tuple(task for task in begun if task.key.tokenizer in facts)
    asking.together(prepared.sources, replace(counted, cells=able))
    with context.watch.section("corpus"):  # document ids are read from the slices
        return _tallies(context.config, folder, prepared, cells, facts)


def _tasks(
    context: RunContext, counting: Counting, keys: Iterable[CellKey], prepared: Prepared
) -> Iterator[CellTask]:
    """Yield the cells that can be counted, and record why the others cannot."""
    run, needs = context.config.run, _needs(context.config)
    for key in keys:
        if why := prepared.why_missing(key):
            counting.impossible(key, *why)
            continue
        yield CellTask(
            key=key,
            source=prepared.sources[key.tokenizer],
            slice=prepared.slices[key.place],
            path=counting.path_of(key),
            keep_ids=run.keep_ids,
            needs=needs,
            limits=run.limits,
        )


def _needs(config: Config) -> frozenset[Need]:
    suites = (suite for suite in config.suites.values() if isinstance(suite, CountsSuite))
    return frozenset().union(*(suite.needs for suite in suites))


def _tallies(
    config: Config,
    folder: Path,
    prepared: Prepared,
    cells: Mapping[CellKey, Cell],
    tokenizers: Mapping[str, TokenizerFacts],
) -> Tallies:
    facts = {
        key: replace(found, trained=dict(prepared.trained[key]))
        if key in prepared.trained
        else found
        for key, found in tokenizers.items()
    }
    return Tallies(
        cells=cells,
        tokenizers=facts,
        corpora={
            place: CorpusFacts.of(part, prepared.refusals.get(place.corpus))
            for place, part in prepared.slices.items()
        },
        seed=config.run.seed,
        resamples=config.run.resamples,
        lost_limit=config.run.lost_limit,
        rank_lost_limit=config.run.rank_limit,
        contents=_contents(folder, facts),
    )


def _contents(folder: Path, tokenizers: Mapping[str, TokenizerFacts]) -> dict[str, Contents]:
    found = {
        key: read_contents(folder / "cells" / key / CONTENTS, facts.fingerprint)
        for key, facts in tokenizers.items()
    }
    return {key: contents for key, contents in found.items() if contents is not None}


def _measure(context: RunContext, tallies: Tallies, asking: SuiteRunner) -> Answers:
    """Return the rows and findings of all suites."""
    with no_garbage_collection():  # while workers still ask
        measurements, findings = _apply_suites(context.config, tallies)
    answers = asking.wait()
    return Answers(
        measurements=measurements + answers.measurements,
        findings=findings + answers.findings,
        asked=answers.asked,
    )


def _apply_suites(config: Config, tallies: Tallies) -> tuple[list[Measurement], list[Finding]]:
    measurements: list[Measurement] = []
    findings: list[Finding] = []
    for name, suite in config.suites.items():
        if isinstance(suite, CountsSuite):
            give = partial(suite.measure, tallies)
        elif isinstance(suite, TokenizerSuite):
            give = partial(suite.compare, tallies)
        else:
            continue
        given: list[Measurement | Finding] = []
        reason = collect(name, give, given)
        findings += [item for item in given if isinstance(item, Finding)]
        found = [item for item in given if isinstance(item, Measurement)]
        measurements += found
        if reason is not None:
            measurements += failed_rows(name, suite.metrics, found, reason)
            findings.append(stopped(name, reason))
        elif isinstance(suite, CountsSuite):
            measurements += _without_values(name, suite, found, tallies)
    return measurements, findings


def _without_values(
    name: str, suite: CountsSuite, found: Sequence[Measurement], tallies: Tallies
) -> Iterator[Measurement]:
    """Add rows with a reason for every cell without numbers.

    Their metrics are those that the suite computed for other cells.
    """
    given = {m.metric.name for m in found if m.language is not None}
    specs = [spec for spec in suite.metrics if spec.name in given] or suite.metrics
    for cell in tallies.cells.values():
        if cell.status in ("failed", "skipped"):
            for spec in specs:
                yield Measurement(
                    metric=spec,
                    suite=name,
                    **cell.key._asdict(),
                    status=cell.status,
                    reason=cell.reason,
                    detail=cell.detail,
                )


def _failed_suite(finding: Finding) -> str:
    where = f" on {finding.tokenizer}" if finding.tokenizer else ""
    return f"suite {finding.suite}{where}: {finding.message}"


def _findings_of_cells(tallies: Tallies) -> Iterator[Finding]:
    """Yield the findings of counting, and why cells failed."""
    for cell in tallies.cells.values():
        yield from cell.tally.findings
        if cell.status == "failed":
            yield Finding(
                kind="failure",
                suite="run",
                reason=cell.reason or "tokenizer_failed",
                **cell.key._asdict(),
                message=cell.detail or "failed",
            )


def _missing_cells(tallies: Tallies, failures: Mapping[Place, str]) -> list[str]:
    """Return one line per failed input and per reason of failed cells."""
    problems = [f"corpus {at.corpus}, {at.language}: {why}" for at, why in failures.items()]
    reported = frozenset(failures.values())
    cells: dict[tuple[str, str, str], list[CellKey]] = {}
    for cell in tallies.cells.values():
        if cell.status in ("failed", "partial") and cell.detail not in reported:
            place = cell.key.tokenizer, cell.status, cell.detail or ""
            cells.setdefault(place, []).append(cell.key)
    for (tokenizer, status, detail), keys in cells.items():
        where = f"{keys[0].corpus}, {keys[0].language}"
        more = f" and {plural(len(keys) - 1, 'more cell')}" if len(keys) > 1 else ""
        problems.append(f"{tokenizer} on {where}{more}: {status}: {detail}")
    return problems
