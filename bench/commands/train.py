"""`tokbench train`: train the `train:` blocks of a config, report the results, write the files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

from tokbench.bench import plugins
from tokbench.bench.commands.inspect import Piece
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.console import ConsoleProgress
from tokbench.bench.corpus.slices import Slice, materialise
from tokbench.bench.errors import Interrupted, ResultsError, UsageError
from tokbench.bench.markup import suggest
from tokbench.bench.plugins import MergeEvent, MergeTrainer, Trace, TrainerPlugin
from tokbench.bench.run import trained_models
from tokbench.bench.run.trained_models import SliceTexts, Trained

Say = Callable[[str], None]

EVERY = 256
"""Merges and documents between two updates of the progress bar."""


@dataclass(frozen=True, kw_only=True)
class TrainingOutcome:
    """One tokenizer, trained or found in the cache."""

    key: str
    trained: Trained
    from_cache: bool
    folder: Path | None = None
    """Folder that its files were written to."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        facts = dict(self.trained.facts)
        folder = None if self.folder is None else str(self.folder)
        return {"key": self.key, "from_cache": self.from_cache, "folder": folder, **facts}


@dataclass
class Doing:
    """The current step, for the message of an interrupt."""

    what: str = "nothing had begun"
    finished: list[str] = field(default_factory=list)

    def interrupted(self) -> str:
        """Return the message of an interrupt.

        >>> Doing(what="mine was being trained", finished=["other"]).interrupted()
        'interrupted while mine was being trained; no file of it was written; finished: other'
        """
        done = ", ".join(self.finished) or "none"
        return f"interrupted while {self.what}; no file of it was written; finished: {done}"


def chosen(config: Config, wanted: Sequence[str]) -> dict[str, TrainEntry]:
    """Return the `train:` blocks of some keys, or of all; the key of a sweep stands for its sizes.

    Raises `UsageError` for an unknown key or one without a `train:` block.
    """
    blocks = {k: e for k, e in config.tokenizers.items() if isinstance(e, TrainEntry)}
    if not blocks:
        raise UsageError(f"{config.path}: no tokenizer has a `train:` block")
    found: dict[str, TrainEntry] = {}
    for name in wanted or blocks:
        mine = {k: e for k, e in blocks.items() if name in (k, config.origins.get(k))}
        if not mine:
            known = sorted({*blocks, *(config.origins[k] for k in blocks)})
            why = "has no `train:` block" if name in config.tokenizers else "is not in the config"
            raise UsageError(f"--tokenizer {name}: {why}{suggest(name, known)}")
        found |= mine
    return found


def training_text(config: Config, entry: TrainEntry) -> list[Slice]:
    """Return the slices of a `train:` block's text."""
    corpus = config.run.corpora[entry.corpus]
    languages = entry.languages or tuple(corpus.options())
    return [materialise(entry.corpus, corpus, name, config.folder) for name in languages]


def check_traced(entries: Mapping[str, TrainEntry]) -> None:
    """Raise `UsageError` if a trainer cannot report merges."""
    for key, entry in entries.items():
        if not isinstance(trained_models.trainer_of(entry), MergeTrainer):
            kinds = plugins.sound(TrainerPlugin, lambda _: None).items()
            telling = ", ".join(name for name, kind in kinds if issubclass(kind, MergeTrainer))
            raise UsageError(
                f"--trace: {key} is trained by {entry.trainer}, which cannot report merges; these "
                f"trainers can: {telling}; choose a tokenizer of theirs with --tokenizer"
            )


def train(
    config: Config,
    entries: Mapping[str, TrainEntry],
    *,
    progress: ConsoleProgress,
    doing: Doing,
    say: Say | None = None,
    output: Path | None = None,
) -> Iterator[TrainingOutcome]:
    """Train `train:` blocks, each or together where one training serves several.

    `say` is given a line for each merge as it happens; models from the cache are then trained
    anew. Files go to ``output/KEY``. Raises `TokbenchError` at the first that cannot be trained.
    """
    for key in entries:
        _check_target(output, key)
    for group in trained_models.shared(entries):
        names, entry = ", ".join(group), next(iter(group.values()))
        doing.what = f"the text of {names} was being read"
        progress.step(f"{names}: reading {entry.corpus}")
        slices = training_text(config, entry)
        doing.what = f"{names} was being trained"
        found = {} if say else _found(group, slices)
        missing = {key: entry for key, entry in group.items() if key not in found}
        new: Mapping[str, Trained] = {}
        if missing:
            progress.step(f"{names}: {entry.trainer} on {entry.corpus}")
            if (costs := trained_models.warning(entry, slices)) is not None:
                progress.warning(f"{names}: {costs}")
            new = _train(missing, slices, progress, say)
        for key in group:
            trained = new[key] if key in new else found[key]
            doing.what = f"{key} was being written"
            folder = None if output is None else _deliver(trained, output / key)
            doing.finished.append(key)
            yield TrainingOutcome(
                key=key, trained=trained, from_cache=key not in new, folder=folder
            )


