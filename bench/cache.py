"""The cache folder of tokbench, for files that it can make again: slices, models, staged files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.bench.errors import UsageError


def cache_folder(part: str) -> Path:
    """Return ``$TOKBENCH_CACHE/part``, else a folder of that name in the user's cache."""
    if given := os.environ.get("TOKBENCH_CACHE"):
        try:
            return Path(given).expanduser() / part
        except RuntimeError as exc:
            raise UsageError(f"TOKBENCH_CACHE={given}: {exc}") from exc
    import platformdirs

    return platformdirs.user_cache_path("tokbench", appauthor=False) / part


OLD_SECONDS = 3600
"""Age from which a private folder without a lock is considered abandoned."""

_LOCK = ".lock"


@contextmanager
def private_folder(parent: Path, doing: str) -> Iterator[Path]:
    """Yield an empty folder ``.DOING-...`` inside another; it is removed after the block.

    Folders of that name whose process was killed are removed first: a process holds a lock in its
    folder, and the system lets go of it with the process. Raises `OSError` where the parent
    cannot be written.
    """
    _sweep(parent, f".{doing}-")
    place = Path(tempfile.mkdtemp(prefix=f".{doing}-", dir=parent))
    import filelock

    try:
        # a worker's folder may be given up by another thread than made it
        with filelock.FileLock(place / _LOCK, thread_local=False):
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def scratch_folder(doing: str) -> Iterator[Path]:
    """Give an empty folder ``.tokbench-DOING-...`` among the system's temporary files.

    It is gone after the block; those of killed processes are removed first.
    """
    with private_folder(Path(tempfile.gettempdir()), f"tokbench-{doing}") as place:
        yield place


def _sweep(parent: Path, prefix: str) -> None:
    import filelock

    for left in parent.glob(f"{prefix}*"):
        lock = left / _LOCK
        # without a lock it is just being made, or was made by an older version
        if not left.is_dir() or (not lock.exists() and not _is_old(left)):
            continue
        with contextlib.suppress(OSError, filelock.Timeout), filelock.FileLock(lock, timeout=0):
            shutil.rmtree(left, ignore_errors=True)


def _is_old(folder: Path) -> bool:
    return time.time() - folder.stat().st_mtime > OLD_SECONDS
