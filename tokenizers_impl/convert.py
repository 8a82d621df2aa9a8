"""Between what libraries take and what they return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import BoolArray, Ids


def as_list(ids: Ids) -> list[int]:
    """Return ids as a list of Python integers, which is what decoders take quickest.

    >>> as_list(np.array([1, 2], np.uint32))
    [1, 2]
    """
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)


def numbered_by_bytes(
    token_lengths: npt.NDArray[np.integer[Any]], piece_lengths: npt.NDArray[np.integer[Any]]
) -> list[int]:
    """Return for each token the number of the piece that its first byte lies in.

    Tokens and pieces are laid over the same bytes, in order.

    >>> numbered_by_bytes(np.array([1, 2, 1]), np.array([3, 1]))
    [0, 0, 1]
    """
    starts = np.cumsum(token_lengths) - token_lengths
    return np.searchsorted(np.cumsum(piece_lengths), starts, "right").tolist()  # type: ignore[no-any-return]


def numbered_apart(apart: BoolArray) -> list[int]:
    """Return a number for each token that rises before and behind each one that stands apart.

    >>> numbered_apart(np.array([False, False, True, False]))
    [0, 0, 1, 2]
    """
    behind = np.concatenate([[False], apart])[: len(apart)]
    return np.cumsum(apart | behind).tolist()  # type: ignore[no-any-return]
