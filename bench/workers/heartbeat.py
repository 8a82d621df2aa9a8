"""Where a job is, reported to the process that watches it.

A job that may hang or crash says what it does next and how long that may take. Outside a worker
process this does nothing. In one, silence beyond the time allowed ends the worker, and the last
step is named in the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tokbench.bench.workers.state import THIS


def at(*step: str | int, seconds: float | None = None, limit: str | None = None) -> None:
    """Report what begins now, and within how many seconds the next report comes.

    `limit` is the config option that sets the seconds. None keeps the seconds of the last report.
    """
    if THIS.listener is not None:
        THIS.listener((*THIS.outer, *step), seconds, limit)


@contextmanager
def within(*step: str | int) -> Iterator[None]:
    """Put a step before all that are reported inside the block."""
    before = len(THIS.outer)
    THIS.outer.extend(step)
    try:
        yield
    finally:
        del THIS.outer[before:]


def is_watched() -> bool:
    """Whether this process is a worker."""
    return THIS.listener is not None
