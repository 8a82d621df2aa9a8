"""The code points of a text as its tokens: the ceiling of a vocabulary without merges.

An id is the code point itself, so ids need no training and no table. The vocabulary is every
Unicode scalar value, assigned or not: 1,112,064 entries over 1,114,112 ids, the 2,048
surrogates being holes. What is assigned grows with each Unicode version; what can occur in a
text does not, and an embedding by code point has to cover it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import BoolArray, Fingerprint, Ids, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin

N_IDS = sys.maxunicode + 1
SURROGATES = range(0xD800, 0xE000)


class Characters(TokenizerPlugin):
    """One token for each code point; the id is the code point.

    Its 1,112,064 entries are every Unicode scalar value, assigned or not.
    """

    def load(self, context: LoadContext) -> CharactersTokenizer:
        """Return the tokenizer; there is nothing to read."""
        return CharactersTokenizer(
            vocabulary=_CodePointVocabulary(
                token_bytes=CodePointBytes(), hole_ids=frozenset(SURROGATES)
            ),
            fingerprint=Fingerprint.of(vocabulary="Unicode scalar values"),
        )


class CodePointBytes(Sequence[bytes | None]):
    """The UTF-8 bytes of each code point, made when asked for; None for surrogates.

    A list would take a second to build and 60 MB to hold for a table that is never read whole.

    >>> table = CodePointBytes()
    >>> len(table), table[0xE9], table[0xD800], table[-1]
    (1114112, b'\\xc3\\xa9', None, b'\\xf4\\x8f\\xbf\\xbf')
    >>> table[97:100]
    [b'a', b'b', b'c']
    """

    def __len__(self) -> int:
        return N_IDS

    def __iter__(self) -> Iterator[bytes | None]:
        before, behind = range(SURROGATES.start), range(SURROGATES.stop, N_IDS)
        yield from map(str.encode, map(chr, before))
        yield from itertools.repeat(None, len(SURROGATES))
        yield from map(str.encode, map(chr, behind))

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes | None]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes | None] | None:
        points = range(N_IDS)[index]
        if isinstance(points, range):
            return [_utf8(point) for point in points]
        return _utf8(points)


def _utf8(point: int) -> bytes | None:
    return None if point in SURROGATES else chr(point).encode()


@dataclass(frozen=True, kw_only=True)
class _CodePointVocabulary(Vocabulary):
    """The same facts, by arithmetic in place of a walk over a million objects."""

    @cached_property
    def byte_lengths(self) -> npt.NDArray[np.int32]:
        """Bytes of each id, -1 for surrogates; shape (n_ids,)."""
        lengths = np.full(N_IDS, 4, np.int32)
        for limit, length in ((0x10000, 3), (0x800, 2), (0x80, 1)):
            lengths[:limit] = length
        lengths[SURROGATES.start : SURROGATES.stop] = -1
        return lengths

    @cached_property
    def is_partial_character(self) -> BoolArray:
        """False throughout: an entry is a whole character; shape (n_ids,)."""
        return np.zeros(N_IDS, np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False)
class CharactersTokenizer:
    """Ids are code points.

    >>> from pathlib import Path
    >>> tokenizer = Characters().load(LoadContext(folder=Path()))
    >>> [ids.tolist() for ids in tokenizer.encode_batch(["hello"])]
    [[104, 101, 108, 108, 111]]
    >>> tokenizer.vocabulary.n_ids, tokenizer.vocabulary.n_entries
    (1114112, 1112064)
    """

    vocabulary: Vocabulary
    fingerprint: Fingerprint
    byte_exact: bool = True
    prefix_space: bool = False
    notes: tuple[str, ...] = ("1,112,064 entries: every Unicode scalar value, assigned or not",)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one uint32 array for each text."""
        return [np.frombuffer(text.encode("utf-32-le"), "<u4") for text in texts]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts; ids that are no characters become U+FFFD."""
        return [np.asarray(i, "<u4").tobytes().decode("utf-32-le", "replace") for i in ids]
