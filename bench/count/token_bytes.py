"""The content of each token id, kept beside the counts of a run.

Counts say how often an id occurred; a few metrics also need how long it is or what it begins
with. The contents of a vocabulary are therefore written once per tokenizer, so that suites work
on counts alone, after the tokenizer is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tokbench.bench.count import arrays_file
from tokbench.bench.model import BoolArray, IntArray, Vocabulary

CONTENTS = "_contents"
"""File name beside a tokenizer's corpora; no corpus is called so: keys start with a letter or digit."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The bytes of every id of one vocabulary, as arrays.

    >>> v = Vocabulary(token_bytes=[None, b"a", b" b"], special_ids=frozenset({0}))
    >>> c = Contents.of(v)
    >>> c.of_id(2), c.of_id(0), c.starts_with_space.tolist(), c.is_ordinary.tolist()
    (b' b', None, [False, False, True], [False, True, True])
    """

    lengths: npt.NDArray[np.int32]
    """Bytes of each id, -1 where it has none; shape (n_ids,)."""
    data: bytes
    """All bytes, one id after the other."""
    is_ordinary: BoolArray
    """Whether an id is an entry that is not special; shape (n_ids,)."""
    is_byte_fallback: BoolArray
    """Whether an id encodes a byte that no other entry covers; shape (n_ids,)."""
    starts_with_space: BoolArray
    """Whether an id's first byte is a space (U+0020); shape (n_ids,)."""

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Contents:
        """Take the contents out of a vocabulary."""
        ordinary = ~vocabulary.is_special
        ordinary[list(vocabulary.hole_ids)] = False
        lengths = vocabulary.byte_lengths.astype(np.int32)
        data = b"".join(content or b"" for content in vocabulary.token_bytes)
        spaced = np.zeros(len(lengths), np.bool_)
        some = np.flatnonzero(lengths > 0)
        spaced[some] = np.frombuffer(data, np.uint8)[_starts(lengths)[some]] == ord(" ")
        return cls(
            lengths=lengths,
            data=data,
            is_ordinary=ordinary,
            is_byte_fallback=vocabulary.is_byte_fallback,
            starts_with_space=spaced,
        )

    @cached_property
    def _starts(self) -> IntArray:
        return _starts(self.lengths)

    def of_id(self, token: int) -> bytes | None:
        """Return the bytes of one id, None where it has none."""
        length = int(self.lengths[token])
        if length < 0:
            return None
        start = int(self._starts[token])
        return self.data[start : start + length]


def _starts(lengths: npt.NDArray[np.int32]) -> IntArray:
    """Return where the bytes of each id begin among those of all."""
    ends = np.cumsum(np.maximum(lengths, 0), dtype=np.int64)
    return np.concatenate(([0], ends[:-1])) if len(ends) else ends


def write_contents(path: Path, contents: Contents, fingerprint: str) -> None:
    """Store contents under a tokenizer's fingerprint; private to a run folder."""
    arrays = {
        "lengths": contents.lengths,
        "is_ordinary": contents.is_ordinary,
        "is_byte_fallback": contents.is_byte_fallback,
        "starts_with_space": contents.starts_with_space,
        "data": np.frombuffer(contents.data, np.uint8),
    }
    arrays_file.write(path, {"fingerprint": fingerprint}, arrays)


def read_contents(path: Path, fingerprint: str) -> Contents | None:
    """Return stored contents, or None when they are missing, damaged or of another tokenizer."""
    stored = arrays_file.read(path)
    if stored is None or stored[0].get("fingerprint") != fingerprint:
        return None
    arrays = stored[1]
    return Contents(
        lengths=arrays["lengths"],
        is_ordinary=arrays["is_ordinary"],
        is_byte_fallback=arrays["is_byte_fallback"],
        starts_with_space=arrays["starts_with_space"],
        data=arrays["data"].tobytes(),
    )
