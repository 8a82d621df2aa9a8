"""Tokenizers that a config trains: found by fingerprint, or trained and kept."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.bench import plugins
from tokbench.bench.cache import cache_folder, private_folder
from tokbench.bench.config.schema import TrainEntry
from tokbench.bench.corpus.balance import BalancedTexts, by_premium, factors
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.environment import library_versions
from tokbench.bench.errors import TokbenchError, TrainingError, is_library_failure, named
from tokbench.bench.markup import plural
from tokbench.bench.plugins import (
    AnyTrace,
    LabelledTexts,
    LoadContext,
    MergeTrainer,
    NestedTrainer,
    PruningTrainer,
    TextSizes,
    TokenizerPlugin,
    TrainedModel,
    TrainerPlugin,
)
from tokbench.bench.workers.sources import TokenizerSource


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A trained tokenizer: how to load it, and what training reported."""

    source: TokenizerSource
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class SliceTexts:
    """The texts of several slices, one after the other; may be iterated again."""

    slices: Sequence[Slice]

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each text once, with the number of times that training sees it."""
        return ((text, weight) for text, weight, _ in self.labelled())

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each text once, with that number and its language."""
        for part in self.slices:
            for batch, weights in zip(part.batches(), part.weights(), strict=True):
                for text, weight in zip(batch.texts, weights or repeat(1), strict=False):
                    yield text, weight, part.meta.language


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """A model to be made: its trainer, what decides it, and the folder named after that."""

    entry: TrainEntry
    trainer: TrainerPlugin
    identity: Mapping[str, Any]
    folder: Path


def obtain(key: str, entry: TrainEntry, slices: Sequence[Slice]) -> Trained:
    """Return the model of a `train:` block, from the cache where it was trained before.

    The fingerprint covers the trainer, its options, the text and the library versions. Raises
    `TrainingError` when the trainer refuses or fails.
    """
    return stored(key, entry, slices) or train({key: entry}, slices)[key]


def stored(key: str, entry: TrainEntry, slices: Sequence[Slice]) -> Trained | None:
    """Return the model of a `train:` block if it is in the cache and undamaged."""
    wanted = _identify(entry, slices)
    facts = _stored(wanted)
    return None if facts is None else _trained(key, wanted, facts)


def train(
    entries: Mapping[str, TrainEntry],
    slices: Sequence[Slice],
    *,
    texts: LabelledTexts | None = None,
    trace: AnyTrace | None = None,
) -> dict[str, Trained]:
    """Train the models of `train:` blocks that `shared` put together, and keep them in the cache.

    `texts` may stand in for the texts of the slices, to watch them go by; `trace` receives each
    merge. Raises `TrainingError` when the trainer refuses or fails.
    """
    wanted = {key: _identify(entry, slices) for key, entry in entries.items()}
    read = SliceTexts(slices) if texts is None else texts
    names = ", ".join(wanted)
    with _refusals(names):
        texts, balance = _balanced(next(iter(entries.values())), read)
    # two keys may ask for the very same model
    models = {one.folder: one for one in wanted.values()}
    trainers = {at: one.trainer for at, one in models.items()}
    with _kept(names, models) as folders:
        with _refusals(names):
            made = _models(trainers, texts, folders, trace)
        facts = {
            at: _write_facts(_with_facts(made[at], balance), models[at], folders[at])
            for at in models
        }
    return {key: _trained(key, one, facts[one.folder]) for key, one in wanted.items()}


def _balanced(entry: TrainEntry, texts: LabelledTexts) -> tuple[LabelledTexts, dict[str, Any]]:
    """Return texts with the balance of a `train:` block, and what is to be said of it."""
    if entry.balance is None:
        return texts, {}
    if entry.balance == "premium":
        found = by_premium(_tokens_without_balance(entry, texts))
    else:
        found = factors(texts, entry.balance)
    shown = {language: round(float(factor), 4) for language, factor in found.items()}
    return BalancedTexts(texts, found), {"balance": entry.balance, "seen": shown}


def _tokens_without_balance(entry: TrainEntry, texts: LabelledTexts) -> dict[str, int]:
    """Train without balance, and return how many tokens each language has then."""
    documents: Counter[str] = Counter(language for _, _, language in texts.labelled())
    if len(set(documents.values())) > 1:
        few, many = (f(documents, key=lambda name: documents[name]) for f in (min, max))
        raise TrainingError(
            f"`balance: premium` compares parallel text, but {few} has "
            f"{plural(documents[few], 'document')} and {many} {documents[many]:,}"
        )
    place = cache_folder("models")
    place.mkdir(parents=True, exist_ok=True)
    with private_folder(place, "training") as folder:
        options = dict(trainer_of(entry).train(texts, folder).tokenizer)
        plugin = plugins.find(TokenizerPlugin, options.pop("type")).model_validate(options)
        tokenizer = plugin.load(LoadContext(folder=folder))
        tokens: Counter[str] = Counter()
        for text, weight, language in texts.labelled():
            tokens[language] += weight * len(tokenizer.encode_batch([text])[0])
    return dict(tokens)


def _with_facts(model: TrainedModel, more: Mapping[str, Any]) -> TrainedModel:
    return replace(model, facts={**model.facts, **more})


