"""A run from start to end: slices, cells, suites, files, report.

A fault costs what it touches and no more: a corpus that cannot be read fails its cells, a
tokenizer that cannot be loaded fails its own, everything else is measured and written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path

from tokbench.bench import plugins
from tokbench.bench.config.schema import Config
from tokbench.bench.corpus.slices import Slice
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey, CorpusFacts, TokenizerFacts
from tokbench.bench.count.token_bytes import CONTENTS, Contents, read_contents
from tokbench.bench.environment import Stopwatch, describe, no_garbage_collection, peak_bytes
from tokbench.bench.files import write_json, write_whole
from tokbench.bench.model import Finding, Measurement
from tokbench.bench.progress import Progress
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.run.cell_task import CellTask, forget_tokenizers
from tokbench.bench.run.clock_input import contest_of
from tokbench.bench.run.folder import Rerun, open_folder
from tokbench.bench.run.inputs import Inputs
from tokbench.bench.run.plan import Plan, make_plan
from tokbench.bench.run.scheduler import Counting
from tokbench.bench.run.suite import TokenizerSuite
from tokbench.bench.run.suite_output import collect, failed_rows, what_failed
from tokbench.bench.run.suite_task import Asking, Counted
from tokbench.bench.run.write import vocabularies_of, write_run
from tokbench.bench.timing.contest import Sample
from tokbench.bench.timing.suite import ClockSuite
from tokbench.bench.workers.executors import Executor, Inline
from tokbench.bench.workers.sources import TokenizerSource


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """Where the results are, and whether something in them is missing."""

    results: Results
    problems: Sequence[str]

    @property
    def exit_code(self) -> int:
        """0 when everything was measured, 3 when a cell or an input failed."""
        return 3 if self.problems else 0


def run(
    config: Config,
    *,
    output: Path,
    progress: Progress,
    watch: Stopwatch,
    new: bool = False,
    rerun: Rerun | None = None,
    executor: Executor | None = None,
) -> RunOutcome:
    """Measure what the config asks for and write the run folder below `output`.

    `executor` says where cells are counted: in this process when there is none.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    plan = make_plan(config)
    with open_folder(output, plan, new=new, rerun=rerun) as folder:
        progress.step(f"run {folder.name}: {len(plan.cells)} cells")
        return _run(config, plan, folder, progress, watch, executor or Inline())


def _run(
    config: Config,
    plan: Plan,
    folder: Path,
    progress: Progress,
    watch: Stopwatch,
    executor: Executor,
) -> RunOutcome:
    started = datetime.now(UTC)
    inputs = Inputs(config=config, progress=progress, watch=watch, executor=executor)
    slices = inputs.slices()
    sources = inputs.sources(slices)
    asking = _asking(config, inputs)
    counted = _count(plan, folder, config, inputs, slices, sources, asking)
    with watch.section("corpus"):  # document ids are read from the slices
        tallies = _tallies(config, folder, counted, slices, inputs.refusals)
    with no_garbage_collection():  # while workers still ask
        measurements, findings = _apply_suites(config, tallies)
    answers = asking.wait()
    forget_tokenizers()
    measurements += answers.measurements
    findings += answers.findings
    failed = [_failed_suite(f) for f in findings if f.kind == "failure"]
    findings += inputs.findings + inputs.notes
    findings += [f for cell in tallies.cells.values() for f in cell.tally.findings]
    findings += [_failure(cell) for cell in tallies.cells.values() if cell.status == "failed"]
    noisy, samples, untimed = _time(config, tallies, sources, slices, progress, watch)
    progress.step("writing results")
    kept = vocabularies_of(folder, tallies) if config.run.keep_ids else {}
    write_run(folder, config, plan, tallies, slices, measurements, findings, noisy, samples, kept)
    environment = describe(started)
    write_json(folder / "environment.json", environment)  # reports name the machine
    results = load_results(folder)
    with watch.section("reports"):
        unwritten = _write_reports(config.run.reports, results, watch)
    environment |= {
        "cpu_seconds": {k: round(v, 4) for k, v in watch.stop().items()},
        "asked": {suite: asdict(asked) for suite, asked in answers.asked.items()},
        "peak_bytes": {"run": peak_bytes(), **asking.peak_bytes},
    }
    write_json(folder / "environment.json", environment)
    problems = _problems(tallies, inputs.findings) + failed
    problems += [f"{finding.tokenizer or finding.suite}: {finding.message}" for finding in untimed]
    problems += unwritten
    return RunOutcome(results=results, problems=problems)


