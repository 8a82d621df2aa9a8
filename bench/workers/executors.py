"""Where cells are counted: anything with `submit`, as in `concurrent.futures`.

`Inline` counts in this process, one cell after the other; `tokbench.bench.workers.pool` has worker
processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from tokbench.bench.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """The one method that an executor must have."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call, now or later, here or elsewhere."""


class Inline:
    """Runs each call at once, in the caller's thread.

    >>> Inline().submit(len, "abc").result()
    3
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as exc:
            future.set_exception(exc)
        return future


MOST_JOBS = 1024
"""Worker processes at a time; each has a thread that serves it."""


@contextmanager
def executor(jobs: int | None, progress: Progress) -> Iterator[Executor]:
    """Yield worker processes; none of them outlives the block."""
    if jobs == 0:
        yield Inline()
        return
    from tokbench.bench.workers.pool import Workers

    with Workers(min(jobs or default_jobs(), MOST_JOBS), on_loss=progress.warning) as workers:
        yield workers


def default_jobs() -> int:
    """Return one worker per CPU that this process may use, at most four."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(4, len(affinity(0)) if affinity is not None else os.cpu_count() or 1)


class Terminated(KeyboardInterrupt):
    """SIGTERM was received; handled like Ctrl-C."""

    exit_code = 143


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM unwind the block as Ctrl-C does, so that whole files are left."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
