"""The seal of a run, which shows that its files are unchanged: a digest of each, and a seal.

`run.json` ends with the SHA-256 of every other exact file and with a seal, the SHA-256 of its own
bytes with the seal's digits written as zeros. A flipped byte anywhere is found without decoding a
table. `digest` stays what it was: a digest of the values, independent of files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import strict_json

_ZEROS = "0" * 64
_HOW = "restore the folder from where it was made, or run its config again with --new"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed_text(run: Mapping[str, Any]) -> str:
    """Return the text of `run.json` with its seal as the last key.

    >>> text = sealed_text({"name": "x"})
    >>> seal_holds(text.encode()), seal_holds(text.replace("x", "y").encode())
    (True, False)
    """
    value = {**run, "seal": _ZEROS}
    text = strict_json(value) + "\n"
    head, _, tail = text.rpartition(_ZEROS)
    return f"{head}{hashlib.sha256(text.encode()).hexdigest()}{tail}"


_TAIL = len('"\n}\n')


def seal_holds(data: bytes) -> bool:
    """Return whether the bytes of a `run.json` match its seal."""
    seal = data[-_TAIL - 64 : -_TAIL]
    opened = data[: -_TAIL - 64] + _ZEROS.encode() + data[-_TAIL:]
    return hashlib.sha256(opened).hexdigest().encode() == seal


def check_files(folder: Path, files: Mapping[str, str]) -> None:
    """Raise `ResultsError` with the name of the first file that is not as it was written.

    Files in folders (`documents/`, `vocabulary/`) may have been left out of a copy: who reads one
    of them then learns that it is not there.
    """
    for name, digest in files.items():
        path = folder / PurePosixPath(name)
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ResultsError(f"{folder / 'run.json'}: is damaged: it names the file {name!r}")
        if not path.exists() and "/" in name:
            continue
        if not path.is_file():
            raise ResultsError(f"{path}: is missing, though run.json names it; {_HOW}")
        try:
            found = file_digest(path)
        except OSError as exc:
            raise ResultsError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
        if found != digest:
            raise ResultsError(
                f"{path}: is damaged or was edited: its SHA-256 is {found[:12]}, run.json says "
                f"{digest[:12]}; {_HOW}"
            )


def damaged_run(folder: Path, why: str) -> ResultsError:
    """Return the error for a `run.json` that was changed."""
    return ResultsError(f"{folder / 'run.json'}: is damaged or was edited: {why}; {_HOW}")
