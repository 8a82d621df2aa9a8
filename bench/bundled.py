"""Folders tokbench knows: bundled text and ready configs (checkout or wheel), and its cache."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Literal

from bench.errors import UsageError
from bench.languages import did_you_mean

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
    """Return the file of a ready config; raise `UsageError` when there is none of that name."""
    path = _configs() / f"{name}.yaml"
    if path.is_file():
        return path
    known = config_names()
    raise UsageError(
        f"no ready config is called {name!r}{did_you_mean(name, known)}; "
        f"there are: {', '.join(known) or 'none (is the installation complete?)'}"
    )


def _data() -> Path:
    return _package() / "data"


def _configs() -> Path:
    # hatchling puts the checkout's configs folder into the wheel's bench/data
    in_wheel = _data() / "configs"
    return in_wheel if in_wheel.is_dir() else _package().parent / "configs"


def _package() -> Path:
    return Path(str(files("bench")))
