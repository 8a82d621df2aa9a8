"""Tokenizers that a config trains: found by fingerprint, or trained and kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import plugins
from bench.cache import cache_folder
from bench.config import TrainEntry
from bench.encode import is_library_failure
from bench.environment import library_versions
from bench.errors import TokbenchError, TrainingError
from bench.loading import TokenizerSource
from bench.plugins import TokenizerPlugin, TrainedModel, TrainerPlugin
from bench.slices import Slice


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
        for part in self.slices:
            for batch in part.batches():
                yield from batch.texts


def obtain(key: str, entry: TrainEntry, slices: Sequence[Slice]) -> Trained:
    """Return the model of a `train:` block, from the cache where it was trained before.

    The fingerprint covers the trainer, its options, the text and the library versions. Raises
    `TrainingError` when the trainer refuses or fails.
    """
    trainer, identity, folder = _identify(entry, slices)
    facts = _stored(folder)
    if facts is None:
        facts = _train(key, trainer, slices, folder, identity)
    return Trained(source=_source(key, facts, folder), facts={**facts, "corpus": entry.corpus})


def stored(key: str, entry: TrainEntry, slices: Sequence[Slice]) -> Trained | None:
    """Return the model of a `train:` block if it is in the cache and undamaged."""
    _, _, folder = _identify(entry, slices)
    facts = _stored(folder)
    if facts is None:
        return None
    return Trained(source=_source(key, facts, folder), facts={**facts, "corpus": entry.corpus})


def _identify(
    entry: TrainEntry, slices: Sequence[Slice]
) -> tuple[TrainerPlugin, dict[str, Any], Path]:
    """Return the trainer, what decides its model, and the folder named after that."""
    trainer = plugins.find(TrainerPlugin, entry.trainer).model_validate(entry.options)
    identity = {
        "trainer": entry.trainer,
        "options": trainer.model_dump(mode="json"),
        "text": [part.meta.sha256 for part in slices],
        "versions": library_versions(("tokbench", "tokenizers", "sentencepiece")),
    }
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return trainer, identity, cache_folder("models") / name[:32]


def _stored(folder: Path) -> dict[str, Any] | None:
    try:
        facts: dict[str, Any] = json.loads((folder / "trained.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if facts.get("files") == _file_hashes(folder) else None


def _file_hashes(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != "trained.json"
    }


def _train(
    key: str,
    trainer: TrainerPlugin,
    slices: Sequence[Slice],
    folder: Path,
    identity: Mapping[str, Any],
) -> dict[str, Any]:
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        model = _run(key, trainer, slices, temporary)
        facts = {**asdict(model), "trainer": identity["trainer"], "options": identity["options"]}
        facts["notes"] = list(model.notes)
        facts["files"] = _file_hashes(temporary)
        text = json.dumps(facts, indent=1, sort_keys=True, ensure_ascii=False)
        (temporary / "trained.json").write_text(text, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except OSError as exc:
        raise TrainingError(
            f"tokenizer {key}: cannot store the model in {folder.parent}: {exc}"
        ) from exc
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return facts


def _run(key: str, trainer: TrainerPlugin, slices: Sequence[Slice], folder: Path) -> TrainedModel:
    try:
        return trainer.train(SliceTexts(slices), folder)
    except TokbenchError:
        raise
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        raise TrainingError(
            f"tokenizer {key}: training failed: {type(exc).__name__}: {exc}"
        ) from exc


def _source(key: str, facts: Mapping[str, Any], folder: Path) -> TokenizerSource:
    options = dict(facts["tokenizer"])
    plugin = plugins.find(TokenizerPlugin, options.pop("type")).model_validate(options)
    return TokenizerSource(key=key, plugin=plugin, folder=folder)
