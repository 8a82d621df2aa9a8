"""How a run says what it is doing. `tokbench.bench.console` has the displays that people see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class FinishedCell(Protocol):
    """A finished cell: its name, status and reason."""

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
        """Something a reader should know at once: it costs much, or went wrong."""

    def expect(self, seconds: Mapping[str, float], cells: Mapping[str, int]) -> None:
        """A run begins: its parts with the seconds that each may take, and cells by tokenizer."""

    def part(self, name: str, share: float) -> None:
        """So much of a part is done, from 0 to 1."""

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """A cell is finished."""


class Silent:
    """A progress that shows nothing: the default wherever a progress is optional."""

    def step(self, text: str) -> None:
        """Show nothing."""

    def warning(self, text: str) -> None:
        """Show nothing."""

    def expect(self, seconds: Mapping[str, float], cells: Mapping[str, int]) -> None:
        """Show nothing."""

    def part(self, name: str, share: float) -> None:
        """Show nothing."""

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """Show nothing."""


SILENT = Silent()


@dataclass(kw_only=True)
class Parts:
    """How far a run is, by time: the parts weigh as many seconds as they are expected to take.

    >>> parts = Parts(seconds={"counting": 30.0, "timing": 10.0})
    >>> parts.done["counting"] = 0.5
    >>> parts.share, parts.left(elapsed=20.0)
    (0.375, 33.333333333333336)
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    done: dict[str, float] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the expected time that is behind, from 0 to 1."""
        total = sum(self.seconds.values())
        behind = (self.seconds[name] * self.done.get(name, 0.0) for name in self.seconds)
        return min(1.0, sum(behind) / total) if total else 0.0

    def left(self, elapsed: float) -> float | None:
        """Return the seconds still to come at the pace so far, None where nothing is done yet."""
        share = self.share
        return elapsed * (1 - share) / share if share > 0 else None


def clock(seconds: float) -> str:
    """Return a duration as people read it.

    >>> clock(7.4), clock(75), clock(3723)
    ('7 s', '1 min 15 s', '1 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
