"""Input and findings of clock suites: the tokenizers and texts of a config."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.errors import what_failed
from tokbench.bench.guard import contained
from tokbench.bench.markup import plural
from tokbench.bench.run.inputs import Prepared, RunContext
from tokbench.bench.run.suite_output import stamped, stopped
from tokbench.bench.run.trained_models import SliceTexts, trainer_of
from tokbench.bench.timing.contest import Contest, Timed, Training
from tokbench.bench.timing.suite import ClockSuite
from tokbench.bench.workers.executors import is_local


def contest_of(
    context: RunContext, prepared: Prepared, keys: Collection[str] | None = None
) -> Contest:
    """Return the contest of some tokenizers of a config, by default all, over its text."""
    chosen = prepared.sources if keys is None else keys
    return Contest(
        tokenizers={key: prepared.sources[key] for key in chosen},
        texts={place: SliceTexts([part]) for place, part in prepared.slices.items()},
        seed=context.config.run.seed,
        progress=context.progress.step,
        training=dict(_training(context.config, frozenset(chosen))),
        limits=context.config.run.limits,
    )


def _training(config: Config, keys: frozenset[str]) -> Iterator[tuple[str, Training]]:
    for key, entry in config.tokenizers.items():
        if isinstance(entry, TrainEntry) and key in keys:
            languages = entry.languages or tuple(config.run.corpora[entry.corpus].options())
            trainer = trainer_of(entry)
            yield key, Training(trainer=trainer, corpus=entry.corpus, languages=languages)


def time_tokenizers(context: RunContext, prepared: Prepared, keys: Collection[str]) -> Timed:
    """Return the rows and findings of a config's clock suites.

    Their findings are stored with the noisy rows: the exact files must not depend on a worker
    that was slow to answer.
    """
    suites = {n: s for n, s in context.config.suites.items() if isinstance(s, ClockSuite)}
    if suites and not is_local(context.executor):
        context.progress.warning(_not_here(list(suites)))
        suites = {}
    if not suites:
        return Timed(measurements=(), samples=())
    contest = contest_of(context, prepared, keys)
    with context.watch.section("timing"), context.watch.processes("timing"):
        parts = [
            _time(name, suite, _shared(context, contest, number, len(suites)))
            for number, (name, suite) in enumerate(suites.items())
        ]
    return Timed(
        measurements=[row for part in parts for row in part.measurements],
        samples=[sample for part in parts for sample in part.samples],
        findings=[finding for part in parts for finding in part.findings],
    )


def _not_here(suites: Sequence[str]) -> str:
    which = plural(len(suites), "suite")
    return (
        f"{which} with a clock skipped ({', '.join(suites)}): machines that do other work, or differ, "
        "give no speed to compare; run the same config alone on one machine, without --executor"
    )


def _shared(context: RunContext, contest: Contest, number: int, total: int) -> Contest:
    """Return the contest for one of several suites, which reports its share of all timing."""

    def share(done: float) -> None:
        context.progress.part("timing", (number + done) / total)

    return replace(contest, share=share)


def _time(name: str, suite: ClockSuite, contest: Contest) -> Timed:
    """Return the rows and findings of one suite; its failure is a finding."""
    try:
        with contained():
            timed = suite.measure(contest)
        return Timed(
            measurements=[stamped(name, row) for row in timed.measurements],
            samples=timed.samples,
            findings=[stamped(name, finding) for finding in timed.findings],
        )
    except Exception as exc:
        failure = stopped(name, what_failed(exc))
        return Timed(measurements=(), samples=(), findings=[failure])
