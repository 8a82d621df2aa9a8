"""A worker process runs nothing of the working folder, and nothing that it starts outlives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tokbench.bench.results.run_folder import load_results
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.process import WorkerProcess, search_path

OWN = ("types.py", "threading.py", "json.py", "signal.py", "struct.py", "multiprocessing/__init__.py",
       "datasets/__init__.py", "numpy/__init__.py", "sitecustomize.py")  # fmt: skip

TINY = {
    "name": "tiny",
    "corpora": {"t": {"source": "files", "path": "t.txt", "language": "en"}},
    "tokenizers": {"bytes": {"type": "utf8_bytes"}, "letters": {"type": "characters"}},
    "suites": ["efficiency"],
    "reports": [],
}

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a config and text."""
    (tmp_path / "t.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "tiny.yaml").write_text(json.dumps(TINY), encoding="utf-8")
    return tmp_path


@pytest.fixture
def laid_out(folder: Path) -> Path:
    """The same folder with modules that leave a trace where anything imports them."""
    for name in OWN:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        trace = folder / f"IMPORTED-{path.parent.name}-{path.stem}"
        path.write_text(f"open({str(trace)!r}, 'w')\nraise ImportError('mine')\n")
    return folder


def python(folder: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TOKBENCH_CACHE": str(folder / ".cache"), **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        **more,
    )


def test_a_run_imports_no_module_of_the_working_folder(laid_out: Path) -> None:
    done = python(laid_out, "-P", "-m", "tokbench", "run", "tiny.yaml", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert not list(laid_out.glob("IMPORTED-*"))


def test_a_worker_leaves_the_working_folder_out_though_its_parent_has_it(
    laid_out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(laid_out)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", "", str(laid_out)]))
    monkeypatch.setattr(sys, "path", ["", str(laid_out), ".", *sys.path])
    path = search_path()[0]
    assert [one for one in path if os.path.realpath(one) == str(laid_out.resolve())] == []
    import seen_by_workers  # the scripts below import this file where that one is not found

    worker = WorkerProcess.start()
    try:
        assert worker.ask(seen_by_workers.search_path) == path
        assert worker.ask(seen_by_workers.environment_of_python) == ("1", "")
    finally:
        worker.stop()
    assert not list(laid_out.glob("IMPORTED-*"))


SCRIPT = """
import sys
print("script", len(sys.argv))
import tokbench
results = tokbench.run("tiny.yaml", jobs=2)
print("rows", len(results.table("bytes_per_token")), results.problems)
"""


@pytest.mark.parametrize("how", ["file", "stdin", "-c"])
def test_a_script_without_a_main_guard_runs_once(folder: Path, how: str) -> None:
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    arguments = {"file": ["script.py"], "stdin": ["-"], "-c": ["-c", SCRIPT]}[how]
    done = python(folder, *arguments, input=SCRIPT if how == "stdin" else None)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["script", "rows"]
    assert "Traceback" not in done.stderr


MOVING = '''
import os, signal, subprocess, sys, time
from tokbench.bench.plugins import TokenizerPlugin
from tokbench.tokenizers_impl.baselines.utf8_bytes import Utf8Bytes

print("printed at import")
os.chdir("/")
signal.signal(signal.SIGINT, signal.SIG_IGN)


class Wrapped:
    def __init__(self, what):
        self._inner = Utf8Bytes().load(None)
        self._what = what

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def encode_batch(self, texts):
        globals()[self._what]()
        return self._inner.encode_batch(texts)


def moves():
    os.chdir("/")
    os.umask(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 3600)
    print("printed")
    os.write(1, b"written")
    sys.stdout.close()


def note(pid):
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{pid}\\n")


def leaves_a_child():
    note(subprocess.Popen(["sleep", "1000"]).pid)


def leaves_a_daemon():
    """Twice forked, in a session of its own, as daemons are."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            note(os.getpid())
            os.execvp("sleep", ["sleep", "1000"])
        os._exit(0)
    os.wait()


def forks_itself():
    """The copy goes on as if it were the worker."""
    if os.fork() == 0:
        note(os.getpid())


class Moving(TokenizerPlugin):
    what: str

    def load(self, context):
        os.chdir("/")
        return Wrapped(self.what)
'''
WHAT = ("moves", "leaves_a_child", "leaves_a_daemon", "forks_itself")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and forks")
@pytest.mark.parametrize("jobs", ["0", "1"])
def test_a_plugin_cannot_move_the_run(
    folder: Path, make_plugin: Any, tokbench: Tokbench, tmp_path: Path, jobs: str
) -> None:
    what = WHAT if jobs == "1" else WHAT[:1]
    make_plugin(folder, "moving", MOVING, {"tokbench.tokenizers": {"moving": "Moving"}})
    tokenizers = {name: {"type": "moving", "what": name} for name in what}
    value = {**TINY, "tokenizers": {**tokenizers, "bytes": {"type": "utf8_bytes"}}}
    (folder / "tiny.yaml").write_text(json.dumps(value), encoding="utf-8")
    pids, cache = tmp_path / "pids", str(tmp_path / "cache")
    arguments = ("run", "tiny.yaml", "--jobs", jobs, "--quiet")
    done = tokbench(folder, *arguments, PIDS=str(pids), TOKBENCH_CACHE=cache)
    assert done.returncode == 0, done.stderr
    assert "printed" not in done.stdout
    assert "written" not in done.stdout
    results = load_results(folder / "runs" / "tiny-1")
    assert {c["tokenizer"]: c["status"] for c in results.run["cells"]} == dict.fromkeys(
        [*what, "bytes"], "ok"
    )
    if jobs == "1":
        started = [int(line) for line in pids.read_text(encoding="utf-8").split()]
        assert len(started) == 3
        assert [pid for pid in started if _lives(pid)] == []


def _lives(pid: int) -> bool:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            return False
        time.sleep(0.05)
    return True


def test_what_a_worker_started_ends_with_it_when_the_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from test_isolated_workers import _start_sleeping\n"
        "from tokbench.bench.workers.process import WorkerProcess\n"
        "print(os.getpid(), *WorkerProcess.start().ask(_start_sleeping), flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    _, worker, child = map(int, process.stdout.readline().split())
    process.kill()
    process.communicate()
    assert not _lives(worker)
    assert not _lives(child)


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_daemon_that_a_crashed_worker_left_is_ended(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_isolated_workers import _leave_a_daemon_and_crash\n"
        "from tokbench.bench.workers.process import WorkerProcess\n"
        "worker = WorkerProcess.start()\n"
        "print(worker.ask(_leave_a_daemon_and_crash, sys.argv[2]).reason)\n"
        "worker.stop()\n"
    )
    note = tmp_path / "pid"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(Path(__file__).parent), str(note)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "killed by SIGABRT" in done.stdout
    assert not _lives(int(note.read_text(encoding="utf-8")))


def _leave_a_daemon_and_crash(note: str) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(note).write_text(str(os.getpid()), encoding="utf-8")
            os.execvp("sleep", ["sleep", "1000"])
        os._exit(0)
    os.wait()
    while not Path(note).exists() or not Path(note).read_text(encoding="utf-8"):
        time.sleep(0.01)
    os.abort()


def test_folders_of_killed_processes_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / ".tokbench-worker-left"
    left.mkdir()
    (left / ".lock").touch()
    first, second = WorkerProcess.start(), WorkerProcess.start()
    try:
        assert not left.exists()
        assert len(list(tmp_path.iterdir())) == 2
    finally:
        first.stop()
        second.stop()
    assert list(tmp_path.iterdir()) == []


def _start_sleeping() -> tuple[int, int]:
    return os.getpid(), subprocess.Popen(["sleep", "1000"]).pid


def test_a_job_that_needs_a_module_of_the_working_folder_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def job(): pass\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    worker = WorkerProcess.start()
    try:
        died = worker.ask(only_here.job)
    finally:
        worker.stop()
        del sys.modules["only_here"]
    assert isinstance(died, Died)
    assert died.reason.startswith("module 'only_here' is missing in its worker process")
