"""How a run says what it is doing. `tokbench.bench.console` has the displays that people see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class FinishedCell(Protocol):
    """What is said of a cell: which one, what became of it, and why."""

    @property
    def key(self) -> Sequence[str]:
        """Tokenizer, corpus, language."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def detail(self) -> str | None:
        """Why, where there is a reason."""


class Progress(Protocol):
    """How a run reports what it is doing; `tokbench.bench.console` has the ones people see."""

    def step(self, text: str) -> None:
        """Something begins."""

    def warning(self, text: str) -> None:
        """Something will take long or much, before it begins."""

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """A cell is finished."""


class Silent:
    """A progress that shows nothing: the default wherever a progress is optional."""

    def step(self, text: str) -> None:
        """Show nothing."""

    def warning(self, text: str) -> None:
        """Show nothing."""

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """Show nothing."""


SILENT = Silent()
