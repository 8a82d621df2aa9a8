"""tokbench: measure tokenizers. ``load_results`` reads a run folder; the command is ``tokbench``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.bench.results.run_folder import Results, load_results

__all__ = ["Results", "load_results"]

_HOMES = {
    "Results": "tokbench.bench.results.run_folder",
    "load_results": "tokbench.bench.results.run_folder",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:  # imported on use, so that `tokbench --help` stays light
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
