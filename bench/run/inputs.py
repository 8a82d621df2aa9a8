"""The inputs of a run: slices of its corpora, sources of its tokenizers, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from tokbench.bench.config.corpora import AnyCorpus, Corpus
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.corpus.slices import Slice, check_parallel
from tokbench.bench.corpus.slices import stored as stored_slice
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import InputError, Refusal, TokbenchError, TrainingError
from tokbench.bench.model import Finding
from tokbench.bench.progress import Progress
from tokbench.bench.run.input_tasks import Prepared, SliceTask, TrainTask, read_slice, train
from tokbench.bench.run.trained_models import Trained, shared
from tokbench.bench.run.trained_models import stored as stored_model
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.sources import TokenizerSource


@dataclass
class Inputs:
    """Corpora and tokenizers of a run, and what was wrong with some of them."""

    config: Config
    progress: Progress
    watch: Stopwatch
    executor: Executor

    def __post_init__(self) -> None:
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
