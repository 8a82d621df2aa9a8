"""The cases of a config as tests of pytest-benchmark; `tokbench.bench.speed.benchmark_json` takes its JSON back.

Everything runs in the one process of pytest, so cases on several threads are skipped. Tests have
short ids and never hold a text.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from tokbench.bench.cache import scratch_folder
from tokbench.bench.config.schema import load_config
from tokbench.bench.environment import cpu_model
from tokbench.bench.model import Tokenizer
from tokbench.bench.run.clock_input import contest_of
from tokbench.bench.run.inputs import RunContext, prepare
from tokbench.bench.timing.cases import Case, Grid, bytes_of, call_of, lengths_of, single_call
from tokbench.bench.timing.contest import Contest
from tokbench.bench.timing.suite import ClockSuite


class Benchmarks:
    """The cases of a config, and its tokenizers, loaded on use."""

    def __init__(self, path: str) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
        self.config = load_config(path)
        suites = [s for s in self.config.suites.values() if isinstance(s, ClockSuite)]
        if not suites:
            raise pytest.UsageError(
                f"{path}: names no clock suite, such as `suites: {{throughput: {{}}}}`"
            )
        self._suite = suites[0]
        self._loaded: dict[str, Tokenizer] = {}

    @cached_property
    def contest(self) -> Contest:
        """Texts and tokenizers of the config; models that are not cached are trained."""
        context = RunContext(config=self.config)
        prepared = prepare(context)
        self.sha256 = {place: part.meta.sha256 for place, part in prepared.slices.items()}
        return contest_of(context, prepared)

    @cached_property
    def grid(self) -> Grid:
        """The cases of the config's suite."""
        return self._suite.cases(self.contest)

    def tests(self) -> Iterator[TimedCase]:
        """Yield one test for each tokenizer and case."""
        for case in self.grid.cases:
            for name in self.contest.tokenizers:
                training = self.contest.training.get(name)
                if case.phase != "train" or (training and training.corpus == case.corpus):
                    yield TimedCase(of=self, tokenizer=name, case=case)

    def load(self, name: str) -> Tokenizer:
        """Return a tokenizer, loaded once."""
        if name not in self._loaded:
            self._loaded[name] = self.contest.tokenizers[name].load()
        return self._loaded[name]

    def slices(self, case: Case) -> dict[str, str]:
        """Return the hash of each language's slice that a case may hold text of."""
        return {
            language: sha256
            for (corpus, language), sha256 in self.sha256.items()
            if corpus == case.corpus and case.language in (None, language)
        }


@dataclass(frozen=True, kw_only=True)
class TimedCase:
    """One test: a tokenizer on a case."""

    of: Benchmarks
    tokenizer: str
    case: Case

    @property
    def id(self) -> str:
        """Short, and without text."""
        return f"{self.tokenizer}-{self.case.id}"

    def run(self, benchmark: Any) -> None:
        """Let the fixture of pytest-benchmark time it."""
        case = self.case
        if case.threads > 1:
            pytest.skip(
                "skipped: the number of threads is fixed when a process starts; time this "
                "case with `tokbench run`"
            )
        tokenizer = self.of.load(self.tokenizer)
        benchmark.group = case.id
        benchmark.extra_info |= {
            "tokenizer": self.tokenizer,
            "tokenizer_fingerprint": tokenizer.fingerprint.sha256,
            "corpus": case.corpus,
            "language": case.language,
            "slices": self.of.slices(case),
            "cpu": cpu_model(),
            "bytes": bytes_of(case.blocks[0]),
            "documents": len(case.blocks[0]),
            "document_bytes": lengths_of(case.blocks[0]),
            **case.params(),
        }
        self._pedantic(benchmark, tokenizer)

    def _pedantic(self, benchmark: Any, tokenizer: Tokenizer) -> None:
        case, grid = self.case, self.of.grid
        if case.phase == "latency":
            texts = itertools.cycle(case.blocks[0])
            benchmark.pedantic(
                single_call(tokenizer),
                setup=lambda: ((next(texts),), {}),
                rounds=len(case.blocks[0]) * grid.rounds,
                warmup_rounds=len(case.blocks[0]),
            )
            return
        calls = itertools.cycle([self._call(tokenizer, block) for block in case.blocks])
        benchmark.pedantic(
            _run,
            setup=lambda: ((next(calls),), {}),
            rounds=grid.rounds,
            warmup_rounds=grid.warm_ups,
        )

    def _call(self, tokenizer: Tokenizer, documents: Sequence[str]) -> Callable[[], object]:
        if self.case.phase != "train":
            return call_of(tokenizer, self.case, documents)
        trainer = self.of.contest.training[self.tokenizer].trainer

        def train() -> None:
            with scratch_folder("train") as folder:
                trainer.train(documents, folder)

        return train


def _run(call: Callable[[], object]) -> None:
    call()
