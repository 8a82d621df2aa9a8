"""Where a piece of work has got to, told to whoever watches it.

Work that may hang or crash says what it is at and how long that may take. Nobody listens unless
the process is a worker of `tokbench.bench.workers.pool`: then a worker that stays silent longer than it said is
ended, and the place it named last tells what it was lost at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Place = tuple[str | int, ...]
"""Such as ``("load",)``, ``("batch", 3)`` or ``("cell", 0, "row", 3, 17)``."""

Listener = Callable[[Place, float | None], None]

_listeners: list[Listener] = []
_outer: list[str | int] = []


def at(*place: str | int, seconds: float | None = None) -> None:
    """Say what begins now, and within how many seconds the next word comes.

    None stands for as many as were said the last time.
    """
    for listener in _listeners:
        listener((*_outer, *place), seconds)


@contextmanager
def within(*place: str | int) -> Iterator[None]:
    """Put a place before all that are said inside the block."""
    before = len(_outer)
    _outer.extend(place)
    try:
        yield
    finally:
        del _outer[before:]


def listen(listener: Listener) -> None:
    """Pass every word of this process to a listener, from now on."""
    _listeners.append(listener)


def is_watched() -> bool:
    """Whether anybody listens in this process."""
    return bool(_listeners)
