"""Looking at one text with each tokenizer of a config, in a worker that may be lost.

All tokenizers share one worker, one after the other: only one that costs it makes a new one start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.errors import TokbenchError, UsageError
from tokbench.bench.markup import suggest
from tokbench.bench.model import Tokenizer
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.pool import Loss, Settle, TryAgain
from tokbench.bench.workers.sources import TokenizerSource, library_failures

Seen = TypeVar("Seen")


@dataclass(frozen=True, kw_only=True)
class LookTask:
    """One tokenizer to load and to look at something with."""

    key: str
    config: Config
    look: Callable[[str, Tokenizer], Any]
    """A function of a module, or a partial one: it travels to a worker."""
    tries: int = 0
    group: ClassVar[str] = "tokenizers"
    stage: ClassVar[int] = 0

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.config.run.limits.memory

    def lost(self, loss: Loss) -> TryAgain[LookTask] | Settle:
        """Try once more where the process was ended, else leave the tokenizer out."""
        if loss.kind == "died" and not self.tries:
            return TryAgain(task=replace(self, tries=1))
        doing = "while it was loaded" if loss.place == ("load",) else "at this text"
        return Settle(outcome=self.hopeless(f"{loss.reason} {doing}"))

    def hopeless(self, reason: str) -> Look:
        """Return the outcome of a tokenizer that cannot be looked with."""
        return Look(reason=reason)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was seen, or why nothing was."""

    value: Any = None
    reason: str | None = None


def look(task: LookTask) -> Look:
    """Load the tokenizer of a task and look."""
    limits = task.config.run.limits
    trained = isinstance(task.config.tokenizers[task.key], TrainEntry)
    heartbeat.at("load", seconds=limits.train_seconds if trained else limits.load_seconds)
    be_patient(limits.hub_seconds)
    try:
        tokenizer = load_tokenizer(task.config, task.key)
        heartbeat.at("text", seconds=limits.seconds)
        with library_failures(task.key, "encode or decode this text"):
            return Look(value=task.look(task.key, tokenizer))
    except TokbenchError as exc:
        return Look(reason=str(exc))


def look_with_each(
    config: Config,
    wanted: Sequence[str],
    seen: Callable[[str, Tokenizer], Seen],
    executor: Executor,
) -> tuple[list[Seen], list[str]]:
    """Return what each wanted tokenizer of a config (all by default) shows, and what went wrong.

    Raises `UsageError` when the config has no tokenizer of a wanted name.
    """
    unknown = [name for name in wanted if name not in config.tokenizers]
    if unknown:
        hint = suggest(unknown[0], config.tokenizers)
        raise UsageError(f"--tokenizer {unknown[0]}: {config.path} has none of that name{hint}")
    tasks = [LookTask(key=key, config=config, look=seen) for key in wanted or config.tokenizers]
    looks = [(task.key, executor.submit(look, task)) for task in tasks]
    found, problems = [], []
    for key, future in looks:
        one = future.result()
        if one.reason is None:
            found.append(one.value)
        else:
            problems.append(f"{key}: {one.reason}")
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
    return TokenizerSource(key=key, plugin=entry, folder=config.folder).load()