def warning(entry: TrainEntry, slices: Sequence[Slice]) -> str | None:
    """Return what the trainer of a `train:` block says of its text before it starts."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(part.column("bytes") for part in slices)])
    return trainer_of(entry).warning(
        TextSizes(
            documents=len(sizes),
            bytes=int(sizes.sum()),
            longest=int(sizes.max(initial=0)),
            squares=int((sizes * sizes).sum()),
        )
    )


def shared(entries: Mapping[str, TrainEntry]) -> list[dict[str, TrainEntry]]:
    """Put the entries together that one training serves: they differ in their size alone.

    That takes a trainer whose merges nest; every other entry is on its own.
    """
    groups: dict[str, dict[str, TrainEntry]] = {}
    for key, entry in entries.items():
        trainer = trainer_of(entry)
        same: Any = {"alone": key}
        # a premium depends on the size, and so does the text that it makes
        if isinstance(trainer, NestedTrainer) and entry.balance != "premium":
            options = trainer.model_dump(mode="json", exclude={"vocab_size"})
            same = [entry.trainer, entry.corpus, entry.languages, entry.balance, options]
        groups.setdefault(json.dumps(same, sort_keys=True), {})[key] = entry
    return list(groups.values())


def trainer_of(entry: TrainEntry) -> TrainerPlugin:
    """Return the trainer of a `train:` block with its options."""
    return plugins.find(TrainerPlugin, entry.trainer).model_validate(entry.options)


def _identify(entry: TrainEntry, slices: Sequence[Slice]) -> _Wanted:
    trainer = trainer_of(entry)
    identity = {
        "trainer": entry.trainer,
        "options": trainer.model_dump(mode="json"),
        "text": [_text_sha256(part) for part in slices],
        "languages": [part.meta.language for part in slices],
        **({} if entry.balance is None else {"balance": entry.balance}),
        "versions": library_versions(("tokbench", "tokenizers", "sentencepiece")),
    }
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    folder = cache_folder("models") / name[:32]
    return _Wanted(entry=entry, trainer=trainer, identity=identity, folder=folder)


def _text_sha256(part: Slice) -> str:
    """Return the hash of a slice's text, and of its weights where it has some."""
    meta = part.meta
    return f"{meta.sha256} {meta.columns_sha256}" if part.weighted else meta.sha256


def _stored(wanted: _Wanted) -> dict[str, Any] | None:
    """Return what is stored of a model, None where it is missing, damaged or of something else."""
    try:
        facts = json.loads((wanted.folder / "trained.json").read_text(encoding="utf-8"))
        whole = isinstance(facts, dict) and facts.pop("sha256", None) == _seal(facts)
        return facts if whole and facts.get("files") == _file_hashes(wanted.folder) else None
    except (OSError, ValueError, RecursionError):
        return None


def _seal(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _file_hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "trained.json"
    }


@contextmanager
def _kept(names: str, targets: Iterable[Path]) -> Iterator[dict[Path, Path]]:
    """Give a folder to write each model in; they become the targets only if all goes well."""
    try:
        with ExitStack() as stack:
            folders = {}
            for target in targets:
                target.parent.mkdir(parents=True, exist_ok=True)
                place = stack.enter_context(private_folder(target.parent, "training"))
                folders[target] = place / target.name
                folders[target].mkdir()
            yield folders
            for target, temporary in folders.items():
                shutil.rmtree(target, ignore_errors=True)
                temporary.rename(target)
    except OSError as exc:
        where = cache_folder("models")
        raise TrainingError(f"tokenizer {names}: cannot store the model in {where}: {exc}") from exc


def _write_facts(model: TrainedModel, wanted: _Wanted, folder: Path) -> dict[str, Any]:
    facts = {**asdict(model), **{k: wanted.identity[k] for k in ("trainer", "options")}}
    facts["notes"] = list(model.notes)
    facts["files"] = _file_hashes(folder)
    facts = json.loads(json.dumps(facts))  # as they will be found in the cache
    sealed = {**facts, "sha256": _seal(facts)}
    text = json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / "trained.json").write_text(text, encoding="utf-8")
    found: dict[str, Any] = json.loads(text)  # in the order of a model found in the cache
    del found["sha256"]
    return found


@contextmanager
def _refusals(names: str) -> Iterator[None]:
    """Make what a library raises in training a `TrainingError`."""
    try:
        yield
    except TokbenchError:
        raise
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        raise TrainingError(f"tokenizer {names}: training failed: {named(exc)}") from exc


def _models(
    trainers: Mapping[Path, TrainerPlugin],
    texts: Iterable[str],
    folders: Mapping[Path, Path],
    trace: AnyTrace | None,
) -> dict[Path, TrainedModel]:
    first = next(iter(trainers.values()))
    if len(trainers) > 1 and isinstance(first, NestedTrainer):
        sizes = {at: t.vocab_size for at, t in trainers.items() if isinstance(t, NestedTrainer)}
        by_size = {size: folders[at] for at, size in sizes.items()}
        models = first.train_curve(texts, by_size, trace=trace)
        return {at: models[size] for at, size in sizes.items()}
    return {
        at: trainer.train(texts, folders[at], trace=trace)
        if isinstance(trainer, MergeTrainer | PruningTrainer)
        else trainer.train(texts, folders[at])
        for at, trainer in trainers.items()
    }


def _trained(key: str, wanted: _Wanted, facts: Mapping[str, Any]) -> Trained:
    options = dict(facts["tokenizer"])
    plugin = plugins.find(TokenizerPlugin, options.pop("type")).model_validate(options)
    source = TokenizerSource(key=key, plugin=plugin, folder=wanted.folder)
    return Trained(
        source=source,
        facts={**facts, "corpus": wanted.entry.corpus, "text": wanted.identity["text"]},
    )
