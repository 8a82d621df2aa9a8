"""One worker process, seen from outside: started, asked, ended.

It is a fresh Python that has nothing of this one but the search path, without the working folder.
It never imports the caller's main script, so scripts need no `__main__` guard. A worker that dies,
reports nothing for longer than it said, or grows too large is lost: `ask` returns how.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import distributions
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any, TypeVar

import psutil
from pydantic import ByteSize

from tokbench.bench.cache import scratch_folder
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.serve import WORD_BYTES
from tokbench.bench.workers.state import Step

T = TypeVar("T")

START_SECONDS = 300.0
"""Seconds for a worker to start and import the modules of its job."""

POLL_SECONDS = 0.2
"""Seconds between two checks of a worker's reports and memory."""

_MARK = "TOKBENCH_WORKER"
"""Variable that tells which worker a process comes from."""

_BOOT = """
import json, sys
options = json.loads(sys.argv.pop())
sys.path[:] = options.pop("path")
from tokbench.bench.workers.serve import serve
serve(**options)
"""


class WorkerProcess:
    """A process that answers one call at a time."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(scratch_folder("worker"))
        self._mark = self._folder.name
        self._log = self._folder / "log"
        word = self._folder / "word"
        word.write_bytes(bytes(WORD_BYTES))
        with word.open("r+b") as file:
            self._word = mmap.mmap(file.fileno(), WORD_BYTES, access=mmap.ACCESS_READ)
        self._connection, theirs = Pipe()
        try:
            self._process = _popen(theirs.fileno(), self._folder, self._log)
        except BaseException:
            self._word.close()
            self._stack.close()
            raise
        finally:
            theirs.close()
        self._seen = psutil.Process(self._process.pid)

    @classmethod
    def start(cls) -> WorkerProcess:
        """Start a process; it comes up while the caller goes on."""
        return cls()

    def ask(
        self,
        fn: Callable[..., T],
        *arguments: object,
        memory: int | None = None,
        option: str = "limits.memory",
        closed: threading.Event | None = None,
    ) -> T | Died:
        """Call a function of a module in the process; return its value, or how it was lost.

        Raises the `TokbenchError` that the function raises. `memory` is in bytes, `option` is the
        config key that sets it. Once `closed` is set, nothing is waited for.
        """
        progress = _Reports(self._word)
        try:
            self._connection.send((fn, arguments))
            while closed is None or not closed.is_set():
                if self._connection.poll(POLL_SECONDS):
                    word, value = self._connection.recv()
                    if word == "raised":
                        raise value
                    if word == "died":
                        return Died(kind="died", step=progress.step(), reason=value)
                    return value  # type: ignore[no-any-return]
                if (late := progress.late()) is not None:
                    return Died(kind="silent", step=progress.step(), reason=late)
                if memory is not None and self._resident_bytes() > memory:
                    size = (
                        ByteSize(memory)
                        .human_readable(decimal=True, separator=" ")
                        .replace(".0 ", " ")
                    )
                    why = f"used more than {size} of memory ({option})"
                    return Died(kind="memory", step=progress.step(), reason=why)
                if self._is_gone() and not self._connection.poll():  # a child may hold the pipe
                    break
        except (EOFError, OSError):
            self._wait_until_gone()
        return Died(kind="died", step=progress.step(), reason=self._how_it_ended())

    def _resident_bytes(self) -> int:
        try:
            return int(self._seen.memory_info().rss)
        except psutil.Error:
            return 0

    def _is_gone(self) -> bool:
        """Whether the process has ended; it is not waited for, so that its id stays its own."""
        try:
            return bool(self._seen.status() == psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return True

    def _wait_until_gone(self, seconds: float = 10) -> None:
        end = time.monotonic() + seconds
        while not self._is_gone() and time.monotonic() < end:
            time.sleep(0.01)

    def _how_it_ended(self) -> str:
        if not self._is_gone():
            return "its worker process closed the connection"
        self._end()
        code = self._process.returncode
        if code >= 0:
            return f"its worker process ended (exit code {code})"
        try:
            return f"its worker process was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"its worker process was killed by signal {-code}"

    def last_words(self) -> str:
        """Return the last line that the process or a library in it wrote, shortened."""
        with contextlib.suppress(OSError):
            lines = self._log.read_bytes()[-4096:].decode("utf-8", "replace").split("\n")
            return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
        return ""

    def stop(self) -> None:
        """End the process and every process it started, at once."""
        self._connection.close()
        self._end()
        self._word.close()
        self._stack.close()

    def _end(self) -> None:
        """Kill the process, its group and its descendants; it is its group's leader."""
        if self._process.returncode is not None:
            return
        ended_itself, started = self._is_gone(), []
        with contextlib.suppress(psutil.Error):
            started = self._seen.children(recursive=True)
        self._process.kill()
        if ended_itself:
            started = self._left_behind()
        for child in started:
            with contextlib.suppress(psutil.Error):
                child.kill()
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _left_behind(self) -> list[psutil.Process]:
        """Return what the process started and left when it ended by itself.

        Such processes have another parent by now, but still the environment that this one gave.
        """
        found = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if one.pid != self._process.pid and one.environ().get(_MARK) == self._mark:
                    found.append(one)
        return found


