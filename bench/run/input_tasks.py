"""Corpora and trained tokenizers as tasks: read and trained in a worker that may be lost.

What is found in the cache is taken at once; the rest is done wherever the executor runs it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from tokbench.bench.config.corpora import AnyCorpus
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.schema import TrainEntry
from tokbench.bench.corpus.slices import Slice, materialise
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import TokbenchError
from tokbench.bench.run import trained_models
from tokbench.bench.run.trained_models import Trained
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.pool import Loss, Settle, TryAgain


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A slice or a trained tokenizer, or the reason why there is none."""

    value: Any = None
    reason: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    process: int = 0


@dataclass(frozen=True, kw_only=True)
class SliceTask:
    """One language of a corpus to be read."""

    name: str
    entry: AnyCorpus
    language: str
    folder: Path
    limits: Limits = field(default_factory=Limits)
    tries: int = 0
    group: str = "corpora"
    stage: ClassVar[int] = 0

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.limits.memory

    def lost(self, loss: Loss) -> TryAgain[SliceTask] | Settle:
        """Try once more where the process was ended, else give the language up."""
        if loss.kind == "died" and not self.tries:
            return TryAgain(task=replace(self, tries=1))
        where = f"corpus {self.name!r}, language {self.language!r}"
        return Settle(outcome=self.hopeless(f"{where}: {loss.reason} while it was read"))

    def hopeless(self, reason: str) -> Prepared:
        """Return the outcome without a slice."""
        return Prepared(reason=reason)


@dataclass(frozen=True, kw_only=True)
class TrainTask:
    """One tokenizer to be trained, or several that one training serves."""

    entries: Mapping[str, TrainEntry]
    slices: Sequence[Slice]
    limits: Limits = field(default_factory=Limits)
    stage: ClassVar[int] = 0

    @property
    def group(self) -> str:
        """A process of its own."""
        return f"training of {', '.join(self.entries)}"

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.limits.memory

    def lost(self, loss: Loss) -> TryAgain[TrainTask] | Settle:
        """Give the tokenizer up."""
        reason = f"tokenizer {', '.join(self.entries)}: {loss.reason} while it was trained"
        return Settle(outcome=self.hopeless(reason))

    def hopeless(self, reason: str) -> Prepared:
        """Return the outcome without a tokenizer."""
        return Prepared(reason=reason)


def read_slice(task: SliceTask) -> Prepared:
    """Read one language of a corpus into its slice."""
    watch = Stopwatch()
    heartbeat.at("open", seconds=task.limits.load_seconds)
    be_patient(task.limits.hub_seconds)
    try:
        found: Slice | None = materialise(
            task.name, task.entry, task.language, task.folder, limits=task.limits, watch=watch
        )
        reason = None
    except TokbenchError as exc:
        found, reason = None, str(exc)
    return Prepared(
        value=found, reason=reason, seconds=_seconds(watch, "corpus"), process=os.getpid()
    )


def train(task: TrainTask) -> Prepared:
    """Train the tokenizers of a task; the value is a map from key to tokenizer."""
    watch = Stopwatch()
    heartbeat.at("train", seconds=task.limits.train_seconds)
    try:
        trained: dict[str, Trained] | None = trained_models.train(task.entries, task.slices)
        reason = None
    except TokbenchError as exc:
        trained, reason = None, str(exc)
    return Prepared(
        value=trained, reason=reason, seconds=_seconds(watch, "train"), process=os.getpid()
    )


def _seconds(watch: Stopwatch, name: str) -> dict[str, float]:
    """Return the sections of a stopwatch, what belongs to none of them under a name."""
    seconds = watch.stop()
    seconds[name] = seconds.get(name, 0.0) + seconds.pop("other", 0.0)
    return seconds
