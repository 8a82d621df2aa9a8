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
from tokbench.bench.markup import plural, suggest, visible
from tokbench.bench.plugins import (
    AnyTrace,
    MergeEvent,
    MergeTrainer,
    PruneEvent,
    PruningTrainer,
    Rival,
    TrainerPlugin,
)
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
        if not isinstance(trained_models.trainer_of(entry), MergeTrainer | PruningTrainer):
            kinds = plugins.sound(TrainerPlugin, lambda _: None).items()
            telling = ", ".join(
                name for name, kind in kinds if issubclass(kind, MergeTrainer | PruningTrainer)
            )
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
    telling: Telling | None = None,
    output: Path | None = None,
) -> Iterator[TrainingOutcome]:
    """Train `train:` blocks, each or together where one training serves several.

    `telling` says a line for each merge as it happens; models from the cache are then trained
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
        found = {} if telling else _found(group, slices)
        missing = {key: entry for key, entry in group.items() if key not in found}
        new: Mapping[str, Trained] = {}
        if missing:
            progress.step(f"{names}: {entry.trainer} on {entry.corpus}")
            if (costs := trained_models.warning(entry, slices)) is not None:
                progress.warning(f"{names}: {costs}")
            new = _train(missing, slices, progress, telling)
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
    telling: Telling | None,
) -> dict[str, Trained]:
    trainers = [trained_models.trainer_of(entry) for entry in entries.values()]
    texts = _WatchedTexts(SliceTexts(slices), sum(s.meta.documents for s in slices), progress)
    n_merges = max(getattr(trainer, "vocab_size", 0) for trainer in trainers)
    watched = any(isinstance(trainer, MergeTrainer | PruningTrainer) for trainer in trainers)
    trace = _tracer(progress, n_merges, telling, trainers[0]) if watched else None
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
        return ((text, weight) for text, weight, _ in self.labelled())

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each text once, with its weight and its language."""
        for number, text in enumerate(self.texts.labelled()):
            if number % EVERY == 0:
                self.progress.share("reading documents", number, self.total)
            yield text


@dataclass(frozen=True, kw_only=True)
class Telling:
    """How training is told as it happens: to whom, and what beside the merges."""

    say: Say
    pairs: int = 0
    """Of each step, this many of the best pairs."""
    words: Sequence[str] = ()
    """Words that are shown whenever a merge changes them."""


def _tracer(
    progress: ConsoleProgress, total: int, telling: Telling | None, trainer: TrainerPlugin
) -> AnyTrace:
    if telling is None:

        def counted(event: MergeEvent | PruneEvent) -> None:
            if isinstance(event, MergeEvent) and event.rank % EVERY == 0:
                progress.share("merges", event.rank, total)

        return counted
    words: dict[str, list[bytes]] = {}
    if isinstance(trainer, MergeTrainer):
        words = {word: trainer.symbols(word) for word in telling.words}

    def told(event: MergeEvent | PruneEvent) -> None:
        for line in _event_lines(event, telling.pairs, words):
            telling.say(line)

    return told


def _event_lines(
    event: MergeEvent | PruneEvent, pairs: int, words: dict[str, list[bytes]]
) -> Iterator[str]:
    if isinstance(event, PruneEvent):
        yield prune_line(event, pairs or SHOWN_DROPPED)
        return
    yield trace_line(event)
    if pairs:
        yield f"{'':19}of {', '.join(map(_rival, event.rivals(pairs)))}"
    for word, symbols in words.items():
        if (joined := joined_once(symbols, event)) != symbols:
            words[word] = joined
            yield f"{'':19}{word}: {' '.join(map(_shown, joined))}"


def joined_once(symbols: Sequence[bytes], event: MergeEvent) -> list[bytes]:
    """Return a word's symbols after a merge, from the left.

    >>> event = MergeEvent(rank=0, left=b"a", right=b"a", token=b"aa", count=2)
    >>> joined_once([b"a", b"a", b"a"], event)
    [b'aa', b'a']
    """
    found: list[bytes] = []
    at = 0
    while at < len(symbols):
        both = tuple(symbols[at : at + 2]) == (event.left, event.right)
        found.append(event.token if both else symbols[at])
        at += 2 if both else 1
    return found


def _shown(part: bytes) -> str:
    return Piece(id=0, content=part).shown


def _rival(rival: Rival) -> str:
    score = "" if rival.score is None else f" {rival.score:.3g}"
    return f"{_shown(rival.left)} {_shown(rival.right)} {rival.count:,}{score}"


def trace_line(event: MergeEvent) -> str:
    r"""Return one merge as a line: rank, count, both parts as text, the token's bytes.

    Where a score decides it stands at the end.

    >>> trace_line(MergeEvent(rank=0, left=b"e", right=b" ", token=b"e ", count=4377))
    '     0      4,377  e + ␣  65 20'
    """
    score = "" if event.score is None else f"  score {event.score:.3g}"
    parts = f"{_shown(event.left)} + {_shown(event.right)}"
    return f"{event.rank:>6} {event.count:>10,}  {parts}  {event.token.hex(' ')}{score}"


SHOWN_DROPPED = 8


def prune_line(event: PruneEvent, n: int) -> str:
    """Return one round as a line: its number, pieces, log likelihood, and the first that go.

    >>> event = PruneEvent(
    ...     round=0, pieces=40, log_likelihood=-99.5, dropped=lambda n: ["ab", "▁a"][:n]
    ... )
    >>> prune_line(event, 8)
    'round 0: 40 pieces, log likelihood -99.5; dropped first: ab, ▁a'
    """
    gone = event.dropped(n)
    first = f"; dropped first: {', '.join(map(visible, gone))}" if gone else "; none dropped"
    return (
        f"round {event.round}: {plural(event.pieces, 'piece')}, "
        f"log likelihood {event.log_likelihood:,.1f}{first}"
    )


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
    telling: Telling | None = None,
    entries: Mapping[str, TrainEntry] | None = None,
) -> Iterator[TrainingOutcome]:
    """Train the requested tokenizers; raise `Interrupted` on Ctrl-C or SIGTERM."""
    entries = chosen(config, wanted) if entries is None else entries
    if telling is not None:
        check_traced(entries)
        if any(isinstance(trained_models.trainer_of(e), MergeTrainer) for e in entries.values()):
            telling.say(TRACE_HEADER)
    doing = Doing()
    with interrupting(doing):
        yield from train(
            config, entries, progress=progress, doing=doing, telling=telling, output=output
        )


@contextmanager
def interrupting(doing: Doing) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM in the block into an error that names the interrupted step."""
    try:
        yield
    except KeyboardInterrupt as exc:
        raise Interrupted(doing.interrupted(), getattr(exc, "exit_code", 130)) from exc
