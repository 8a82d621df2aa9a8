"""Where cells are counted: anything with `submit`, as in `concurrent.futures`.

`Inline` counts in this process, one cell after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """The one method that tokbench asks of an executor."""

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
