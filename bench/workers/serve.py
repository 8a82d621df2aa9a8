"""What a worker process runs: calls that it is sent, one after the other.

It imports nothing but what the calls need, and nothing from the working folder: `process` starts
it with a search path that leaves this folder out, and never runs the caller's main script.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import itertools
import json
import mmap
import os
import pickle
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import connection as pipes
from pathlib import Path
from types import ModuleType
from typing import Any

from tokbench.bench.errors import TokbenchError, named
from tokbench.bench.guard import contained
from tokbench.bench.workers.state import THIS, Step

WORD_BYTES = 8192
"""For the longest report of where a worker is."""


def serve(*, handle: int, folder: str, modules: Mapping[str, str]) -> None:
    """Answer calls until the other side is gone.

    `handle` is this side of the pipe, `folder` has the file that reports are written to, and
    `modules` are those of plug-ins installed in the working folder, with that folder.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal
    _outlive_sigterm()
    sys.meta_path.append(_OnlyThese(modules))
    connection = _connection(handle)
    _adopt_orphans()
    _end_with_parent(Path(folder))
    _report_to(Path(folder, "word"))
    _answer_all(connection)
    _end(Path(folder))


def _outlive_sigterm() -> None:
    """Go on after SIGTERM, which batch systems send to every process of a job.

    The parent gets it too, lets jobs that run finish, and ends this process. Processes that a
    library starts from here end on SIGTERM as ever.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    if hasattr(os, "register_at_fork"):
        default = lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)  # noqa: E731
        os.register_at_fork(after_in_child=default)


class _OnlyThese:
    """Finds modules of these names where they are, after everything that is installed."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to import a module, None where it is not one of these."""
        if path is not None or name not in self._folders:
            return None
        return importlib.machinery.PathFinder.find_spec(name, [self._folders[name]], target)


def _connection(handle: int) -> Any:
    """Return this side of the pipe, which processes started from here do not inherit."""
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, False)
        return pipes.PipeConnection(handle)
    os.set_inheritable(handle, False)
    return pipes.Connection(handle)


def _adopt_orphans() -> None:
    """Become the parent of processes whose own parent ends, so that they end with this one."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _end_with_parent(folder: Path) -> None:
    """End this process and those it started when its parent is gone, even if a library hangs."""
    lifeline = os.dup(0)  # nothing comes through it, and its end comes when the parent ends
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def wait() -> None:
        with contextlib.suppress(OSError):
            os.read(lifeline, 1)
        _end(folder)

    threading.Thread(target=wait, daemon=True).start()


def _end(folder: Path) -> None:
    """End this process and its group, and leave no file behind."""
    shutil.rmtree(folder, ignore_errors=True)
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _report_to(path: Path) -> None:
    """Write where the job is into a file that the parent has mapped too."""
    with path.open("r+b") as file:
        word = mmap.mmap(file.fileno(), WORD_BYTES)
    number, own = itertools.count(), os.getpid()

    def report(step: Step, seconds: float | None, limit: str | None) -> None:
        if os.getpid() == own:  # a copy of this process that a plug-in made is not asked
            data = json.dumps([next(number), step, seconds, limit]).encode() + b"\0"
            word[: len(data)] = data

    THIS.listener = report


def _answer_all(connection: Any) -> None:
    own = os.getpid()
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        answer = _answer(message)
        if os.getpid() != own:
            os._exit(0)
        try:
            data = pickle.dumps(answer)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as exc:
            answer = "died", f"its answer cannot be sent: {exc}"[:500]
            data = pickle.dumps(answer)
        connection.send_bytes(data)
        if answer[0] == "died":
            os._exit(1)  # a library may be in any state


def _answer(message: bytes) -> tuple[str, Any]:
    try:
        with contained():  # it imports the plug-ins that it names
            call: tuple[Callable[..., Any], tuple[Any, ...]] = pickle.loads(message)
    except ModuleNotFoundError as exc:
        return "died", (
            f"module {exc.name!r} is missing in its worker process, which imports nothing from the "
            "working folder; install the package that provides it"
        )
    except Exception as exc:
        return "died", f"its job cannot be unpickled in a worker process: {named(exc)}"
    fn, arguments = call
    try:
        with contained():
            return "done", fn(*arguments)
    except TokbenchError as exc:
        return "raised", exc
    except BaseException as exc:  # also SystemExit of a plug-in, MemoryError and panics
        return "died", named(exc)
