"""tokbench: measure tokenizers. What is here is the public API, and `tokbench.plugins` what plug-ins need.

    results = tokbench.run("mine.yaml")
    results.table("bytes_per_token")

Names are imported on use, so that `import tokbench` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.api import (
        Comparison,
        Config,
        Results,
        TokbenchError,
        compare,
        inspect,
        load_config,
        load_results,
        load_tokenizer,
        plan,
        run,
    )

__all__ = [
    "Comparison",
    "Config",
    "Results",
    "TokbenchError",
    "compare",
    "inspect",
    "load_config",
    "load_results",
    "load_tokenizer",
    "plan",
    "run",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("tokbench.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
