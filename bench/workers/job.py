"""Jobs: work for any process, which may crash during it.

A job is a frozen dataclass that can be pickled: what to do, its limits, and how to go on when its
process was lost. `perform` runs one wherever it is and wraps what it returns in an `Answer`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from tokbench.bench.config.limits import Limits
from tokbench.bench.environment import Stopwatch, peak_bytes
from tokbench.bench.errors import ResultsError, TokbenchError
from tokbench.bench.guard import contained
from tokbench.bench.workers.state import THIS, Step

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Died:
    """How a worker process was lost, and what it was doing."""

    kind: Literal["died", "silent", "memory"]
    step: Step
    reason: str


@dataclass(frozen=True, kw_only=True)
class Answer(Generic[T]):
    """The value of a job or the reason why there is none, and its cost."""

    value: T | None = None
    reason: str | None = None
    """Why there is no value."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by section."""
    process: int = 0
    """Id of the process that did it; 0 where none could."""
    peak_bytes: int = 0
    """Highest resident memory of that process so far."""


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """The end of a job whose process was lost."""

    answer: Answer[Any]
    group: str | None = None
    """Reason to skip all other jobs of its group, if there is one."""


@dataclass(frozen=True, kw_only=True)
class Job(Generic[T]):
    """Base of all jobs."""

    limits: Limits = field(default_factory=Limits)
    tries: int = 0
    """How often a process was lost at it for no reason of its own."""
    stage: ClassVar[int] = 0
    """It starts when all jobs of its group with a lower stage are finished."""
    options: ClassVar[str] = "limits"
    """Where the config sets its limits."""

    @property
    def group(self) -> str:
        """Jobs of one group share worker processes, which serve no other group."""
        raise NotImplementedError

    def run(self, watch: Stopwatch) -> T:
        """Do the work; raise `TokbenchError` where it cannot be done."""
        raise NotImplementedError

    def doing(self, died: Died) -> str:
        """Return the step at which its process was lost, as the end of a sentence."""
        return "while loading" if died.step == ("load",) else "while starting"

    def lost(self, died: Died) -> Self | GiveUp:
        """Return the job to run instead: the same once more if the process was killed, else None."""
        if died.kind == "died" and not self.tries:  # perhaps from outside
            return replace(self, tries=1)
        return GiveUp(answer=self.give_up(f"{died.reason} {self.doing(died)}"))

    def give_up(self, reason: str) -> Answer[T]:
        """Return the answer of a job that is not tried, or not tried again."""
        return Answer(reason=reason)


_ONE_AT_A_TIME = threading.RLock()
"""Jobs share what their process has loaded; an executor may call from several threads."""


def perform(job: Job[T]) -> Answer[T]:
    """Run a job in this process, one at a time.

    Raises `ResultsError` when its files cannot be written: then no other job's could be either.
    """
    with _ONE_AT_A_TIME:
        return _perform(job)


def _perform(job: Job[T]) -> Answer[T]:
    watch = Stopwatch()
    if THIS.listener is not None and not THIS.imports_counted:
        THIS.imports_counted = True
        watch.start_of_process()
    value, reason = None, None
    try:
        with contained():
            value = job.run(watch)
    except ResultsError:
        raise
    except TokbenchError as exc:
        reason = str(exc)
    return Answer(
        value=value,
        reason=reason,
        seconds=watch.stop(),
        process=os.getpid(),
        peak_bytes=peak_bytes(),
    )
