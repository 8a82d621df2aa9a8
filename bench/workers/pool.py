"""Worker processes that can be lost: spawned, watched, ended, replaced.

Tasks of one group share worker processes, and a worker serves one group only: a tokenizer that
crashes takes nobody with it, and memory it holds is gone when its group is done. There are as
many workers at a time as there are seats; a seat without a group of its own helps where most is
left. Which worker does what changes no result, because tasks are independent.

Where one task of a group needs what others of it leave behind, it has a later stage: it starts
when those of earlier stages are finished, and finds its tokenizer loaded.

A task that is lost (its worker died, hung or grew too large) is asked what to do: try again in a
more careful form, or settle for an outcome without numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from pydantic import ByteSize

from tokbench.bench.errors import TokbenchError, named
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.heartbeat import Place

START_SECONDS = 300.0
"""For a worker to come up and import what its task needs."""

POLL_SECONDS = 0.2
"""Between two looks at a worker's clock and memory."""

WORD_BYTES = 1024
"""For the longest word about where a worker is."""

WORTH_HELPING_SECONDS = 4.0
"""Work that must be left in a group, by its own pace so far, before another worker joins it."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A worker that was lost, what it was at, and why."""

    kind: Literal["died", "silent", "memory"]
    place: Place
    reason: str


T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class TryAgain(Generic[T_co]):
    """The answer to a loss: run this task in its place."""

    task: T_co


@dataclass(frozen=True, kw_only=True)
class Settle:
    """The answer to a loss: this is the outcome, and perhaps that of the whole group."""

    outcome: Any
    hopeless: str | None = None
    """Why no other task of the group needs to be tried."""


class Task(Protocol):
    """What the pool asks of a task."""

    @property
    def group(self) -> str:
        """Tasks of one group share worker processes."""

    @property
    def stage(self) -> int:
        """It starts when all tasks of its group with a lower stage are finished."""

    @property
    def memory(self) -> int:
        """Resident bytes above which its worker is ended."""

    def lost(self, loss: Loss) -> TryAgain[Task] | Settle:
        """Say what to do when the worker was lost."""

    def hopeless(self, reason: str) -> Any:
        """Return the outcome of a task that is not tried, because its group is hopeless."""


@dataclass(kw_only=True)
class _Group:
    """The tasks of one group that wait, and how fast the finished ones went."""

    waiting: deque[_Item] = field(default_factory=deque)
    """In the order of their stages."""
    running: list[int] = field(default_factory=list)
    """The stages of the tasks that somebody is at."""
    seats: int = 0
    finished: int = 0
    seconds: float = 0.0
    hopeless: str | None = None

    @property
    def ready(self) -> bool:
        """Whether a task can be begun now."""
        return bool(self.waiting) and all(
            stage >= self.waiting[0].task.stage for stage in self.running
        )

    def begin(self) -> _Item:
        """Take the next task."""
        self.running.append(self.waiting[0].task.stage)
        return self.waiting.popleft()

    @property
    def seconds_left(self) -> float:
        return len(self.waiting) * self.seconds / self.finished if self.finished else 0.0


@dataclass(frozen=True, kw_only=True)
class _Item:
    fn: Callable[[Any], Any]
    task: Task
    future: Future[Any]


class Workers:
    """An executor of `jobs` worker processes; use it as a context manager.

    `submit(fn, task)` takes a function of a module and a `Task` that can be pickled.
    `on_loss` is told, in words, of every worker that was lost.
    """

    def __init__(self, jobs: int, *, on_loss: Callable[[str], None]) -> None:
        self._on_loss = on_loss
        self._groups: dict[str, _Group] = {}
        self._change = threading.Condition()
        self._closed = threading.Event()
        self._seats = [
            threading.Thread(target=self._sit, name=f"seat {n}", daemon=True) for n in range(jobs)
        ]
        self._started = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
                seat.join()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(task)`` in a worker of the task's group, now or later."""
        (task,) = args
        item = _Item(fn=fn, task=task, future=Future())
        with self._change:
            if self._closed.is_set():
                raise RuntimeError("the workers are closed")
            self._groups.setdefault(task.group, _Group()).waiting.append(item)
            self._change.notify()
        if not self._started:
            self._started = True
            for seat in self._seats:
                seat.start()
        return item.future

    def _sit(self) -> None:
        """Serve one group after the other until the pool is closed."""
        worker: _Worker | None = None
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
                    self._groups[group].running.remove(item.task.stage)
                    self._change.notify_all()
        except Exception as exc:  # a fault of this module or of a task: nobody may wait for ever
            self._give_up(exc, item)
        finally:
            if worker is not None:
                worker.stop()

    def _give_up(self, exc: Exception, item: _Item | None) -> None:
        """Let everybody who waits know of a fault, and take no more tasks."""
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
            while not self._closed.is_set():
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
        """Return a group that nobody serves, else the one that most needs help."""
        for name, group in self._groups.items():
            if group.ready and not group.seats:
                return name
        name, group = max(
            ((name, group) for name, group in self._groups.items() if group.ready),
            key=lambda one: one[1].seconds_left,
            default=("", _Group()),
        )
        return name if group.seconds_left > WORTH_HELPING_SECONDS else None

    def _run(self, name: str, item: _Item, worker: _Worker | None) -> _Worker | None:
        """Run a task until it has an outcome; return the worker if it can go on."""
        group, task = self._groups[name], item.task
        while not self._closed.is_set():
            if group.hopeless is not None:
                item.future.set_result(task.hopeless(group.hopeless))
                return worker
            fresh, started = worker is None, time.monotonic()
            try:
                worker = worker or _Worker()
                answer = worker.ask(item.fn, task, self._closed)
                if not isinstance(answer, Loss):
                    if not fresh:  # its first task also paid for starting and loading
                        group.finished += 1
                        group.seconds += time.monotonic() - started
                    _settle(item.future, answer)
                    return worker
                verdict = self._ask_what_now(name, task, answer, worker)
                worker = None
            except Exception as exc:  # a fault of this module must not leave the future open
                item.future.set_exception(exc)
                if worker is not None:
                    worker.stop()
                return None
            if verdict is None:
                break
            if isinstance(verdict, Settle):
                group.hopeless = group.hopeless or verdict.hopeless
                item.future.set_result(verdict.outcome)
                return None
            task = verdict.task
        item.future.cancel()
        return worker

    def _ask_what_now(
        self, name: str, task: Task, loss: Loss, worker: _Worker
    ) -> TryAgain[Task] | Settle | None:
        """End a lost worker and ask its task what to do; None where the pool is closed."""
        said = worker.last_words()
        worker.stop()
        if self._closed.is_set():
            return None
        self._on_loss(f"{name}: {loss.reason}{f' ({said})' if said else ''}")
        return task.lost(loss)


