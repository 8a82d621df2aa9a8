"""Whatever ends a run leaves whole files; the next run goes on and gives the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_files import exact_files
from tokbench.bench.config.schema import load_config
from tokbench.bench.corpus.slices import slices_folder
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import ResultsError
from tokbench.bench.run import cell_task
from tokbench.bench.run.cell_task import CellOutcome, CellTask, count_cell
from tokbench.bench.run.folder import open_folder
from tokbench.bench.run.plan import make_plan
from tokbench.bench.run.runner import RunOutcome, run

CONFIG = {
    "name": "small",
    "corpora": {
        "s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn", "fin_Latn"]}
    },
    "tokenizers": {"a": {"type": "utf8_bytes"}, "b": {"type": "characters"}},
    "suites": ["efficiency"],
}
CELLS = 4

Start = Callable[..., RunOutcome]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return path


@pytest.fixture
def start(config: Path, tmp_path: Path) -> Start:
    """Run the config into a folder below `tmp_path`."""

    def start(output: str = "runs", **options: Any) -> RunOutcome:
        return run(load_config(config), output=tmp_path / output, **options)

    return start


@pytest.fixture
def interrupted(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that was interrupted after three of its four cells."""
    begun: list[CellTask] = []

    def count_or_stop(task: CellTask, watch: Stopwatch) -> CellOutcome:
        if len(begun) == CELLS - 1:
            raise KeyboardInterrupt
        begun.append(task)
        return count_cell(task, watch)

    with monkeypatch.context() as patch:
        patch.setattr(cell_task, "count_cell", count_or_stop)
        with pytest.raises(KeyboardInterrupt):
            start()
    return tmp_path / "runs" / "small-1"


def files(outcome: RunOutcome) -> dict[str, bytes]:
    return exact_files(outcome.results.folder)


def test_finished_cells_are_kept_and_the_rest_is_counted(start, interrupted, listener) -> None:
    heard = listener()
    completed = start(progress=heard)
    assert completed.results.folder == interrupted
    assert heard.reused == [True, True, True, False]
    assert files(completed) == files(start(output="undisturbed"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_cell_is_found_and_counted_again(start, interrupted, damage, listener) -> None:
    cell = interrupted / "cells" / "a" / "s" / "fin_Latn.cell"
    data = cell.read_bytes()
    bad = {"cut": data[:-7], "flipped": data[:60] + b"\x00" + data[61:], "empty": b""}
    cell.write_bytes(bad[damage])
    heard = listener()
    completed = start(progress=heard)
    assert heard.reused == [True, False, True, False]
    assert files(completed) == files(start(output="undisturbed"))


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_slice_is_found_and_built_again(start, interrupted, damage) -> None:
    wanted = files(start(output="undisturbed"))
    (slice_,) = slices_folder().glob("s-fin_Latn-*.arrow")
    data = slice_.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    slice_.write_bytes(data[:middle] if damage == "cut" else flipped)
    assert files(start()) == wanted


def test_what_a_killed_run_had_begun_to_write_is_removed(start, interrupted) -> None:
    (interrupted / ".measurements.parquet.123.tmp").write_bytes(b"half of a file")
    start()
    assert not list(interrupted.rglob(".*"))


def test_a_finished_run_is_not_touched(start) -> None:
    assert [start().results.name, start().results.name] == ["small-1", "small-2"]


def test_a_run_killed_before_its_report_is_taken_up_again(start) -> None:
    folder = start().results.folder
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    (folder / "plan.json").write_text(json.dumps({**plan, "finished": False}), encoding="utf-8")
    (folder / "report.md").unlink()
    assert start().results.folder == folder
    assert (folder / "report.md").exists()


def test_training_again_or_not_gives_the_same_files(start, config) -> None:
    train = {"trainer": "tokenizers_bpe", "corpus": "s", "vocab_size": 300}
    config.write_text(
        json.dumps({**CONFIG, "tokenizers": {"t": {"train": train}}}), encoding="utf-8"
    )
    assert files(start()) == files(start())  # the second takes the model from the cache


def test_a_run_can_be_forced_to_be_new(start, interrupted) -> None:
    assert start(new=True).results.name == "small-2"


def test_another_plan_does_not_take_up_the_run(start, interrupted, config) -> None:
    config.write_text(json.dumps({**CONFIG, "seed": 1}), encoding="utf-8")
    assert start().results.name == "small-2"


@pytest.mark.parametrize(("rerun", "reused"), [("missing", [True] * 4), ("all", [False] * 4)])
def test_a_finished_run_can_be_taken_up_again(start, rerun, reused, listener) -> None:
    before = files(start())
    heard = listener()
    again = start(progress=heard, rerun=rerun)
    assert (again.results.name, heard.reused) == ("small-1", reused)
    assert files(again) == before


def test_two_runs_in_one_folder_are_told_apart(start, interrupted, config, tmp_path) -> None:
    plan = make_plan(load_config(config))
    with open_folder(tmp_path / "runs", plan) as folder:
        assert folder == interrupted
        with pytest.raises(ResultsError, match="small-1: is in use by another process; wait"):
            start()
        assert start(new=True).results.name == "small-2"
    assert start(rerun="missing").results.name == "small-2"


def test_a_folder_that_is_a_file_is_refused(start, tmp_path) -> None:
    (tmp_path / "runs").write_text("not a folder")
    with pytest.raises(ResultsError, match="small-1: cannot be created: Not a directory; choose"):
        start()


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(start, tmp_path) -> None:
    (tmp_path / "runs").mkdir(mode=0o500)
    with pytest.raises(ResultsError, match="small-1: cannot be created: Permission denied"):
        start()


FULL = """
import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from tokbench.bench.cli import main
main()
"""


@pytest.mark.parametrize("jobs", ["0", "1"])
def test_a_full_disk_ends_the_run_in_words_and_loses_no_cell(
    start, interrupted, jobs, listener
) -> None:
    """A limit on the size of files stands in for the disk: every cell fits, the report does not."""
    (interrupted / "cells" / "a" / "s" / "fin_Latn.cell").unlink()
    command = [sys.executable, "-c", FULL, "100", "run", "small.yaml", "--jobs", jobs]
    done = subprocess.run(
        command, cwd=interrupted.parent.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3, done.stderr
    assert "cannot be written: File too large; free space or choose another folder" in done.stderr
    assert "Traceback" not in done.stderr
    heard = listener()
    assert files(start(progress=heard)) == files(start(output="undisturbed"))
    assert heard.reused == [True, False, True, False]
