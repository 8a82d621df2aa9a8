"""Files written whole or not at all: under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import strict_json


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there.

    Raises `ResultsError` when the disk is full or the folder cannot be written.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, renamed at the end; errors as in `write_whole`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except BaseException as exc:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if not isinstance(exc, OSError):
            raise
        raise cannot_write(path, exc) from exc


def cannot_write(path: Path, exc: OSError) -> ResultsError:
    """Return the error for a file that cannot be written."""
    return ResultsError(
        f"{path}: cannot be written: {exc.strerror or exc}; free space or choose another "
        "folder with --output, then run the same command again: finished cells are kept"
    )


def write_json(path: Path, value: Any) -> None:
    """Write JSON that is strict (no NaN) and readable; keys keep their order."""
    write_whole(path, strict_json(value) + "\n")
