"""What a worker process remembers between two jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokbench.bench.errors import TokbenchError
from tokbench.bench.model import Tokenizer
from tokbench.bench.workers.sources import TokenizerSource

Step = tuple[str | int, ...]
"""Where a job is, such as ``("load",)``, ``("batch", 3)`` or ``("cell", 0, "row", 3, 17)``."""

Listener = Callable[[Step, float | None, str | None], None]
"""Gets a step, the seconds allowed from there on, and the config option that sets them."""


@dataclass(kw_only=True)
class WorkerState:
    """Everything that lives longer than a job. A process has one, `THIS`."""

    listener: Listener | None = None
    """Receiver of progress reports; None outside a worker process."""
    outer: list[str | int] = field(default_factory=list)
    """What stands before every step just now."""
    imports_counted: bool = False
    """Whether the CPU time of the imports has been reported."""
    tokenizers: list[tuple[TokenizerSource, Tokenizer | TokbenchError]] = field(
        default_factory=list
    )
    """The tokenizers loaded last (one, unless a suite compares), or why they could not be.

    By their whole source: in another run the same name may mean another tokenizer.
    """
    contents: tuple[Path, str] | None = None
    """Where token bytes were written last, and the fingerprint of their tokenizer."""
    tallies: tuple[Any, Any] | None = None
    """The counts that suites read last, keyed by their source."""
    session: Any = None
    """State of the running timing."""


THIS = WorkerState()
