"""A run from start to end: slices, cells, suites, files, report.

A fault costs what it touches and no more: a corpus that cannot be read fails its cells, a
tokenizer that cannot be loaded fails its own, everything else is measured and written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench import plugins
from bench.config import Config, TrainEntry
from bench.contents import CONTENTS, Contents, read_contents
from bench.corpora import AnyCorpus, Corpus
from bench.counting import Counting, Progress
from bench.digest import digest_of
from bench.documents import documents_tables
from bench.environment import Stopwatch, describe, library_versions, peak_bytes
from bench.errors import InputError, Refusal, TokbenchError, TrainingError
from bench.examine import Examination, examine
from bench.executors import Executor, Inline
from bench.folder import Rerun, open_folder
from bench.loading import TokenizerSource
from bench.model import Finding, Measurement
from bench.plan import Plan, make_plan
from bench.plugins import ClockSuite, CountsSuite, ReportPlugin, TokenizerSuite
from bench.preparing import Prepared, SliceTask, TrainTask, read_slice, train
from bench.results import (
    FINDINGS,
    MEASUREMENTS,
    SCHEMA_VERSION,
    Results,
    finding_rows,
    load_results,
    measurement_rows,
    table_of,
    write_json,
    write_parquet,
    write_whole,
)
from bench.slices import Slice, check_parallel
from bench.slices import stored as stored_slice
from bench.tally import Cell, CellKey, CorpusFacts, Tallies, TokenizerFacts
from bench.timing import Contest, Sample
from bench.training import Trained, shared
from bench.training import stored as stored_model
from bench.vocabulary_table import kept_vocabulary
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
    inputs = _Inputs(config=config, progress=progress, watch=watch, executor=executor)
    slices = inputs.slices()
    sources = inputs.sources(slices)
    counted = _count(plan, folder, config, inputs, slices, sources, executor)
    with watch.section("corpus"):  # document ids are read from the slices
        tallies = _tallies(config, folder, counted, slices, inputs.refusals)
    measurements, findings = _apply_suites(config, tallies)
    answers, told, asked = _ask(config, tallies, slices, sources, progress, watch)
    measurements += answers
    findings += told
    findings += inputs.findings + inputs.notes
    findings += [f for cell in tallies.cells.values() for f in cell.tally.findings]
    findings += [_failure(cell) for cell in tallies.cells.values() if cell.status == "failed"]
    noisy, samples, untimed = _time(config, tallies, sources, slices, progress, watch)
    progress.step("writing results")
    kept = _vocabularies(folder, tallies) if config.run.keep_ids else {}
    _write(folder, config, plan, tallies, slices, measurements, findings, noisy, samples, kept)
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


@dataclass
class _Inputs:
    """Corpora and tokenizers of a run, and what was wrong with some of them."""

    config: Config
    progress: Progress
    watch: Stopwatch
    executor: Executor

    def __post_init__(self) -> None:
        self.peak_bytes: dict[str, int] = {}
        self.findings: list[Finding] = []
        self.reasons: dict[tuple[str, str], str] = {}
        self.trained: dict[str, Trained] = {}
        self.failed_training: dict[str, str] = {}
        self.refusals: dict[str, str] = {}
        self.notes: list[Finding] = []

    def slices(self) -> dict[tuple[str, str], Slice]:
        """Materialise every language of every corpus that can be read."""
        asked: dict[str, dict[str, Future[Prepared]]] = {}
        with self.watch.section("corpus"):
            for name, entry in self.config.run.corpora.items():
                asked[name] = {key: self._ask(name, entry, key) for key in entry.options()}
        found: dict[tuple[str, str], Slice] = {}
        for name, futures in asked.items():
            mine: dict[str, Slice] = {}
            with self.watch.section("corpus"):  # also of what was read in this very process
                for language, future in futures.items():
                    self._take(name, language, future.result(), mine)
                self._check_parallel(name, self.config.run.corpora[name], mine)
            found |= {(name, language): part for language, part in mine.items()}
        return found

    def _ask(self, name: str, entry: AnyCorpus, language: str) -> Future[Prepared]:
        """Take a slice from the cache, or let the executor build it."""
        try:
            ready = stored_slice(name, entry, language, self.config.folder)
        except InputError as exc:
            return _finished(Prepared(reason=str(exc)))
        if ready is not None:
            return _finished(Prepared(value=ready))
        self.progress.step(f"corpus {name}, {language}: reading")
        task = SliceTask(
            name=name,
            entry=entry,
            language=language,
            folder=self.config.folder,
            limits=self.config.run.limits,
        )
        return self.executor.submit(read_slice, task)

    def _take(self, name: str, language: str, got: Prepared, mine: dict[str, Slice]) -> None:
        self.watch.take(got.seconds, process=got.process)
        if got.reason is None:
            mine[language] = got.value
        else:
            self._fail(name, language, got.reason)

    def _check_parallel(self, name: str, entry: Corpus, mine: dict[str, Slice]) -> None:
        if not entry.parallel or not mine:
            return
        try:
            mine |= check_parallel(list(mine.values()))
        except Refusal as exc:
            self.progress.step(f"no premium on {name}: {exc}")
            self.refusals[name] = str(exc)
            refusal = Finding(kind="refusal", suite="multilingual", corpus=name, message=str(exc))
            self.notes.append(refusal)

    def _fail(self, corpus: str, language: str, reason: str) -> None:
        self.progress.step(f"corpus {corpus}, {language}: {reason}")
        self.reasons[corpus, language] = reason
        self.findings.append(
            Finding(kind="failure", suite="run", corpus=corpus, language=language, message=reason)
        )

    def sources(self, slices: Mapping[tuple[str, str], Slice]) -> dict[str, TokenizerSource]:
        """Return how to load each tokenizer, trained first where the config says so."""
        training = [
            (group, self._begin_training(group, slices))
            for group in shared(dict(self._not_stored(slices)))
        ]
        for group, future in training:
            got = future.result()
            self.watch.take(got.seconds, process=got.process)
            if got.reason is None:
                self.trained |= got.value
            else:
                self.failed_training |= dict.fromkeys(group, got.reason)
        sources = {}
        for key, entry in self.config.tokenizers.items():
            if not isinstance(entry, TrainEntry):
                sources[key] = TokenizerSource(key=key, plugin=entry, folder=self.config.folder)
            elif key in self.trained:
                sources[key] = self.trained[key].source
        return sources

    def _not_stored(
        self, slices: Mapping[tuple[str, str], Slice]
    ) -> Iterator[tuple[str, TrainEntry]]:
        """Take trained models from the cache; yield what has to be trained."""
        for key, entry in self.config.tokenizers.items():
            if not isinstance(entry, TrainEntry):
                continue
            try:
                ready = stored_model(key, entry, self._training_text(entry, slices))
            except TokbenchError as exc:
                self.failed_training[key] = str(exc)
                continue
            if ready is None:
                yield key, entry
            else:
                self.trained[key] = ready

    def _begin_training(
        self, group: Mapping[str, TrainEntry], slices: Mapping[tuple[str, str], Slice]
    ) -> Future[Prepared]:
        """Let the executor train what one training serves."""
        entry = next(iter(group.values()))
        self.progress.step(f"tokenizer {', '.join(group)}: {entry.trainer} on {entry.corpus}")
        text = self._training_text(entry, slices)
        task = TrainTask(entries=group, slices=text, limits=self.config.run.limits)
        return self.executor.submit(train, task)

    def _training_text(
        self, entry: TrainEntry, slices: Mapping[tuple[str, str], Slice]
    ) -> list[Slice]:
        wanted = entry.languages or tuple(self.config.run.corpora[entry.corpus].options())
        missing = [name for name in wanted if (entry.corpus, name) not in slices]
        if missing:
            raise TrainingError(f"its training text is missing: {entry.corpus}, {missing[0]}")
        return [slices[entry.corpus, name] for name in wanted]


def _finished(value: Prepared) -> Future[Prepared]:
    future: Future[Prepared] = Future()
    future.set_result(value)
    return future


def _count(
    plan: Plan,
    folder: Path,
    config: Config,
    inputs: _Inputs,
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
    key: CellKey, inputs: _Inputs, slices: Mapping[tuple[str, str], Slice]
) -> str | None:
    if key.tokenizer in inputs.failed_training:
        return inputs.failed_training[key.tokenizer]
    if (key.corpus, key.language) not in slices:
        return inputs.reasons.get((key.corpus, key.language), "its corpus could not be read")
    return None


def _with_training(facts: TokenizerFacts, key: str, inputs: _Inputs) -> TokenizerFacts:
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
    contest = Contest(
        tokenizers={key: sources[key] for key in tallies.tokenizers},
        texts=_texts_by_corpus(slices),
        seed=config.run.seed,
        progress=progress.step,
    )
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


def _texts_by_corpus(slices: Mapping[tuple[str, str], Slice]) -> dict[str, Iterable[str]]:
    from bench.training import SliceTexts

    by_corpus: dict[str, list[Slice]] = {}
    for (corpus, _), part in slices.items():
        by_corpus.setdefault(corpus, []).append(part)
    return {corpus: SliceTexts(parts) for corpus, parts in by_corpus.items()}


def _write(
    folder: Path,
    config: Config,
    plan: Plan,
    tallies: Tallies,
    slices: Mapping[tuple[str, str], Slice],
    measurements: Sequence[Measurement],
    findings: Sequence[Finding],
    noisy: Sequence[Measurement],
    samples: Sequence[Sample],
    vocabularies: Mapping[str, pa.Table],
) -> None:
    tables: dict[str, pa.Table | Iterable[pa.Table]] = {
        "measurements.parquet": table_of(measurement_rows(measurements, tallies), MEASUREMENTS),
        "findings.parquet": table_of(finding_rows(findings), FINDINGS),
        **_documents(tallies),
        **vocabularies,
    }
    digests = {name: write_parquet(folder / name, table) for name, table in tables.items()}
    if noisy or samples:
        rows = measurement_rows(noisy, tallies)
        write_parquet(folder / "throughput.parquet", table_of(rows, MEASUREMENTS))
        write_parquet(
            folder / "timings.parquet", pa.Table.from_pylist([asdict(s) for s in samples])
        )
    write_json(folder / "run.json", _run_json(config, plan, tallies, slices, digest_of(digests)))


def _vocabularies(folder: Path, tallies: Tallies) -> dict[str, pa.Table]:
    """Return what the workers kept of each vocabulary whose ids are kept."""
    counted = dict.fromkeys(cell.key.tokenizer for cell in tallies.counted())
    return {
        f"vocabulary/{name}.parquet": kept_vocabulary(
            folder / "cells" / name, tallies.tokenizers[name].fingerprint
        )
        for name in counted
    }


def _documents(tallies: Tallies) -> dict[str, Iterable[pa.Table]]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in tallies.counted():
        groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append(cell)
    return {
        f"documents/{tokenizer}@{corpus}.parquet": documents_tables(cells, tallies)
        for (tokenizer, corpus), cells in groups.items()
    }


def _run_json(
    config: Config,
    plan: Plan,
    tallies: Tallies,
    slices: Mapping[tuple[str, str], Slice],
    digest: str,
) -> dict[str, Any]:
    corpora: dict[str, dict[str, Any]] = {}
    for (corpus, language), part in slices.items():
        corpora.setdefault(corpus, {})[language] = json.loads(part.meta.to_json())
    return {
        "schema_version": SCHEMA_VERSION,
        "name": config.run.name,
        "config": config.canonical(),
        "config_path": config.path,
        "overrides": list(config.overrides),
        "plan": plan.sha256,
        "policy": {
            "special_tokens": config.run.special_tokens,
            "lost_limit": config.run.lost_limit,
        },
        "intervals": {"level": 0.95, "resamples": config.run.resamples, "seed": config.run.seed},
        "versions": library_versions(),
        "metrics": {
            spec.name: {
                "unit": spec.unit,
                "direction": spec.direction,
                "definition": spec.definition,
            }
            for suite in config.suites.values()
            for spec in suite.metrics
        },
        "tokenizers": {key: asdict(facts) for key, facts in tallies.tokenizers.items()},
        "corpora": corpora,
        "cells": [
            {**cell.key._asdict(), "status": cell.status, "n": cell.tally.n, "detail": cell.detail}
            for cell in tallies.cells.values()
        ],
        "digest": digest,
    }


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
