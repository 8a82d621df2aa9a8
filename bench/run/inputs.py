"""The inputs of a run: slices of its corpora, sources of its tokenizers, and reasons for missing ones.

Cached inputs are used; the executor reads or trains the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from tokbench.bench.config.corpora import AnyCorpus, Corpus
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.corpus.alignment import why_doubtful, with_alignment
from tokbench.bench.corpus.slices import Slice, check_parallel
from tokbench.bench.corpus.slices import stored as stored_slice
from tokbench.bench.count.tally import CellKey
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import InputError, Refusal, TokbenchError, TrainingError
from tokbench.bench.model import Finding, Place
from tokbench.bench.progress import SILENT, Progress
from tokbench.bench.reasons import Reason
from tokbench.bench.run.input_tasks import SliceTask, TrainTask
from tokbench.bench.run.trained_models import Trained, shared
from tokbench.bench.run.trained_models import stored as stored_model
from tokbench.bench.run.trained_models import warning as training_warning
from tokbench.bench.workers.executors import Executor, Inline
from tokbench.bench.workers.job import Answer, perform
from tokbench.bench.workers.sources import TokenizerSource


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """Common arguments of every step: config, executor and progress.

    By default steps run in this process, silently.
    """

    config: Config
    executor: Executor = field(default_factory=Inline)
    progress: Progress = SILENT
    watch: Stopwatch = field(default_factory=Stopwatch)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The available inputs of a run, and reasons for the missing ones."""

    slices: Mapping[Place, Slice]
    sources: Mapping[str, TokenizerSource]
    """Source of each available tokenizer, by its key in the config."""
    trained: Mapping[str, Mapping[str, Any]]
    """Facts reported by training, by the key of the tokenizer."""
    refusals: Mapping[str, str]
    """Why corpora declared parallel are not, by their keys."""
    failures: Mapping[Place, str]
    """Why a language of a corpus cannot be read."""
    untrained: Mapping[str, str]
    """Why a tokenizer cannot be trained, by its key."""

    def why_missing(self, key: CellKey) -> tuple[Reason, str] | None:
        """Return why a cell cannot be counted; None if it can."""
        if key.tokenizer in self.untrained:
            return "training_failed", self.untrained[key.tokenizer]
        if key.place not in self.slices:
            return "corpus_failed", self.failures.get(key.place, "its corpus could not be read")
        return None

    def findings(self) -> Iterator[Finding]:
        """Yield the failures and refusals of corpora as findings."""
        for place, reason in self.failures.items():
            yield Finding(
                kind="failure",
                suite="run",
                reason="corpus_failed",
                **place._asdict(),
                message=reason,
            )
        for corpus, reason in self.refusals.items():
            yield Finding(
                kind="refusal", suite="run", reason="not_aligned", corpus=corpus, message=reason
            )
        for place, one in self.slices.items():
            if (doubt := why_doubtful(one.meta)) is not None:
                yield Finding(
                    kind="warning",
                    suite="run",
                    reason="lengths_disagree",
                    **place._asdict(),
                    message=doubt,
                )


def prepare(context: RunContext) -> Prepared:
    """Read every corpus and train every tokenizer of a config; failures are recorded."""
    corpora = _read_corpora(context)
    models = _train_models(context, corpora.slices)
    return Prepared(
        slices=corpora.slices,
        sources=dict(_sources(context.config, models.trained)),
        trained={key: model.facts for key, model in models.trained.items()},
        refusals=corpora.refusals,
        failures=corpora.failures,
        untrained=models.failures,
    )


@dataclass(frozen=True)
class _Corpora:
    slices: dict[Place, Slice] = field(default_factory=dict)
    failures: dict[Place, str] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)


def _read_corpora(context: RunContext) -> _Corpora:
    """Read all languages at once; the slices of a parallel corpus have the same rows."""
    found = _Corpora()
    asked: dict[str, dict[str, Future[Answer[Slice]]]] = {}
    with context.watch.section("corpus"):
        for name, entry in context.config.run.corpora.items():
            asked[name] = {
                key: _begin_reading(context, name, entry, key) for key in entry.options()
            }
    for name, futures in asked.items():
        with context.watch.section("corpus"):  # also of what was read in this very process
            slices = dict(_finish_reading(context, name, futures, found))
            _align(context, name, context.config.run.corpora[name], slices, found)
        found.slices.update({Place(name, key): part for key, part in slices.items()})
    return found


