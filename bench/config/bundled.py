"""Bundled text and ready configs, as files that can be opened."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import did_you_mean

Dataset = Literal["sentences", "programs"]


def text_keys(dataset: Dataset) -> list[str]:
    """Return the language keys that a bundled data set has text in, sorted."""
    return sorted(path.stem for path in (_data() / dataset).glob("*.jsonl"))


def text_path(dataset: Dataset, key: str) -> Path:
    """Return the JSON Lines file (`id`, `text`) of one language."""
    return _data() / dataset / f"{key}.jsonl"


def config_names() -> list[str]:
    """Return the names of the ready configs, sorted."""
    return sorted(path.stem for path in _configs().glob("*.yaml"))


def config_path(name: str) -> Path:
    """Return the file of a ready config; raise `UsageError` for an unknown name."""
    path = _configs() / f"{name}.yaml"
    if path.is_file():
        return path
    known = config_names()
    raise UsageError(
        f"unknown config {name!r}{did_you_mean(name, known)}; "
        f"there are: {', '.join(known) or 'none (is the installation complete?)'}"
    )


def find_config(name: str) -> Path:
    """Return a config file, or a ready config if a plain name is not a file.

    Raises `UsageError` for a plain name that is neither.
    """
    path = Path(name)
    return path if path.exists() or path.suffix or path.name != name else config_path(name)


def _data() -> Path:
    return _package() / "bench" / "data"


def _configs() -> Path:
    return _package() / "configs"


def _package() -> Path:
    return Path(str(files("tokbench")))
