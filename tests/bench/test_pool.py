"""What becomes of those who wait when something in the pool itself is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tokbench.bench.workers.pool import Workers


@dataclass(frozen=True)
class Half:
    """A task that lacks most of what the pool asks of one."""

    group: str = "a"


def test_a_fault_is_told_to_who_waits_and_nothing_is_taken_after_it() -> None:
    with Workers(2, on_loss=print) as workers:
        future = workers.submit(len, Half())
        with pytest.raises(AttributeError, match="stage"):
            future.result(timeout=30)
        with pytest.raises(RuntimeError, match="closed"):
            workers.submit(len, Half())