def _begin_reading(
    context: RunContext, name: str, entry: AnyCorpus, language: str
) -> Future[Answer[Slice]]:
    """Take a slice from the cache, or let the executor build it."""
    folder = context.config.folder
    try:
        ready = stored_slice(name, entry, language, folder)
    except InputError as exc:
        return _finished(Answer(reason=str(exc)))
    if ready is not None:
        return _finished(Answer(value=ready))
    context.progress.step(f"corpus {name}, {language}: reading")
    limits = context.config.run.limits
    task = SliceTask(name=name, entry=entry, language=language, folder=folder, limits=limits)
    return context.executor.submit(perform, task)


def _finish_reading(
    context: RunContext, name: str, futures: Mapping[str, Future[Answer[Slice]]], found: _Corpora
) -> Iterator[tuple[str, Slice]]:
    for language, future in futures.items():
        answer = future.result()
        context.watch.take(answer.seconds, process=answer.process)
        if answer.value is not None:
            yield language, answer.value
        else:
            reason = answer.reason or "cannot be read"
            context.progress.warning(f"corpus {name}, {language}: {reason}")
            found.failures[Place(name, language)] = reason


def _align(
    context: RunContext, name: str, entry: Corpus, slices: dict[str, Slice], found: _Corpora
) -> None:
    """Bring the slices of a parallel corpus into one order, or record why it is not parallel."""
    if not entry.parallel or not slices:
        return
    try:
        slices |= with_alignment(check_parallel(list(slices.values())))
    except Refusal as exc:
        context.progress.warning(f"no premium on {name}: {exc}")
        found.refusals[name] = str(exc)
    for language, one in slices.items():
        if (doubt := why_doubtful(one.meta)) is not None:
            context.progress.warning(f"corpus {name}, {language}: {doubt}")


@dataclass(frozen=True)
class _Models:
    trained: dict[str, Trained] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def _train_models(context: RunContext, slices: Mapping[Place, Slice]) -> _Models:
    """Use cached models, and train the other tokenizers in parallel."""
    found = _Models()
    missing = _not_stored(context.config, slices, found)
    training = [(group, _begin_training(context, group, slices)) for group in shared(missing)]
    for group, future in training:
        answer = future.result()
        context.watch.take(answer.seconds, process=answer.process)
        if answer.value is not None:
            found.trained.update(answer.value)
        else:
            found.failures.update(dict.fromkeys(group, answer.reason or "cannot be trained"))
    return found


def _not_stored(
    config: Config, slices: Mapping[Place, Slice], found: _Models
) -> dict[str, TrainEntry]:
    missing = {}
    for key, entry in config.tokenizers.items():
        if not isinstance(entry, TrainEntry):
            continue
        try:
            ready = stored_model(key, entry, _training_text(config, entry, slices))
        except TokbenchError as exc:
            found.failures[key] = str(exc)
            continue
        if ready is None:
            missing[key] = entry
        else:
            found.trained[key] = ready
    return missing


def _begin_training(
    context: RunContext, group: Mapping[str, TrainEntry], slices: Mapping[Place, Slice]
) -> Future[Answer[dict[str, Trained]]]:
    """Let the executor train one group of tokenizers."""
    entry = next(iter(group.values()))
    context.progress.step(f"tokenizer {', '.join(group)}: {entry.trainer} on {entry.corpus}")
    text = _training_text(context.config, entry, slices)
    if (costs := training_warning(entry, text)) is not None:
        context.progress.warning(f"tokenizer {', '.join(group)}: {costs}")
    task = TrainTask(entries=group, slices=text, limits=context.config.run.limits)
    return context.executor.submit(perform, task)


def _training_text(config: Config, entry: TrainEntry, slices: Mapping[Place, Slice]) -> list[Slice]:
    wanted = entry.languages or tuple(config.run.corpora[entry.corpus].options())
    places = [Place(entry.corpus, name) for name in wanted]
    missing = [place for place in places if place not in slices]
    if missing:
        raise TrainingError(f"its training text is missing: {', '.join(missing[0])}")
    return [slices[place] for place in places]


def _sources(
    config: Config, trained: Mapping[str, Trained]
) -> Iterator[tuple[str, TokenizerSource]]:
    for key, entry in config.tokenizers.items():
        if not isinstance(entry, TrainEntry):
            yield key, TokenizerSource(key=key, plugin=entry, folder=config.folder)
        elif key in trained:
            yield key, trained[key].source


def _finished(answer: Answer[Slice]) -> Future[Answer[Slice]]:
    future: Future[Answer[Slice]] = Future()
    future.set_result(answer)
    return future
