"""What two vocabularies have in common."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import IntArray


@dataclass(frozen=True, kw_only=True)
class Entries:
    """A vocabulary as 64-bit hashes of its entries' bytes, distinct and sorted, with their ids.

    Special tokens and byte-fallback entries are left out; of equal entries the lowest id stays.
    """

    hashes: npt.NDArray[np.uint64]
    ids: IntArray


def entries(contents: Contents) -> Entries:
    """Hash the entries of a vocabulary, shape (n,) each."""
    wanted = contents.is_ordinary & ~contents.is_byte_fallback & (contents.lengths > 0)
    ids = np.flatnonzero(wanted)
    digests = b"".join(
        hashlib.blake2b(contents.of_id(i) or b"", digest_size=8).digest() for i in ids.tolist()
    )
    hashes, first = np.unique(np.frombuffer(digests, "<u8"), return_index=True)
    return Entries(hashes=hashes, ids=ids[first])


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Counts of distinct entries."""

    common: int
    moved: int
    """Of the common ones, those with another id."""
    only_first: int
    only_second: int

    @property
    def jaccard(self) -> float | None:
        """Common entries ÷ entries of either, None for two empty vocabularies."""
        either = self.common + self.only_first + self.only_second
        return self.common / either if either else None


def overlap(first: Entries, second: Entries) -> Overlap:
    """Compare two vocabularies.

    >>> from tokbench.bench.model import Vocabulary
    >>> a = entries(Contents.of(Vocabulary(token_bytes=[b"a", b"b", b"c"])))
    >>> b = entries(Contents.of(Vocabulary(token_bytes=[b"a", b"c"])))
    >>> overlap(a, b)
    Overlap(common=2, moved=1, only_first=1, only_second=0)
    """
    common, here, there = np.intersect1d(
        first.hashes, second.hashes, assume_unique=True, return_indices=True
    )
    return Overlap(
        common=len(common),
        moved=int((first.ids[here] != second.ids[there]).sum()),
        only_first=len(first.hashes) - len(common),
        only_second=len(second.hashes) - len(common),
    )
