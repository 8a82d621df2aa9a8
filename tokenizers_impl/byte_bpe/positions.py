"""The array that `learning` works on: the bytes of all distinct pieces, with gaps around each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tokbench.bench.errors import TrainingError

Pieces = Mapping[bytes, int]
"""How often each distinct piece occurs."""

IntArray = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]


def order_of(tokens: Positions) -> IntArray:
    """Return the order that sorts tokens; stable, so that positions stay ascending."""
    small = len(tokens) > 1000 and tokens.max() < 1 << 16  # which NumPy sorts by radix
    return (tokens.astype(np.uint16) if small else tokens).argsort(kind="stable")


def flattened(pieces: Pieces, *, gap: int) -> tuple[Positions, IntArray]:
    """Return the bytes of all pieces in one array with gaps around each, and their weights."""
    flat = np.frombuffer(b"".join(pieces), np.uint8)
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    if len(flat) + len(pieces) >= np.iinfo(np.int32).max:
        raise TrainingError(
            "the distinct pieces of the training text exceed 2 GB; train on a sample of it"
        )
    counts = np.fromiter(pieces.values(), np.int64, len(pieces))
    symbols = np.full(len(flat) + len(pieces) + 1, gap, np.int32)
    # Byte i of piece k goes to i + k + 1: one gap before each piece.
    place = np.arange(1, len(flat) + 1) + np.repeat(np.arange(len(pieces)), lengths)
    symbols[place] = flat
    weights = np.zeros(len(symbols), np.int64)
    weights[place] = np.repeat(counts, lengths)
    return symbols, weights


def every_second(at: Positions, length: int) -> Positions:
    """Return the 1st, 3rd, ... of each run of positions that lie `length` apart.

    >>> every_second(np.array([0, 1, 2, 7, 8], np.int32), 1).tolist()
    [0, 2, 7]
    """
    index = np.arange(len(at))
    begins = np.concatenate([[True], np.diff(at) != length])
    run_start = np.maximum.accumulate(np.where(begins, index, 0))
    return np.compress((index - run_start) % 2 == 0, at)