def _settle(future: Future[Any], answer: tuple[str, Any]) -> None:
    kind, value = answer
    if kind == "raised":
        future.set_exception(value)
    else:
        future.set_result(value)


class _Worker:
    """One spawned process, seen from outside."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._said = context.RawArray("c", WORD_BYTES)
        handle, log = tempfile.mkstemp(prefix="tokbench-worker-", suffix=".log")
        os.close(handle)
        self._log = Path(log)
        arguments = theirs, self._said, log
        self._process: Any = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def ask(
        self, fn: Callable[[Any], Any], task: Task, closed: threading.Event
    ) -> tuple[str, Any] | Loss:
        """Let the process run a task; return its answer, or how the process was lost."""
        progress = _Progress(self._said)
        try:
            self._connection.send((fn, task))
            while not closed.is_set():
                if self._connection.poll(POLL_SECONDS):
                    word, value = self._connection.recv()
                    if word == "died":
                        return Loss(kind="died", place=progress.place(), reason=value)
                    return word, value
                if (allowed := progress.overdue()) is not None:
                    why = f"said nothing for {allowed:g} s, the limit"
                    return Loss(kind="silent", place=progress.place(), reason=why)
                if (resident_bytes(self._process.pid) or 0) > task.memory:
                    limit = ByteSize(task.memory).human_readable(decimal=True, separator=" ")
                    why = f"needed more memory than {limit}, the limit"
                    return Loss(kind="memory", place=progress.place(), reason=why)
        except (EOFError, OSError):
            self._process.join(timeout=10)
        how = _how_it_ended(self._process.exitcode)
        return Loss(kind="died", place=progress.place(), reason=how)

    def last_words(self) -> str:
        """Return the last line that the process or a library in it wrote, shortened."""
        with contextlib.suppress(OSError):
            lines = self._log.read_bytes()[-4096:].decode("utf-8", "replace").split("\n")
            return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")
        return ""

    def stop(self) -> None:
        """End the process at once; what it had finished is in files."""
        self._connection.close()
        self._process.kill()
        self._process.join()
        self._log.unlink(missing_ok=True)


class _Progress:
    """Where a worker is in its task, by the last word that lies in the memory it shares."""

    def __init__(self, said: Any) -> None:
        self._said = said
        self._word = said.value
        self._place: Place = ("start",)
        self._allowed, self._since = START_SECONDS, time.monotonic()

    def place(self) -> Place:
        """Return what the worker was at when it last said something."""
        word = self._said.value
        if word != self._word:
            with contextlib.suppress(ValueError):  # it is being written just now
                _, place, seconds = json.loads(word)
                self._place, self._allowed = tuple(place), seconds or self._allowed
                self._word, self._since = word, time.monotonic()
        return self._place

    def overdue(self) -> float | None:
        """Return the seconds that the worker has been silent for, if those were all it had."""
        self.place()
        return self._allowed if time.monotonic() - self._since > self._allowed else None


def _how_it_ended(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"its worker process was ended by {name}"
    return f"its worker process ended (exit code {code})"


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process in bytes, None where the system does not tell."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        return None
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        command = ["ps", "-o", "rss=", "-p", str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
        return int(done.stdout) * 1024
    return None


def _serve(connection: Connection, said: Any, log: str) -> None:
    """Run in the worker: take tasks until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of the terminal
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _end_with_parent()
    _write_to(log)
    number = itertools.count()

    def say(place: Place, seconds: float | None) -> None:
        said.value = json.dumps([next(number), place, seconds]).encode()

    heartbeat.listen(say)
    while True:
        try:
            fn, task = connection.recv()
        except (EOFError, OSError):
            return
        answer = _answer(fn, task)
        try:
            connection.send(answer)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as exc:
            answer = "died", f"its answer cannot be sent: {exc}"[:500]
            connection.send(answer)
        if answer[0] == "died":
            os._exit(1)  # whatever state the library is in, nobody will use it


def _answer(fn: Callable[[Any], Any], task: Any) -> tuple[str, Any]:
    try:
        return "done", fn(task)
    except TokbenchError as exc:
        return "raised", exc
    except BaseException as exc:  # also SystemExit of a plug-in, MemoryError and panics
        return "died", named(exc)


def _end_with_parent() -> None:
    """End this process when its parent is gone, even if it hangs in a library."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _write_to(log: str) -> None:
    """Send what libraries print to a file: results and progress are told by the parent only."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # none where the user closed it
        stream.flush()
    target = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
