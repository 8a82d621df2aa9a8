"""Runs cells through an executor: splits them into parts, submits batches, merges results.

Batches may finish in any order; the result does not depend on it.
"""

from __future__ import annotations

import itertools
import queue
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tokbench.bench.count.tally import Cell, CellKey, TokenizerFacts
from tokbench.bench.environment import Stopwatch
from tokbench.bench.progress import Progress
from tokbench.bench.reasons import Reason
from tokbench.bench.results.run_folder import cell_path
from tokbench.bench.run.cell_files import stored_tally
from tokbench.bench.run.cell_task import CellOutcome, CellTask, batches_of, judged, parts_of
from tokbench.bench.run.plan import Plan
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.job import Answer, perform


@dataclass(kw_only=True)
class Counting:
    """Counts the cells of a plan; `cells` and `facts` hold what is finished."""

    plan: Plan
    folder: Path
    executor: Executor
    progress: Progress
    watch: Stopwatch
    cells: dict[CellKey, Cell] = field(default_factory=dict)
    facts: dict[str, TokenizerFacts] = field(default_factory=dict)
    peak_bytes: dict[str, int] = field(default_factory=dict)
    """Highest resident memory of the processes that each tokenizer was counted in."""
    _waiting: dict[CellKey, list[CellTask]] = field(default_factory=dict)
    _outcomes: dict[CellKey, dict[Path, CellOutcome]] = field(default_factory=dict)
    _finished: queue.SimpleQueue[Future[Answer[list[CellOutcome]]]] = field(
        default_factory=queue.SimpleQueue
    )

    def path_of(self, key: CellKey) -> Path:
        """Return the file that holds a cell's counts."""
        return cell_path(self.folder, key)

    def begin(self, tasks: Iterable[CellTask]) -> None:
        """Submit the cells of a tokenizer, and collect finished ones."""
        with self.watch.section("corpus"):  # how many batches there are is read from the slices
            parts = {task.key: parts_of(task) for task in tasks}
        self._waiting |= parts
        self._outcomes |= {key: {} for key in parts}
        for batch in batches_of(itertools.chain.from_iterable(parts.values())):
            self.executor.submit(perform, batch).add_done_callback(self._finished.put)
        while not self._finished.empty():
            self._take(self._finished.get())

    def impossible(self, key: CellKey, reason: Reason, detail: str) -> None:
        """Record a cell that cannot be counted."""
        cell = Cell(key=key, status="failed", reason=reason, detail=detail)
        self._finish(cell, reused=False)

    def wait(self) -> dict[CellKey, Cell]:
        """Return all cells in the order of the plan, once the last one is finished."""
        while len(self.cells) < len(self.plan.cells):
            self._take(self._finished.get())
        return {key: self.cells[key] for key in self.plan.cells}

    def _take(self, future: Future[Answer[list[CellOutcome]]]) -> None:
        answer = future.result()
        self.watch.take(answer.seconds, process=answer.process)
        for outcome in answer.value or ():
            peak = max(self.peak_bytes.get(outcome.key.tokenizer, 0), answer.peak_bytes)
            self.peak_bytes[outcome.key.tokenizer] = peak
            self._take_one(outcome)

    def _take_one(self, outcome: CellOutcome) -> None:
        key = outcome.key
        self._outcomes[key][outcome.path] = outcome
        if outcome.facts is not None:
            self.facts.setdefault(key.tokenizer, outcome.facts)
        if len(self._outcomes[key]) == len(self._waiting[key]):
            outcomes = self._outcomes.pop(key)
            ordered = [outcomes[part.path] for part in self._waiting.pop(key)]
            self._finish(_cell_of(key, ordered), reused=all(o.reused for o in ordered))

    def _finish(self, cell: Cell, *, reused: bool) -> None:
        self.cells[cell.key] = cell
        number, total = len(self.cells), len(self.plan.cells)
        self.progress.cell(cell, number, total, reused=reused)
        self.progress.part("counting", number / total)

    def facts_in_order(self) -> Mapping[str, TokenizerFacts]:
        """Return the facts of the tokenizers that could be loaded, in the order of the plan."""
        keys = dict.fromkeys(key.tokenizer for key in self.plan.cells)
        return {key: self.facts[key] for key in keys if key in self.facts}


def _cell_of(key: CellKey, outcomes: Sequence[CellOutcome]) -> Cell:
    for outcome in outcomes:
        if outcome.reason is not None:
            return Cell(key=key, status="failed", reason=outcome.code, detail=outcome.reason)
    paths, identities = [o.path for o in outcomes], [o.identity for o in outcomes]
    return judged(key, stored_tally(paths, identities))
