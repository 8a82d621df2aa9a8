"""A run from start to end: slices, cells, suites, files, report.

A fault costs what it touches and no more: a corpus that cannot be read fails its cells, a
tokenizer that cannot be loaded fails its own, everything else is measured and written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bench import plugins
from bench.config import Config
from bench.contents import CONTENTS, Contents, read_contents
from bench.counting import Counting, Progress
from bench.environment import Stopwatch, describe, no_garbage_collection, peak_bytes
from bench.examine import Examination, examine
from bench.executors import Executor, Inline
from bench.folder import Rerun, open_folder
from bench.inputs import Inputs
from bench.loading import TokenizerSource
from bench.model import Finding, Measurement
from bench.plan import Plan, make_plan
from bench.plugins import ClockSuite, CountsSuite, ReportPlugin, TokenizerSuite
from bench.recording import vocabularies_of, write_run
from bench.results import (
    Results,
    load_results,
    write_json,
    write_whole,
)
from bench.slices import Slice
from bench.tally import Cell, CellKey, CorpusFacts, Tallies, TokenizerFacts
from bench.timing import Sample, contest_of
from bench.worker import CellTask, forget_tokenizers


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
    counted = _count(plan, folder, config, inputs, slices, sources, executor)
    with watch.section("corpus"):  # document ids are read from the slices
        tallies = _tallies(config, folder, counted, slices, inputs.refusals)
    with no_garbage_collection():
        measurements, findings = _apply_suites(config, tallies)
    answers, told, asked = _ask(config, tallies, slices, sources, progress, watch)
    measurements += answers
    findings += told
    findings += inputs.findings + inputs.notes
    findings += [f for cell in tallies.cells.values() for f in cell.tally.findings]
    findings += [_failure(cell) for cell in tallies.cells.values() if cell.status == "failed"]
    noisy, samples, untimed = _time(config, tallies, sources, slices, progress, watch)
    progress.step("writing results")
    kept = vocabularies_of(folder, tallies) if config.run.keep_ids else {}
    write_run(folder, config, plan, tallies, slices, measurements, findings, noisy, samples, kept)
    write_json(
        folder / "environment.json",
        {
            **describe(started),
            "cpu_seconds": {k: round(v, 4) for k, v in watch.stop().items()},
            "asked": asked,
            "peak_bytes": {"run": peak_bytes(), **inputs.peak_bytes},
        },
    )
    results = load_results(folder)
    for path, text in render_reports(config.run.reports, results).items():
        write_whole(folder / path, text)
    problems = _problems(tallies, inputs.findings)
    problems += [f"suite {f.suite}: {f.message}" for f in told if f.kind == "failure"]
    problems += [f"{finding.tokenizer}: {finding.message}" for finding in untimed]
    return RunOutcome(results=results, problems=problems)


def _count(
    plan: Plan,
    folder: Path,
    config: Config,
    inputs: Inputs,
    slices: Mapping[tuple[str, str], Slice],
    sources: Mapping[str, TokenizerSource],
    executor: Executor,
) -> tuple[dict[CellKey, Cell], dict[str, TokenizerFacts]]:
    counting = Counting(
        plan=plan, folder=folder, executor=executor, progress=inputs.progress, watch=inputs.watch
    )
    for key in plan.cells:
        if reason := _why_impossible(key, inputs, slices):
            counting.impossible(key, reason)
            continue
        task = CellTask(
            key=key,
            source=sources[key.tokenizer],
            slice=slices[key.corpus, key.language],
            path=counting.path_of(key),
            keep_ids=config.run.keep_ids,
            limits=config.run.limits,
        )
        counting.begin(task)
    cells = counting.wait()
    forget_tokenizers()
    inputs.peak_bytes = counting.peak_bytes
    facts = counting.facts_in_order()
    return cells, {key: _with_training(one, key, inputs) for key, one in facts.items()}


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
        corpora={key: _corpus_facts(part, refusals.get(key[0])) for key, part in slices.items()},
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


def _corpus_facts(part: Slice, refusal: str | None) -> CorpusFacts:
    meta = part.meta
    clusters = part.clusters()
    return CorpusFacts(
        corpus=meta.corpus,
        language=meta.language,
        tag=meta.tag,
        script=meta.script,
        kind=meta.kind,
        parallel=meta.parallel,
        pivot=meta.pivot,
        sha256=meta.sha256,
        document_ids=part.ids,
        clusters=None if clusters is None else tuple(c or "" for c in clusters),
        words_reason=meta.words_reason,
        parallel_refusal=refusal,
    )


def _apply_suites(config: Config, tallies: Tallies) -> tuple[list[Measurement], list[Finding]]:
    measurements: list[Measurement] = []
    findings: list[Finding] = []
    for name, suite in config.suites.items():
        if isinstance(suite, CountsSuite):
            given = list(suite.measure(tallies))
            findings += [item for item in given if isinstance(item, Finding)]
            found = [item for item in given if isinstance(item, Measurement)]
            measurements += [*found, *_without_values(name, suite, found, tallies)]
    return measurements, findings


def _ask(
    config: Config,
    tallies: Tallies,
    slices: Mapping[tuple[str, str], Slice],
    sources: Mapping[str, TokenizerSource],
    progress: Progress,
    watch: Stopwatch,
) -> tuple[list[Measurement], list[Finding], dict[str, dict[str, int]]]:
    suites = {name: s for name, s in config.suites.items() if isinstance(s, TokenizerSuite)}
    examination = Examination(
        tallies=tallies,
        slices=slices,
        sources=sources,
        seed=config.run.seed,
        progress=progress.step,
        watch=watch,
    )
    return examine(suites, examination)


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
            timed = suite.measure(contest)
            measurements += timed.measurements
            samples += timed.samples
            findings += timed.findings
    return measurements, samples, findings


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