def _asking(config: Config, inputs: Inputs) -> Asking:
    return Asking(
        suites={name: s for name, s in config.suites.items() if isinstance(s, TokenizerSuite)},
        executor=inputs.executor,
        progress=inputs.progress,
        watch=inputs.watch,
        tokenizers=list(config.tokenizers),
        limits=config.run.limits,
    )


def _count(
    plan: Plan,
    folder: Path,
    config: Config,
    inputs: Inputs,
    slices: Mapping[tuple[str, str], Slice],
    sources: Mapping[str, TokenizerSource],
    asking: Asking,
) -> tuple[dict[CellKey, Cell], dict[str, TokenizerFacts]]:
    """Count all cells; suites that ask tokenizers follow in the workers that counted."""
    counting = Counting(
        plan=plan,
        folder=folder,
        executor=inputs.executor,
        progress=inputs.progress,
        watch=inputs.watch,
        peak_bytes=asking.peak_bytes,
    )
    counted = Counted(
        refusals=inputs.refusals,
        seed=config.run.seed,
        resamples=config.run.resamples,
        lost_limit=config.run.lost_limit,
    )
    begun: list[CellTask] = []
    for tokenizer, keys in groupby(plan.cells, key=lambda key: key.tokenizer):
        mine = list(_tasks(counting, keys, config, inputs, slices, sources))
        counting.begin(mine)
        if mine:
            asking.follow(sources[tokenizer], replace(counted, cells=tuple(mine)))
        begun += mine
    cells = counting.wait()
    facts = counting.facts_in_order()
    able = tuple(task for task in begun if task.key.tokenizer in facts)
    asking.together(sources, replace(counted, cells=able))
    return cells, {key: _with_training(one, key, inputs) for key, one in facts.items()}


def _tasks(
    counting: Counting,
    keys: Iterable[CellKey],
    config: Config,
    inputs: Inputs,
    slices: Mapping[tuple[str, str], Slice],
    sources: Mapping[str, TokenizerSource],
) -> Iterator[CellTask]:
    """Yield the cells that can be counted, and note why the others cannot."""
    for key in keys:
        if reason := _why_impossible(key, inputs, slices):
            counting.impossible(key, reason)
            continue
        yield CellTask(
            key=key,
            source=sources[key.tokenizer],
            slice=slices[key.corpus, key.language],
            path=counting.path_of(key),
            keep_ids=config.run.keep_ids,
            limits=config.run.limits,
        )


def _why_impossible(
    key: CellKey, inputs: Inputs, slices: Mapping[tuple[str, str], Slice]
) -> str | None:
    if key.tokenizer in inputs.failed_training:
        return inputs.failed_training[key.tokenizer]
    if (key.corpus, key.language) not in slices:
        return inputs.reasons.get((key.corpus, key.language), "its corpus could not be read")
    return None


def _with_training(facts: TokenizerFacts, key: str, inputs: Inputs) -> TokenizerFacts:
    trained = inputs.trained.get(key)
    return facts if trained is None else replace(facts, trained=dict(trained.facts))


def _tallies(
    config: Config,
    folder: Path,
    counted: tuple[dict[CellKey, Cell], dict[str, TokenizerFacts]],
    slices: Mapping[tuple[str, str], Slice],
    refusals: Mapping[str, str],
) -> Tallies:
    cells, facts = counted
    return Tallies(
        cells=cells,
        tokenizers=facts,
        corpora={key: CorpusFacts.of(part, refusals.get(key[0])) for key, part in slices.items()},
        seed=config.run.seed,
        resamples=config.run.resamples,
        lost_limit=config.run.lost_limit,
        contents=_contents(folder, facts),
    )


