"""The token ids of a batch of documents as one flat array."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import Ids, IntArray

_OF_32_BITS = {np.dtype(np.uint32), np.dtype(np.int32)}


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """The ids of a batch: flat, with n + 1 document offsets."""

    ids: npt.NDArray[np.uint32]
    offsets: IntArray

    @property
    def lengths(self) -> IntArray:
        """Tokens of each document, shape (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def histogram(self) -> npt.NDArray[np.int32]:
        """How often each id occurs, up to the highest one that does."""
        # Faster than `bincount`, which wants 64 bits; no id occurs 2^31 times in a batch.
        counts = np.zeros(int(self.ids.max(initial=0)) + 1, np.int32)
        np.add.at(counts, self.ids, np.int32(1))
        return counts

    @cached_property
    def distinct(self) -> IntArray:
        """The ids that occur, sorted."""
        return np.flatnonzero(self.histogram != 0)

    def has(self, of_id: npt.NDArray[np.bool_]) -> bool:
        """Whether any token has a property of ids; `of_id` has shape (n_ids,)."""
        return bool(of_id.take(self.distinct).any())

    def count(self, of_id: npt.NDArray[np.bool_]) -> IntArray:
        """Count the tokens of each document that have a property of ids, shape (n,).

        >>> e = Encoded(ids=np.array([1, 1, 0], np.uint32), offsets=np.array([0, 2, 2, 3]))
        >>> e.count(np.array([False, True])).tolist()
        [2, 0, 0]
        """
        if not self.has(of_id):
            return np.zeros(len(self.offsets) - 1, np.int64)
        return self.per_document(of_id.take(self.ids))

    def per_document(self, chosen: npt.NDArray[np.bool_]) -> IntArray:
        """Count the chosen tokens of each document, shape (n,)."""
        return np.diff(np.searchsorted(np.flatnonzero(chosen), self.offsets))


def flatten(batch: Sequence[Ids]) -> Encoded:
    """Concatenate the ids of documents, of any sequence type.

    >>> flatten([[1, 2], [], [3]]).offsets.tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(batch) + 1, np.int64)
    np.cumsum(list(map(len, batch)), out=offsets[1:])
    if set(map(type, batch)) == {np.ndarray}:
        return Encoded(ids=_concatenated(batch), offsets=offsets)
    flat = array("I")  # takes Python's integers three times as fast as NumPy does
    for ids in batch:
        flat.fromlist(ids if isinstance(ids, list) else list(ids))
    return Encoded(ids=np.asarray(flat, np.uint32), offsets=offsets)


def _concatenated(batch: Sequence[Any]) -> npt.NDArray[np.uint32]:
    if {ids.dtype for ids in batch} <= _OF_32_BITS:
        with suppress(TypeError):  # an array with gaps
            return np.frombuffer(b"".join(batch), np.uint32)  # twice as fast as NumPy
    return np.concatenate(batch).astype(np.uint32, copy=False)
