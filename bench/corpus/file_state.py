"""What a local file is known by: its SHA-256, and how one sees that it changed meanwhile.

A file whose size, times, inode and device are what they were has not been written to, except
within the same tick of the clock. So a file that was written less than two seconds before it was
hashed is hashed again each time, as git does with its index.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tokbench.bench.errors import CorpusError

SETTLED_NS = 2 * 10**9

_BLOCK = 2**20


class FileState(NamedTuple):
    """Facts about a file from the system; no program can set `changed_ns` back."""

    size: int
    written_ns: int
    changed_ns: int
    inode: int
    device: int

    @property
    def settled(self) -> bool:
        """Whether the last change is old enough for a new one to be detected."""
        return time.time_ns() - max(self.written_ns, self.changed_ns) > SETTLED_NS


class KnownFile(NamedTuple):
    """A file as it was when it was hashed."""

    name: str
    """As the config wrote it."""
    sha256: str
    state: FileState


Tick = Callable[[str], None]
"""Is called with the name of a file for each block that is hashed, and may raise."""

_hashed: dict[tuple[Path, FileState], str] = {}
"""Of files that were settled when they were hashed."""


def known_file(path: Path, name: str, tick: Tick | None = None) -> KnownFile:
    """Return the current state of a file; raise `CorpusError` if it cannot be read."""
    try:
        state = _state(path)
        if (known := _hashed.get((path, state))) is not None:
            return KnownFile(name, known, state)
        sha256 = _sha256(path, state, tick)
        if state.settled:
            _hashed[path, state] = sha256
        return KnownFile(name, sha256, state)
    except OSError as exc:
        raise CorpusError(f"cannot read {path.name}: {exc.strerror or exc}") from exc


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return known_file(path, path.name).sha256


def changed_meanwhile(name: str) -> CorpusError:
    """Return the error for a file that changed while it was being read."""
    return CorpusError(
        f"{name} changed while it was being read; run again once nothing writes to it"
    )


def check_unchanged(before: list[KnownFile], now: list[KnownFile]) -> None:
    """Raise `CorpusError` if a file changed since the reading began."""
    if before == now:
        return
    changed = sorted({one.name for one in set(before) ^ set(now)})
    raise changed_meanwhile(changed[0] if changed else "the order of its files")


def _state(path: Path) -> FileState:
    status = path.stat()
    return FileState(
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
    )


def _sha256(path: Path, state: FileState, tick: Tick | None) -> str:
    digest, left = hashlib.sha256(), state.size
    with path.open("rb") as file:  # no further than it was long: it may grow without end
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            if tick is not None:
                tick(path.name)
            left -= len(block)
    if _state(path) != state:
        raise changed_meanwhile(path.name)
    return digest.hexdigest()
