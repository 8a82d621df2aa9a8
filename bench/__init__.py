"""tokbench: measure tokenizers. ``load_results`` reads a run folder; the command is ``tokbench``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.results import Results, load_results

__all__ = ["Results", "load_results"]


def __getattr__(name: str) -> object:
    if name in __all__:  # imported on use, so that `tokbench --help` stays light
        from bench import results

        return getattr(results, name)
    raise AttributeError(f"module 'bench' has no attribute {name!r}")
