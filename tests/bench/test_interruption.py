"""Whatever ends a run leaves whole files; the next run goes on and gives the same."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.config import load_config
from bench.environment import Stopwatch
from bench.errors import ResultsError
from bench.executors import Inline, Terminated, interruptible
from bench.folder import open_folder
from bench.plan import make_plan
from bench.runner import RunOutcome, run
from bench.slices import slices_folder
from bench.tally import Cell


class Silent:
    """Tells nobody; remembers which cells were taken from before."""

    def __init__(self) -> None:
        self.reused: list[bool] = []

    def step(self, text: str) -> None:
        pass

    def cell(self, cell: Cell, number: int, total: int, *, reused: bool) -> None:
        self.reused.append(reused)


class Interrupted(Inline):
    """Counts a few cells, then somebody presses Ctrl-C."""

    def __init__(self, after: int) -> None:
        self._left = after

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return super().submit(fn, *args, **kwargs)


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Run a small config into `tmp_path / "runs"`."""
    config = {
        "name": "small",
        "corpora": {
            "s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn", "fin_Latn"]}
        },
        "tokenizers": {"a": {"type": "utf8_bytes"}, "b": {"type": "characters"}},
        "suites": ["efficiency"],
    }
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")

    def start(progress: Silent | None = None, output: str = "runs", **options: Any) -> RunOutcome:
        watch = Stopwatch()
        output_ = tmp_path / output
        loaded = load_config(path)
        return run(loaded, output=output_, progress=progress or Silent(), watch=watch, **options)

    start.plan = make_plan(load_config(path))  # type: ignore[attr-defined]
    return start


def exact_files(outcome: RunOutcome) -> dict[str, bytes]:
    folder = outcome.results.folder
    names = ["measurements.parquet", "findings.parquet", "run.json"]
    paths = [folder / name for name in names] + sorted(folder.glob("documents/*"))
    return {path.name: path.read_bytes() for path in paths}


def test_finished_cells_are_kept_and_the_rest_is_counted(start) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(executor=Interrupted(after=2 + 3))  # two slices, three of four cells
    progress = Silent()
    completed = start(progress)
    assert progress.reused == [True, True, True, False]
    assert completed.results.name == "small-1"
    assert exact_files(completed) == exact_files(start(output="undisturbed"))


def test_a_damaged_cell_is_counted_again(start) -> None:
    with pytest.raises(KeyboardInterrupt):
        start(executor=Interrupted(after=2 + 3))
    first, second, third = sorted(Path(start.__closure__[0].cell_contents if False else ".").glob("x")) or (None,) * 3
