"""Where cells are counted: anything with `submit`, as in `concurrent.futures`.

`Inline` counts in this process, one cell after the other; `tokbench.bench.workers.pool` has worker
processes. Executors that have a name, for `--executor`, are plug-ins (`tokbench.executors`).
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    CancelledError,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from pydantic import ValidationError

from tokbench.bench import plugins
from tokbench.bench.errors import ResultsError, TokbenchError, UsageError, named
from tokbench.bench.guard import Terminated

if TYPE_CHECKING:
    from tokbench.bench.progress import Progress

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """The one method that an executor must have.

    It may also have `local`, whether its jobs run on this machine only, and `facts`, a mapping
    that `environment.json` keeps.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a call, now or later, here or elsewhere."""


class Inline:
    """Runs each call at once, in the caller's thread.

    >>> Inline().submit(len, "abc").result()
    3
    """

    local = True
    facts = {"name": "inline", "workers": 0}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the call and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as exc:
            future.set_exception(exc)
        return future


@dataclass
class _Queue:
    """The jobs of one group that an executor may not get yet, and the stages of those it has."""

    waiting: deque[Callable[[], None]] = field(default_factory=deque)
    stages: deque[int] = field(default_factory=deque)
    running: list[int] = field(default_factory=list)

    def ready(self) -> list[Callable[[], None]]:
        """Take out what may be submitted: no job of the group has a lower stage and is not done."""
        found = []
        while self.stages and all(stage >= self.stages[0] for stage in self.running):
            self.running.append(self.stages.popleft())
            found.append(self.waiting.popleft())
        return found


class Foreign:
    """An executor of another library, which knows nothing of jobs.

    A job is submitted when those of its group with a lower stage are done: it reads what they
    wrote. A job that the library loses ends the run with a message.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.local, self.facts = is_local(executor), facts_of(executor)
        self._lock = threading.Lock()
        self._queues: dict[str, _Queue] = {}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Submit a call; its future raises `ResultsError` where the executor lost it."""
        future: Future[T] = Future()
        job = args[0] if args else None
        group, stage = getattr(job, "group", ""), getattr(job, "stage", 0)

        def begin() -> None:
            try:
                inner = self._executor.submit(fn, *args, **kwargs)
            except Exception as exc:  # a broken pool refuses, and this may be another thread
                inner = Future()
                inner.set_exception(exc)
            inner.add_done_callback(lambda done: self._hand_on(done, future, group, stage))

        with self._lock:
            queue = self._queues.setdefault(group, _Queue())
            queue.waiting.append(begin)
            queue.stages.append(stage)
        self._begin(group)
        return future

    def _begin(self, group: str) -> None:
        with self._lock:
            ready = self._queues[group].ready()
        for begin in ready:
            begin()

    def _hand_on(self, done: Future[T], future: Future[T], group: str, stage: int) -> None:
        exc = CancelledError() if done.cancelled() else done.exception()
        if exc is None:
            future.set_result(done.result())
        else:
            future.set_exception(self._told(exc))
        with self._lock:
            self._queues[group].running.remove(stage)
        self._begin(group)

    def _told(self, exc: BaseException) -> BaseException:
        if isinstance(exc, TokbenchError):
            return exc
        lost = ResultsError(
            f"executor {self.facts['name']} lost a job: {named(exc)}; run the same command again: "
            "finished parts are kept"
        )
        lost.__cause__ = exc
        return lost


def is_local(executor: Executor) -> bool:
    """Return whether the jobs of an executor run on this machine only; one unknown may not.

    >>> is_local(Inline())
    True
    """
    known = isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor)
    return bool(getattr(executor, "local", known))


def facts_of(executor: Executor) -> dict[str, Any]:
    """Return what `environment.json` says of an executor."""
    return dict(getattr(executor, "facts", {"name": type(executor).__name__}))


class ExecutorPlugin(plugins.Plugin):
    """Options of one kind of executor, which runs jobs on this machine or on many."""

    group = "tokbench.executors"

    def start(
        self, jobs: int | None, on_loss: Callable[[str], None]
    ) -> AbstractContextManager[Executor]:
        """Give an executor of so many workers (None: its default), ended after the block.

        `on_loss` gets a sentence for every worker that was lost. Raises `UsageError` where it
        cannot be started.
        """
        raise NotImplementedError


class LocalWorkers(ExecutorPlugin):
    """Worker processes on this machine (the default)."""

    @contextmanager
    def start(self, jobs: int | None, on_loss: Callable[[str], None]) -> Iterator[Executor]:
        """Yield worker processes; none of them outlives the block."""
        if jobs == 0:
            yield Inline()
            return
        from tokbench.bench.workers.pool import Workers

        with Workers(min(jobs or default_jobs(), MOST_JOBS), on_loss=on_loss) as workers:
            yield workers


MOST_JOBS = 1024
"""Workers at a time; each has a thread that serves it."""

DEFAULT = "local"


def executor(
    jobs: int | None, progress: Progress, name: str = DEFAULT, address: str | None = None
) -> AbstractContextManager[Executor]:
    """Give the executor of a name; its workers do not outlive the block.

    Raises `UsageError` where the name is unknown, or the executor takes no address.
    """
    kind = LocalWorkers if name == DEFAULT else plugins.find(ExecutorPlugin, name)
    if address is not None and "address" not in kind.model_fields:
        raise UsageError(f"executor {name!r} takes no address; leave --address out")
    try:
        plugin = kind() if address is None else kind.model_validate({"address": address})
    except ValidationError as exc:
        told = "; ".join(error["msg"] for error in exc.errors())
        raise UsageError(f"executor {name!r}: {told}") from exc
    return plugin.start(jobs, progress.warning)


def default_jobs() -> int:
    """Return one worker per CPU that this process may use, at most four."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(4, len(affinity(0)) if affinity is not None else os.cpu_count() or 1)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM unwind the block as Ctrl-C does, so that whole files are left.

    A pool of workers then finishes the jobs that it has begun; a second signal ends them at once.
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
