"""Jobs that read corpora and train tokenizers, in a worker process that may crash.

Cached inputs are used at once; the executor runs the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tokbench.bench.config.corpora import AnyCorpus
from tokbench.bench.config.schema import TrainEntry
from tokbench.bench.corpus.slices import Slice, materialise
from tokbench.bench.environment import Stopwatch
from tokbench.bench.run import trained_models
from tokbench.bench.run.trained_models import Trained
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.job import Died, GiveUp, Job


@dataclass(frozen=True, kw_only=True)
class SliceTask(Job[Slice]):
    """One language of a corpus to be read."""

    name: str
    entry: AnyCorpus
    language: str
    folder: Path

    @property
    def group(self) -> str:
        """Corpora share worker processes."""
        return "corpora"

    def run(self, watch: Stopwatch) -> Slice:
        """Read one language of a corpus into its slice."""
        heartbeat.at("open", seconds=self.limits.load_seconds, limit="limits.load_seconds")
        be_patient(self.limits.hub_seconds)
        with watch.section("corpus"):
            return materialise(
                self.name, self.entry, self.language, self.folder, limits=self.limits, watch=watch
            )

    def lost(self, died: Died) -> SliceTask | GiveUp:
        """Retry once if the process was killed, else give up the language."""
        where = f"corpus {self.name!r}, language {self.language!r}: "
        return super().lost(replace(died, reason=where + died.reason))

    def doing(self, died: Died) -> str:
        """Return what it was doing, as the end of a sentence."""
        return "while reading"


@dataclass(frozen=True, kw_only=True)
class TrainTask(Job[dict[str, Trained]]):
    """One tokenizer to train, or several from one training, by their keys."""

    entries: Mapping[str, TrainEntry]
    slices: Sequence[Slice]

    @property
    def group(self) -> str:
        """A process of its own."""
        return f"training of {', '.join(self.entries)}"

    def run(self, watch: Stopwatch) -> dict[str, Trained]:
        """Train the tokenizers."""
        heartbeat.at("train", seconds=self.limits.train_seconds, limit="limits.train_seconds")
        with watch.section("train"):
            return trained_models.train(self.entries, self.slices)

    def lost(self, died: Died) -> GiveUp:
        """Give up the tokenizer: training takes too long to retry."""
        reason = f"tokenizer {', '.join(self.entries)}: {died.reason} while training"
        return GiveUp(answer=self.give_up(reason))
