"""What becomes of those who wait when something in the pool itself is wrong."""

from __future__ import annotations

import subprocess
import sys
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


NO_ROOM = """
import resource
from pathlib import Path
from types import SimpleNamespace
from tokbench.bench.console import ConsoleProgress
from tokbench.bench.errors import TokbenchError
from tokbench.bench.workers.pool import Workers

pages = int(Path("/proc/self/statm").read_text().split()[0])
room = pages * resource.getpagesize() + (2 << 20)  # the stack of a thread is larger
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for manager in (Workers(2, on_loss=print), ConsoleProgress()):
    try:
        with manager as one:
            one.submit(len, SimpleNamespace(group="a", stage=0))
    except TokbenchError as exc:
        print(exc)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/statm")
def test_a_thread_that_the_system_refuses_is_an_error_that_names_the_limits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert ["(seat 0)" in said[0], "(progress)" in said[1]] == [True, True]
    assert all(line.startswith("can't start new thread: the system refuses") for line in said)
