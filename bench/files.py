"""Files written whole or not at all, and read within bounds; JSON that is strict both ways."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import strict_json


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there.

    Raises `ResultsError` when the disk is full or the folder cannot be written.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def write_inside(folder: Path, file: str, data: bytes | str) -> None:
    """Write a file of a folder, such as ``figures/a.svg``, as `write_whole` does.

    Raises `ResultsError` for a name that leads out of the folder, be it by a link in a folder that
    somebody else made.
    """
    parts = PurePath(file).parts
    if PurePath(file).is_absolute() or ".." in parts:
        raise ResultsError(
            f"{folder}: the file {file!r} would lie outside of the folder; not written"
        )
    for n in range(1, len(parts)):
        inner = folder.joinpath(*parts[:n])
        if inner.is_symlink():
            raise ResultsError(
                f"{inner}: is a symbolic link, which files are not written through; remove it"
            )
    write_whole(folder / file, data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, renamed at the end; errors as in `write_whole`."""
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


DEEPEST = 64
"""Levels of objects and lists in a JSON file that tokbench reads; its own have fewer than ten."""


def _first_bytes(file: BinaryIO, most: int) -> bytes:
    """Return at most `most` bytes, with no more memory than they take: `read(most)` reserves all."""
    chunks, left = [], most
    while left and (chunk := file.read(min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def read_bounded(path: Path, most: int) -> bytes:
    """Return the bytes of a regular file of at most `most` bytes.

    Raises `ResultsError` for a larger file, and for a device or a pipe, which may never end.
    """
    try:
        # A pipe would block when it is opened, so the file is looked at before.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ResultsError(f"{path}: is not a regular file")
        with path.open("rb") as file:
            data = _first_bytes(file, most + 1)
    except OSError as exc:
        raise ResultsError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    if len(data) > most:
        raise ResultsError(
            f"{path}: is larger than {most:,} bytes, the limit for a file of its kind"
        )
    return data


def parse_json(text: str | bytes, *, surrogates: bool = False) -> Any:
    r"""Return the value of a JSON text that every reader reads the same way.

    Raises `ValueError` for duplicate keys, NaN, infinite numbers, integers beyond 64 bits, lone
    surrogates unless `surrogates` allows them, and more than `DEEPEST` levels.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice in one object
    """
    try:
        value = json.loads(
            text.decode() if isinstance(text, bytes) else text,
            object_pairs_hook=unique_keys,
            parse_constant=_no_constant,
            parse_float=_finite_float,
            parse_int=_bounded_int,
        )
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} levels deep") from None
    _check_values(value, surrogates)
    return value


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values; raise `ValueError` where a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        doubled = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {doubled[:200]!r} occurs twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _bounded_int(digits: str) -> int:
    if len(digits) > 20 or not -(2**63) <= int(digits) < 2**64:
        raise ValueError(f"the number {digits[:40]} is too large")
    return int(digits)


def _check_values(value: Any, surrogates: bool) -> None:
    """Refuse depth and lone surrogates, level by level: no recursion."""
    level = [value]
    for _ in range(DEEPEST):
        texts = [one for one in level if isinstance(one, str)]
        texts += [key for one in level if isinstance(one, dict) for key in one]
        if not surrogates and any(not one.isascii() and _has_surrogate(one) for one in texts):
            raise ValueError("a string contains a lone surrogate")
        level = [part for one in level for part in _parts(one)]
        if not level:
            return
    raise ValueError(f"nested more than {DEEPEST} levels deep")


def _parts(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
