"""One text encoded with each tokenizer of a config, in a worker process that may crash.

All tokenizers share one worker, one after the other: a new one starts only after a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tokbench.bench.config.resolve import resolve, unused
from tokbench.bench.config.schema import Config, RunConfig, TrainEntry, load_entry
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import did_you_mean, suggest
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import TokenizerPlugin
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.job import Answer, Died, Job, perform
from tokbench.bench.workers.sources import TokenizerSource, library_failures

Seen = TypeVar("Seen")


@dataclass(frozen=True, kw_only=True)
class TextTask(Job[Seen]):
    """One tokenizer to load and to try on a text."""

    key: str
    config: Config
    look: Callable[[str, Tokenizer], Seen]
    """A function of a module, or a partial one: it travels to a worker."""

    @property
    def group(self) -> str:
        """All tokenizers share one worker."""
        return "tokenizers"

    def run(self, watch: Stopwatch) -> Seen:
        """Load the tokenizer and try it."""
        limits = self.limits
        if isinstance(self.config.tokenizers[self.key], TrainEntry):
            heartbeat.at("load", seconds=limits.train_seconds, limit="limits.train_seconds")
        else:
            heartbeat.at("load", seconds=limits.load_seconds, limit="limits.load_seconds")
        be_patient(limits.hub_seconds)
        tokenizer = load_tokenizer(self.config, self.key)
        heartbeat.at("text", seconds=limits.seconds, limit="limits.seconds")
        with library_failures(self.key, "encode or decode this text"):
            return self.look(self.key, tokenizer)

    def doing(self, died: Died) -> str:
        """Return what the worker was doing, as the end of a sentence."""
        return "while loading" if died.step == ("load",) else "at this text"


def try_each(
    config: Config,
    wanted: Sequence[str],
    seen: Callable[[str, Tokenizer], Seen],
    executor: Executor,
) -> tuple[list[Seen], list[str]]:
    """Return the result of each requested tokenizer of a config (by default all), and the errors.

    Raises `UsageError` when the config has no tokenizer of a wanted name.
    """
    unknown = [name for name in wanted if name not in config.tokenizers]
    if unknown:
        hint = suggest(unknown[0], config.tokenizers)
        raise UsageError(f"--tokenizer {unknown[0]}: {config.path} has no such tokenizer{hint}")
    limits = config.run.limits
    futures: dict[str, Future[Answer[Seen]]] = {
        key: executor.submit(perform, TextTask(key=key, config=config, look=seen, limits=limits))
        for key in wanted or config.tokenizers
    }
    found, problems = [], []
    for key, future in futures.items():
        answer = future.result()
        if answer.value is not None:
            found.append(answer.value)
        else:
            problems.append(f"{key}: {answer.reason}")
    return found, problems


def load_tokenizer(config: Config, key: str) -> Tokenizer:
    """Load one tokenizer of a config, trained first where the config says so."""
    entry = config.tokenizers[key]
    if isinstance(entry, TrainEntry):
        from tokbench.bench.corpus.slices import materialise
        from tokbench.bench.run.trained_models import obtain

        corpus = config.run.corpora[entry.corpus]
        languages = entry.languages or tuple(corpus.options())
        slices = [
            materialise(entry.corpus, corpus, name, config.folder, limits=config.run.limits)
            for name in languages
        ]
        return obtain(key, entry, slices).source.load()
    folder = config.homes.get(key, config.folder)
    return TokenizerSource(key=key, plugin=entry, folder=folder).load()


def chosen(
    names: Sequence[str], config: Config | None, ready: Callable[[], Config]
) -> tuple[Config, list[str]]:
    """Return a config with the named tokenizers, in their order, and notes on ambiguous names.

    A name is a key of `config` where one was given, then what the resolver knows, then a key of
    the `ready` config, which is only read for that. Without names the config's own stay. Raises
    `UsageError` for an unknown name.
    """
    if not names:
        return config or ready(), []
    base, notes = config, []
    entries: dict[str, TokenizerPlugin | TrainEntry] = {}
    for name in names:
        if base is not None and name in base.tokenizers:
            entries[unused(name, entries)] = base.tokenizers[name]
            continue
        try:
            found = resolve(name, Path.cwd(), taken=entries)
        except UsageError as exc:
            base = base or ready()
            if name not in base.tokenizers:
                near = did_you_mean(name, base.tokenizers)
                raise UsageError(
                    f"{exc}; keys of {base.path}: {', '.join(base.tokenizers)}{near}"
                ) from exc
            entries[unused(name, entries)] = base.tokenizers[name]
            continue
        notes += [found.note] if found.note else []
        entries[found.key] = load_entry(found.entry)
    base = base or config_of({}, {})
    own = {id(entry) for entry in base.tokenizers.values()}
    homes = {key: Path.cwd() for key, entry in entries.items() if id(entry) not in own}
    return replace(base, tokenizers=entries, homes=homes), notes


def config_of(entries: Mapping[str, TokenizerPlugin], homes: Mapping[str, Path]) -> Config:
    """Return a config of tokenizers alone; relative paths of each start from its home."""
    # not validated: no corpus is read, and looking languages up costs a fifth of a second
    unread = RunConfig.model_construct(name="named", corpora={}, tokenizers={})
    return Config(
        run=unread,
        tokenizers=entries,
        suites={},
        path="the command line",
        folder=Path.cwd(),
        homes=homes,
    )
