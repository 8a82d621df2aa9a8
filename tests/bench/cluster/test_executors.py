"""Where jobs run is chosen by name or passed in, and changes no byte of the exact files."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tokbench
from run_files import exact_files
from slow_jobs import Slow
from small_config import CONFIG
from tokbench.bench.corpus import slice_build
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.guard import Terminated
from tokbench.bench.progress import SILENT
from tokbench.bench.results import documents
from tokbench.bench.run import cell_task
from tokbench.bench.run.shared_place import check_seen
from tokbench.bench.workers.executors import Inline, executor, interruptible
from tokbench.bench.workers.job import perform
from tokbench.bench.workers.pool import Workers

CLOCK = {**CONFIG, "suites": {"efficiency": {}, "throughput": {"processes": 1, "rounds": 3}}}


class Elsewhere(Inline):
    """Runs jobs here and says that they run on other machines."""

    local = False
    facts = {"name": "elsewhere", "workers": 3}


class Losing(Inline):
    """Loses every job, as a pool does whose machines are gone."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(OSError("node 7 is gone"))
        return future


def test_executors_give_the_same_exact_files_and_are_named_in_the_environment(
    tmp_path: Path,
) -> None:
    inline = tokbench.run(CONFIG, tmp_path / "inline", jobs=0)
    elsewhere = tokbench.run(CONFIG, tmp_path / "elsewhere", executor=Elsewhere())
    with ThreadPoolExecutor(3) as threads:
        threaded = tokbench.run(CONFIG, tmp_path / "threads", executor=threads)
    wanted = exact_files(inline.folder)
    assert exact_files(elsewhere.folder) == exact_files(threaded.folder) == wanted
    named = [one.environment["executor"] for one in (inline, elsewhere, threaded)]
    assert [one["name"] for one in named] == ["inline", "elsewhere", "ThreadPoolExecutor"]
    assert named[1]["workers"] == 3


class Shuffled:
    """Runs each job in a thread of its own, after a moment that a seed decides."""

    local = True

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            future.set_result(fn(*args, **kwargs))

        threading.Timer(self._random.uniform(0, 0.05), run).start()
        return future


def cut(monkeypatch: pytest.MonkeyPatch, batch_bytes: int, batches: int) -> None:
    """Cut text after so many bytes, and cells after so many batches."""
    monkeypatch.setattr(slice_build, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(cell_task, "PART_BATCHES", batches)
    monkeypatch.setattr(cell_task, "SENT_BYTES", batch_bytes)


ASKING = {**CONFIG, "suites": {"efficiency": {}, "witnesses": {"fuzz": 1}}, "texts": 2}


def test_neither_the_cut_nor_the_order_of_jobs_changes_a_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "GROUP_ROWS", 20)  # of 48 documents
    found = []
    for number, (batch_bytes, batches) in enumerate([(2**20, 8), (700, 1), (300, 2)]):
        cut(monkeypatch, batch_bytes, batches)
        monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / f"cache-{number}"))
        output = tmp_path / str(number)
        ran = tokbench.run(ASKING, output, executor=Shuffled(number), keep_cells=True)
        cells = len(list((ran.folder / "cells").rglob("*.cell")))
        groups = pq.ParquetFile(ran.folder / "documents" / "a@s.parquet").num_row_groups
        found.append((cells, groups, exact_files(ran.folder)))
    assert len({cells for cells, _, _ in found}) == 3
    assert {groups for _, groups, _ in found} == {3}
    assert found[0][2] == found[1][2] == found[2][2]


def test_suites_with_a_clock_are_skipped_where_jobs_run_elsewhere(tmp_path: Path, listener) -> None:
    heard = listener()
    ran = tokbench.run(CLOCK, tmp_path, executor=Elsewhere(), progress=heard)
    [said] = [text for text in heard.steps if "clock" in text]
    assert said.startswith("warning: 1 suite with a clock skipped (throughput): ")
    assert said.endswith("run the same config alone on one machine, without --executor")
    assert (ran.throughput is None or not len(ran.throughput), ran.problems) == (True, [])
    assert "throughput" in ran.run["config"]["suites"]


def test_a_job_that_an_executor_loses_ends_the_run_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        ResultsError, match=r"executor \w+ lost a job: OSError: node 7 is gone; run"
    ):
        tokbench.run(CONFIG, tmp_path, executor=Losing())


def test_workers_that_do_not_see_the_run_folder_are_an_error_that_names_the_option(
    tmp_path: Path,
) -> None:
    class Blind(Elsewhere):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            (tmp_path / "seen-by-workers").unlink()
            return super().submit(fn, *args, **kwargs)

    check_seen(Elsewhere(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ResultsError, match="is not seen by the executor's workers; set --output"):
        check_seen(Blind(), tmp_path)


@pytest.mark.parametrize(
    ("name", "address", "said"),
    [
        ("rays", None, "unknown plug-in 'rays' of tokbench.executors"),
        ("local", "auto", "executor 'local' takes no address"),
    ],
)
def test_an_unknown_executor_and_an_address_without_use_are_errors(
    name: str, address: str | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said), executor(1, SILENT, name, address):
        pass


def test_an_executor_that_is_passed_takes_no_jobs_and_no_address(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an address goes with"):
        tokbench.run(CONFIG, tmp_path, executor=Inline(), address="auto")


def work(folder: Path) -> None:
    """Do fifty jobs in one worker process."""
    with interruptible(), Workers(1, on_loss=print) as workers:
        jobs = [workers.submit(perform, Slow(folder=folder, number=n)) for n in range(50)]
        for job in jobs:
            job.result(timeout=60)


def test_sigterm_lets_the_running_job_finish_and_begins_no_other(tmp_path: Path) -> None:
    def end() -> None:
        late = time.monotonic() + 50
        while not list(tmp_path.glob("*.begun")) and time.monotonic() < late:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    ender = threading.Thread(target=end)
    ender.start()
    with pytest.raises(Terminated):
        work(tmp_path)
    ender.join()
    begun = {path.stem for path in tmp_path.glob("*.begun")}
    assert begun == {path.stem for path in tmp_path.glob("*.done")}
    assert 1 <= len(begun) < 50
