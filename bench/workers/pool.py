"""Worker processes that can be lost: started, watched, ended, replaced.

Jobs of one group share worker processes, and a worker serves one group only: a tokenizer that
crashes takes nothing else with it, and memory it holds is free when its group is done. There are
as many workers at a time as there are seats; a seat without a group of its own helps where most
is left. Which worker does what changes no result, because jobs are independent.

Where one job of a group needs what others of it leave behind, it has a later stage: it starts
when those of earlier stages are finished, and finds its tokenizer loaded.

A job whose worker died, hung or grew too large says how to go on: it is run again in a more
careful form, or given up with an answer without a value.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from tokbench.bench.errors import TokbenchError
from tokbench.bench.guard import Terminated, start_thread
from tokbench.bench.workers.job import Died, GiveUp, Job
from tokbench.bench.workers.process import WorkerProcess

WORTH_HELPING_SECONDS = 4.0
"""Work that must be left in a group, by its own pace so far, before another worker joins it."""


GRACE_SECONDS = 20.0
"""Time to finish the jobs that run when SIGTERM comes; batch systems kill after 30 s."""


class Worker(Protocol):
    """A worker of the pool: a process here, or on another machine; see `WorkerProcess`."""

    def ask(
        self,
        fn: Callable[..., Any],
        *arguments: object,
        memory: int | None = None,
        option: str = "limits.memory",
        closed: threading.Event | None = None,
    ) -> Any | Died:
        """Call a function in the worker; return its value, or how the worker was lost."""

    def last_words(self) -> str:
        """Return the last line that it wrote."""

    def stop(self) -> None:
        """End it at once."""


@dataclass(kw_only=True)
class _Group:
    """The jobs of one group that wait, and how fast the finished ones went."""

    waiting: deque[_Item] = field(default_factory=deque)
    """In the order of their stages."""
    running: list[int] = field(default_factory=list)
    """The stages of the jobs that are being done."""
    seats: int = 0
    finished: int = 0
    seconds: float = 0.0
    given_up: str | None = None
    """Reason why the other jobs of the group are skipped."""

    @property
    def ready(self) -> bool:
        """Whether a job can be begun now."""
        return bool(self.waiting) and all(
            stage >= self.waiting[0].job.stage for stage in self.running
        )

    def begin(self) -> _Item:
        """Take the next job."""
        self.running.append(self.waiting[0].job.stage)
        return self.waiting.popleft()

    @property
    def seconds_left(self) -> float:
        return len(self.waiting) * self.seconds / self.finished if self.finished else 0.0


@dataclass(frozen=True, kw_only=True)
class _Item:
    fn: Callable[[Any], Any]
    job: Job[Any]
    future: Future[Any]


class Workers:
    """An executor of `jobs` workers; use it as a context manager.

    `submit(fn, job)` takes a function of a module and a `Job`; `on_loss` gets a sentence for every
    worker that was lost. `start` starts a worker, by default a process of this machine.
    """

    def __init__(
        self,
        jobs: int,
        *,
        on_loss: Callable[[str], None],
        start: Callable[[], Worker] = WorkerProcess.start,
        name: str = "local",
        local: bool = True,
    ) -> None:
        self.local = local
        self.facts = {"name": name, "workers": jobs}
        self._on_loss, self._start = on_loss, start
        self._drained = threading.Event()
        self._groups: dict[str, _Group] = {}
        self._change = threading.Condition()
        self._closed = threading.Event()
        self._seats = [
            threading.Thread(target=self._sit, name=f"seat {n}", daemon=True) for n in range(jobs)
        ]
        self._started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            if isinstance(exc, Terminated):
                self._drain(GRACE_SECONDS)
        finally:
            self.close()

    def _drain(self, seconds: float) -> None:
        """Begin nothing more, and wait for the jobs that run: what they count is kept."""
        self._drained.set()
        end = time.monotonic() + seconds
        with self._change:
            self._change.notify_all()
            while any(group.running for group in self._groups.values()):
                if (left := end - time.monotonic()) <= 0:
                    return
                self._change.wait(timeout=min(left, 0.2))

    def close(self) -> None:
        """End all workers at once and drop what has not begun."""
        self._closed.set()
        with self._change:
            for group in self._groups.values():
                for item in group.waiting:
                    item.future.cancel()
                group.waiting.clear()
            self._change.notify_all()
        if self._started:
            for seat in self._seats:
                if seat.ident is not None:  # the system may have refused to start it
                    seat.join()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(job)`` in a worker of the job's group, now or later."""
        (job,) = args
        item = _Item(fn=fn, job=job, future=Future())
        with self._change:
            if self._closed.is_set():
                raise RuntimeError("the workers are closed")
            self._groups.setdefault(job.group, _Group()).waiting.append(item)
            self._change.notify()
        if not self._started:
            self._started = True
            for seat in self._seats:
                start_thread(seat)
        return item.future

    def _sit(self) -> None:
        """Serve one group after the other until the pool is closed."""
        worker: Worker | None = None
        group: str | None = None
        item: _Item | None = None
        try:
            while (found := self._next(group)) is not None:
                if found[0] != group and worker is not None:
                    worker.stop()
                    worker = None
                group, item = found
                worker = self._run(group, item, worker)
                with self._change:
                    self._groups[group].running.remove(item.job.stage)
                    self._change.notify_all()
        except Exception as exc:  # a fault of this module or of a job: no future may stay open
            self._fail(exc, item)
        finally:
            if worker is not None:
                worker.stop()

    def _fail(self, exc: Exception, item: _Item | None) -> None:
        """End every open future with a fault, and take no more jobs."""
        self._closed.set()
        with self._change:
            waiting = [one for group in self._groups.values() for one in group.waiting]
            for group in self._groups.values():
                group.waiting.clear()
            self._change.notify_all()
        for one in [item, *waiting]:
            if one is not None and not one.future.done():
                one.future.set_exception(exc)

    def _next(self, mine: str | None) -> tuple[str, _Item] | None:
        with self._change:
            left = mine
            while not self._closed.is_set() and not self._drained.is_set():
                if left is not None and self._groups[left].ready:
                    return left, self._groups[left].begin()
                if left is not None:
                    self._groups[left].seats -= 1
                    left = None
                if (chosen := self._choose()) is not None:
                    self._groups[chosen].seats += 1
                    return chosen, self._groups[chosen].begin()
                self._change.wait(timeout=1)
        return None

    def _choose(self) -> str | None:
        """Return a group without a worker, else the one with the most work left."""
        for name, group in self._groups.items():
            if group.ready and not group.seats:
                return name
        name, group = max(
            ((name, group) for name, group in self._groups.items() if group.ready),
            key=lambda one: one[1].seconds_left,
            default=("", _Group()),
        )
        return name if group.seconds_left > WORTH_HELPING_SECONDS else None

    def _run(self, name: str, item: _Item, worker: Worker | None) -> Worker | None:
        """Run a job until it has an answer; return the worker if it can go on."""
        group, job = self._groups[name], item.job
        while not self._closed.is_set():
            if group.given_up is not None:
                item.future.set_result(job.give_up(group.given_up))
                return worker
            fresh, started = worker is None, time.monotonic()
            try:
                worker = worker or self._start()
                answer = worker.ask(
                    item.fn,
                    job,
                    memory=job.limits.memory,
                    option=f"{job.options}.memory",
                    closed=self._closed,
                )
            except TokbenchError as exc:
                item.future.set_exception(exc)
                return worker
            if not isinstance(answer, Died):
                if not fresh:  # its first job also paid for starting and loading
                    group.finished += 1
                    group.seconds += time.monotonic() - started
                item.future.set_result(answer)
                return worker
            last_words = worker.last_words()
            worker.stop()
            worker = None
            if self._closed.is_set():
                break
            self._on_loss(f"{name}: {answer.reason}{f' ({last_words})' if last_words else ''}")
            after = job.lost(answer)
            if isinstance(after, GiveUp):
                group.given_up = group.given_up or after.group
                item.future.set_result(after.answer)
                return None
            job = after
        item.future.cancel()
        return worker
