"""Contains foreign code in this process: restores what it changes, sends its output to stderr.

A plug-in or library may change the working folder, the umask or signal handlers, set an alarm or
write to standard output. `contained` undoes the first and redirects the last, so that files are
written where the user said and results stay readable by programs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from tokbench.bench.errors import TokbenchError

_getsignal: Callable[[int], Any] = import_module("_signal").getsignal
"""That of `signal` makes enums of it all and takes twenty times as long, for every batch."""


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; handled like Ctrl-C."""

    exit_code = 143


@contextmanager
def contained() -> Iterator[None]:
    """Run a block of foreign code; restore this process afterwards, even if the block raises."""
    folder, moved = _working_folder(), _Moved()
    try:
        with _stdout_as_stderr():
            yield
    finally:
        _go_back(folder)
        moved.put_back()


def start_thread(thread: threading.Thread) -> None:
    """Start a thread; `TokbenchError` where the system refuses it, for want of memory or threads."""
    try:
        thread.start()
    except RuntimeError as exc:
        raise TokbenchError(
            f"{exc}: the system refuses a thread ({thread.name}); raise the limits on memory "
            "(ulimit -v) and processes (ulimit -u), or use fewer --jobs"
        ) from exc


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - compared and restored as it is
    except OSError:  # it has been deleted
        return None


def _go_back(folder: str | None) -> None:
    if folder is not None and _working_folder() != folder:
        with contextlib.suppress(OSError):
            os.chdir(folder)


class _Moved:
    """Umask, signal handlers and alarm as they were; only the main thread may set them again."""

    def __init__(self) -> None:
        self._mask: int | None = None
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._mask = _umask()
            self._handlers = {n: _getsignal(n) for n in _signals()}
            self._alarm = _seconds_to_alarm()

    def put_back(self) -> None:
        if self._mask is None:
            return
        os.umask(self._mask)
        if not self._alarm and _seconds_to_alarm():
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._handlers.items():
            if handler is not None and _getsignal(number) is not handler:
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, handler)


@cache
def _signals() -> tuple[int, ...]:
    return tuple(map(int, signal.valid_signals()))


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _seconds_to_alarm() -> float:
    if not hasattr(signal, "getitimer"):  # Windows has no alarms
        return 0.0
    return signal.getitimer(signal.ITIMER_REAL)[0]


@contextmanager
def _stdout_as_stderr() -> Iterator[None]:
    """Send to stderr what the block writes to stdout, from Python or by file descriptor."""
    stdout, stderr, stdin = sys.stdout, sys.stderr, sys.stdin
    saved = None
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stdout.flush()
        saved = os.dup(1)
        os.dup2(2, 1)
    sys.stdout = stderr
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stderr.flush()
        sys.stdout, sys.stderr, sys.stdin = stdout, stderr, stdin
        if saved is not None:
            with contextlib.suppress(OSError):
                os.dup2(saved, 1)
            os.close(saved)
