"""Portions: cells of one tokenizer that go to a worker together.

A small cell takes less time than sending it off, so that as many travel together as hold about
1 MiB of text. Each still has a file of its own, and is lost on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tokbench.bench.environment import peak_bytes
from tokbench.bench.run.cell_task import CellOutcome, CellTask, count_cell
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.pool import Loss, Settle, TryAgain

PORTION_BYTES = 1 << 20
"""Text that a portion has at most, unless it is one cell or one part of a cell."""


@dataclass(frozen=True, kw_only=True)
class Portion:
    """Cells, or parts of cells, of one tokenizer to count one after the other."""

    tasks: tuple[CellTask, ...]
    settled: Mapping[int, CellOutcome] = field(default_factory=dict)
    """Those of `tasks` that are given up, by their place, and what became of them."""
    counted: int = 0
    """How many of `tasks` were done when a worker was lost: their files are of this run."""
    stage: ClassVar[int] = 0

    @property
    def group(self) -> str:
        """One worker process per tokenizer."""
        return self.tasks[0].group

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.tasks[0].memory

    def lost(self, loss: Loss) -> TryAgain[Portion] | Settle:
        """Go on as the cell that was being counted says."""
        match loss.place:
            case ("cell", int(at), *inner):
                place = tuple(inner)
            case _:
                at, place = 0, loss.place
        verdict = self.tasks[at].lost(replace(loss, place=place))
        counted = max(self.counted, at)
        if isinstance(verdict, TryAgain):
            tasks = (*self.tasks[:at], verdict.task, *self.tasks[at + 1 :])
            return TryAgain(task=replace(self, tasks=tasks, counted=counted))
        if verdict.hopeless is not None:
            return replace(verdict, outcome=self.hopeless(verdict.hopeless))
        settled = {**self.settled, at: verdict.outcome}
        return TryAgain(task=replace(self, settled=settled, counted=counted))

    def hopeless(self, reason: str) -> list[CellOutcome]:
        """Return the outcomes without numbers."""
        return [task.hopeless(reason) for task in self.tasks]


def portions_of(tasks: Iterable[CellTask]) -> Iterator[Portion]:
    """Put the cells of one tokenizer, or the parts of its large ones, into portions, in order."""
    waiting: list[CellTask] = []
    n_bytes = 0
    for task in tasks:
        size = task.slice.meta.bytes if task.stop is None else PORTION_BYTES
        if waiting and n_bytes + size > PORTION_BYTES:
            yield Portion(tasks=tuple(waiting))
            waiting, n_bytes = [], 0
        waiting.append(task)
        n_bytes += size
    if waiting:
        yield Portion(tasks=tuple(waiting))


def count_portion(portion: Portion) -> list[CellOutcome]:
    """Count each cell of a portion into its file; errors as in `count_cell`."""
    outcomes = []
    for at, task in enumerate(portion.tasks):
        if at in portion.settled:
            outcomes.append(portion.settled[at])
            continue
        with heartbeat.within("cell", at):
            outcome = count_cell(task)
        outcomes.append(replace(outcome, reused=False) if at < portion.counted else outcome)
    outcomes[-1] = replace(outcomes[-1], peak_bytes=peak_bytes())
    return outcomes
