"""Whether an executor's workers see the folders that a run works in.

Counts and slices go through files. On several machines these must be on a file system that all of
them mount at the same path, which is checked before anything is read.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.cache import cache_folder
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import write_whole
from tokbench.bench.workers.executors import Executor, is_local
from tokbench.bench.workers.job import Job, perform

_NAME = "seen-by-workers"


@dataclass(frozen=True, kw_only=True)
class LookTask(Job[tuple[bool, str]]):
    """A look at files that the driver has just written."""

    folder: Path
    token: str

    @property
    def group(self) -> str:
        """A worker of its own."""
        return "folders"

    def run(self, watch: Stopwatch) -> tuple[bool, str]:
        """Return whether the run folder's file is seen, and the token in this worker's cache."""
        return _read(self.folder / _NAME) == self.token, _read(cache_folder(_NAME) / self.token)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8")
    return ""


def check_seen(executor: Executor, folder: Path) -> None:
    """Raise `ResultsError` where workers do not see the run folder or the cache of the driver."""
    if is_local(executor):
        return
    token = secrets.token_hex(8)
    mine = [folder / _NAME, cache_folder(_NAME) / token]
    try:
        for path in mine:
            write_whole(path, token)
        answer = executor.submit(perform, LookTask(folder=folder.absolute(), token=token)).result()
    finally:
        for path in mine:
            path.unlink(missing_ok=True)
    if answer.value is None:
        raise ResultsError(f"the executor's workers cannot start: {answer.reason}")
    seen, cached = answer.value
    if not seen:
        raise _unseen(str(folder), "--output")
    if cached != token:
        raise _unseen("the driver's cache of corpora", "TOKBENCH_CACHE (on every machine)")


def _unseen(what: str, option: str) -> ResultsError:
    return ResultsError(
        f"{what} is not seen by the executor's workers; set {option} to a folder on a file system "
        "that every machine mounts at the same path"
    )
