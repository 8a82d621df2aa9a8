"""Arrays on disk with a JSON header:

XXH3-128 of all that follows, length of the header, header, data.

Such files are private to a run folder and read on the machine that wrote them. What is damaged, or
not such a file at all, is read as None and made anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from tokbench.bench.files import write_whole

Arrays = dict[str, npt.NDArray[Any]]

_HASH, _LENGTH = 16, 8
_ARRAYS = "arrays"
_KINDS = "iufb"
"""Kinds of numbers that are stored; bytes that name another are none of ours."""


def write(path: Path, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Store one-dimensional arrays under names; `ResultsError` where they cannot be written.

    The header is any JSON object without a key ``arrays``.
    """
    shapes = {name: [values.dtype.str, len(values)] for name, values in arrays.items()}
    head = json.dumps({**header, _ARRAYS: shapes}).encode()
    parts = [len(head).to_bytes(_LENGTH, "little"), head, *(v.tobytes() for v in arrays.values())]
    payload = b"".join(parts)
    write_whole(path, xxhash.xxh3_128_digest(payload) + payload)


def read(path: Path) -> tuple[dict[str, Any], Arrays] | None:
    """Return header and arrays, which share the file's bytes; None where missing or damaged."""
    try:
        data = memoryview(path.read_bytes())
    except OSError:
        return None
    payload = data[_HASH:]
    if xxhash.xxh3_128_digest(payload) != data[:_HASH]:
        return None
    start = _LENGTH + int.from_bytes(payload[:_LENGTH], "little")
    try:
        header = json.loads(bytes(payload[_LENGTH:start]))
        return header, _arrays(header.pop(_ARRAYS), payload, start)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _arrays(shapes: Mapping[str, Any], payload: memoryview, start: int) -> Arrays:
    """Return the arrays; raise `ValueError` where the bytes are not exactly theirs."""
    arrays: Arrays = {}
    for name, (dtype, length) in shapes.items():
        if length < 0 or np.dtype(dtype).kind not in _KINDS:
            raise ValueError(f"{name} is not an array of numbers")
        arrays[name] = np.frombuffer(payload, dtype, length, start)
        start += arrays[name].nbytes
    if start != len(payload):
        raise ValueError("bytes are left over")
    return arrays