class _Reports:
    """The step that a worker last reported, in shared memory."""

    def __init__(self, word: mmap.mmap) -> None:
        self._shared = word
        self._word = self._read()
        self._step: Step = ("start",)
        self._allowed, self._limit = START_SECONDS, "start-up of a worker"
        self._since = time.monotonic()

    def _read(self) -> bytes:
        return self._shared[: self._shared.find(b"\0")]

    def step(self) -> Step:
        """Return what the worker was doing by its last report."""
        word = self._read()
        if word != self._word:
            with contextlib.suppress(ValueError):  # it is being written just now
                _, step, seconds, limit = json.loads(word)
                self._step = tuple(step)
                if seconds is not None:
                    self._allowed, self._limit = seconds, limit or ""
                self._word, self._since = word, time.monotonic()
        return self._step

    def late(self) -> str | None:
        """Return why the worker is given up where its last report is too long ago."""
        self.step()
        if time.monotonic() - self._since <= self._allowed:
            return None
        return timed_out(self._allowed, self._limit)


def timed_out(seconds: float, limit: str = "") -> str:
    """Return the message of a time-out, with the option that sets the limit.

    >>> timed_out(8, "limits.seconds")
    'timed out: no progress for 8 s (limits.seconds)'
    """
    return f"timed out: no progress for {seconds:g} s{f' ({limit})' if limit else ''}"


def _popen(handle: int, folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a Python that serves the other end of a pipe; what it prints goes to a file."""
    path, modules = search_path()
    options = {"handle": handle, "folder": str(folder), "path": path, "modules": modules}
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    command = [_python(), *flags, "-P", "-c", _BOOT, json.dumps(options)]
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={**_environment(path), _MARK: folder.name},
            **_handed_on(handle),
        )


def _python() -> str:
    if sys.platform == "win32":  # the one of a virtual environment starts another
        return str(getattr(sys, "_base_executable", sys.executable))
    return sys.executable


def _handed_on(handle: int) -> dict[str, Any]:
    """Return how a process inherits a pipe and nothing else, and leads a group of its own."""
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        info = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return {"startupinfo": info, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": [handle], "process_group": 0}


def _environment(path: list[str]) -> dict[str, str]:
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    if sys.platform == "win32":
        environment["__PYVENV_LAUNCHER__"] = sys.executable
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [whole for one in named if one and (whole := str(Path(one).absolute())) in path]
    environment["PYTHONPATH"] = os.pathsep.join(kept)
    environment.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # saves reading all metadata
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # workers share the processors
        environment.setdefault(name, "1")
    return environment


def search_path() -> tuple[list[str], Mapping[str, str]]:
    """Return this process's `sys.path` without the working folder, and what is needed from there.

    That is nothing, unless a distribution with plug-ins of tokbench is installed in the working
    folder and found by this process: then its modules by name, which shadow no others.
    """
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109 - it may have been deleted
    except OSError:
        return [one for one in sys.path if os.path.isabs(one)], {}  # noqa: PTH117
    own = Path(str(sys.modules["tokbench"].__file__)).resolve().parents[1]
    path: list[str] = []
    modules: dict[str, str] = {}
    for one in sys.path:
        if one and (os.path.realpath(one) != here or Path(here) == own):
            path.append(str(Path(one).absolute()))
        elif not modules:
            modules = dict.fromkeys(_plugin_modules(here), here)
    return path, modules


def _plugin_modules(folder: str) -> set[str]:
    entries = (entry for one in distributions(path=[folder]) for entry in one.entry_points)
    return {e.module.partition(".")[0] for e in entries if e.group.startswith("tokbench.")}