def _contents(folder: Path, tokenizers: Mapping[str, TokenizerFacts]) -> dict[str, Contents]:
    found = {
        key: read_contents(folder / "cells" / key / CONTENTS, facts.fingerprint)
        for key, facts in tokenizers.items()
    }
    return {key: contents for key, contents in found.items() if contents is not None}


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
        reason = collect(give, given)
        findings += [item for item in given if isinstance(item, Finding)]
        found = [item for item in given if isinstance(item, Measurement)]
        measurements += found
        if reason is not None:
            measurements += failed_rows(name, suite.metrics, found, reason)
            findings.append(Finding(kind="failure", suite=name, message=reason))
        elif isinstance(suite, CountsSuite):
            measurements += _without_values(name, suite, found, tallies)
    return measurements, findings


def _without_values(
    name: str, suite: CountsSuite, found: Sequence[Measurement], tallies: Tallies
) -> Iterator[Measurement]:
    """Give every cell that has no numbers its rows all the same, with the reason.

    They are the metrics that the suite gave for cells that have numbers.
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
                    detail=cell.detail,
                )


def _failed_suite(finding: Finding) -> str:
    where = f" on {finding.tokenizer}" if finding.tokenizer else ""
    return f"suite {finding.suite}{where}: {finding.message}"


def _failure(cell: Cell) -> Finding:
    return Finding(
        kind="failure",
        suite="run",
        tokenizer=cell.key.tokenizer,
        corpus=cell.key.corpus,
        language=cell.key.language,
        message=cell.detail or "failed",
    )


def _time(
    config: Config,
    tallies: Tallies,
    sources: Mapping[str, TokenizerSource],
    slices: Mapping[tuple[str, str], Slice],
    progress: Progress,
    watch: Stopwatch,
) -> tuple[list[Measurement], list[Sample], list[Finding]]:
    """Return what clock suites found. Their findings are told, and stored with the noisy rows:
    the exact files must not depend on a worker that was slow to answer.
    """
    suites = [suite for suite in config.suites.values() if isinstance(suite, ClockSuite)]
    if not suites:
        return [], [], []
    loaded = {key: sources[key] for key in tallies.tokenizers}
    contest = contest_of(config, slices, loaded, progress)
    measurements: list[Measurement] = []
    samples: list[Sample] = []
    findings: list[Finding] = []
    with watch.section("timing"):
        for suite in suites:
            try:
                timed = suite.measure(contest)
            except Exception as exc:
                name = type(suite).__name__.lower()
                findings.append(Finding(kind="failure", suite=name, message=what_failed(exc)))
                continue
            measurements += timed.measurements
            samples += timed.samples
            findings += timed.findings
    return measurements, samples, findings


def _write_reports(names: Iterable[str], results: Results, watch: Stopwatch) -> list[str]:
    """Write each report; one that cannot be made costs itself, and the reason is returned."""
    problems = []
    for name in names:
        try:
            with watch.section("imports"):
                report = plugins.find(ReportPlugin, name)
            files = report().render(results)
        except Exception as exc:
            problems.append(f"report {name}: {what_failed(exc)}")
            continue
        for path, text in files.items():
            write_whole(results.folder / path, text)
    return problems


def render_reports(names: Iterable[str], results: Results) -> dict[str, str]:
    """Return the files of the named reports."""
    files: dict[str, str] = {}
    for name in names:
        files |= plugins.find(ReportPlugin, name)().render(results)
    return files


def _problems(tallies: Tallies, findings: Sequence[Finding]) -> list[str]:
    """Return one line for each input that failed and each reason why cells did."""
    problems = [f"corpus {f.corpus}, {f.language}: {f.message}" for f in findings]
    reported = {f.message for f in findings}
    cells: dict[tuple[str, str, str], list[CellKey]] = {}
    for cell in tallies.cells.values():
        if cell.status in ("failed", "partial") and cell.detail not in reported:
            place = cell.key.tokenizer, cell.status, cell.detail or ""
            cells.setdefault(place, []).append(cell.key)
    for (tokenizer, status, detail), keys in cells.items():
        where = f"{keys[0].corpus}, {keys[0].language}"
        more = f" and {len(keys) - 1} more cells" if len(keys) > 1 else ""
        problems.append(f"{tokenizer} on {where}{more}: {status}: {detail}")
    return problems