def _found(group: Mapping[str, TrainEntry], slices: Sequence[Slice]) -> dict[str, Trained]:
    stored = {key: trained_models.stored(key, entry, slices) for key, entry in group.items()}
    return {key: trained for key, trained in stored.items() if trained is not None}


def _train(
    entries: Mapping[str, TrainEntry],
    slices: Sequence[Slice],
    progress: ConsoleProgress,
    say: Say | None,
) -> dict[str, Trained]:
    trainers = [trained_models.trainer_of(entry) for entry in entries.values()]
    texts = _WatchedTexts(SliceTexts(slices), sum(s.meta.documents for s in slices), progress)
    n_merges = max(getattr(trainer, "vocab_size", 0) for trainer in trainers)
    watched = any(isinstance(trainer, MergeTrainer) for trainer in trainers)
    trace = _tracer(progress, n_merges, say) if watched else None
    return trained_models.train(entries, slices, texts=texts, trace=trace)


@dataclass(frozen=True)
class _WatchedTexts:
    """Texts that advance a progress bar as they are read; may be iterated again."""

    texts: SliceTexts
    total: int
    progress: ConsoleProgress

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each text once, with its weight."""
        for number, pair in enumerate(self.texts.weighted()):
            if number % EVERY == 0:
                self.progress.share("reading documents", number, self.total)
            yield pair


def _tracer(progress: ConsoleProgress, total: int, say: Say | None) -> Trace:
    def told(event: MergeEvent) -> None:
        if say is not None:
            say(trace_line(event))
        elif event.rank % EVERY == 0:
            progress.share("merges", event.rank, total)

    return told


def trace_line(event: MergeEvent) -> str:
    r"""Return one merge as a line: rank, count, both parts as text, the token's bytes.

    >>> trace_line(MergeEvent(rank=0, left=b"e", right=b" ", token=b"e ", count=4377))
    '     0      4,377  e + ␣  65 20'
    """
    left, right = (Piece(id=0, content=part).shown for part in (event.left, event.right))
    return f"{event.rank:>6} {event.count:>10,}  {left} + {right}  {event.token.hex(' ')}"


TRACE_HEADER = "  rank      count  parts and bytes"


def _check_target(output: Path | None, key: str) -> None:
    folder = None if output is None else output / key
    if folder is None or not folder.exists() or (folder / "trained.json").is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise UsageError(f"{folder} exists and is not a trained model; choose another --output")


def _deliver(trained: Trained, target: Path) -> Path:
    """Copy a model to its output folder: all of it or nothing."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(trained.source.folder, temporary)
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
    except OSError as exc:
        raise ResultsError(f"{target}: cannot be written: {exc.strerror or exc}") from exc
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def render(outcome: TrainingOutcome) -> str:
    """Return what training reported, one fact per line."""
    facts = outcome.trained.facts
    how = "from the cache" if outcome.from_cache else "trained now"
    model = facts["tokenizer"].get("file", "trained.json")
    lines = [
        f"{outcome.key}: {facts['trainer']} on {facts['corpus']}, {how}",
        f"  vocabulary     {facts['vocab_size_requested']:,} requested, "
        f"{facts['vocab_size_reached']:,} reached",
        f"  text           {facts['documents']:,} documents, {facts['bytes']:,} bytes, "
        f"{facts['lines_skipped']:,} lines skipped",
        f"  model          {model} {facts['files'].get(model, '')}",
        f"  deterministic  {_deterministic(facts['deterministic'])}",
        *(f"  note           {note}" for note in facts["notes"]),
    ]
    if outcome.folder is not None:
        lines.append(f"  written to     {outcome.folder}")
    return "\n".join(lines)


def _deterministic(value: bool) -> str:
    return "yes" if value else "no: training again may produce another model"


def run(
    config: Config,
    wanted: Sequence[str],
    *,
    progress: ConsoleProgress,
    output: Path | None = None,
    say: Say | None = None,
    entries: Mapping[str, TrainEntry] | None = None,
) -> Iterator[TrainingOutcome]:
    """Train the requested tokenizers; raise `Interrupted` on Ctrl-C or SIGTERM."""
    entries = chosen(config, wanted) if entries is None else entries
    if say is not None:
        check_traced(entries)
        say(TRACE_HEADER)
    doing = Doing()
    with telling(doing):
        yield from train(config, entries, progress=progress, doing=doing, say=say, output=output)


@contextmanager
def telling(doing: Doing) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM in the block into an error that names the interrupted step."""
    try:
        yield
    except KeyboardInterrupt as exc:
        raise Interrupted(doing.interrupted(), getattr(exc, "exit_code", 130)) from exc
