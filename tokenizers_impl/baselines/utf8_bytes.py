"""The UTF-8 bytes of a text as its tokens: the baseline every byte-level tokenizer starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tokbench.bench.model import Fingerprint, Ids, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin


class Utf8Bytes(TokenizerPlugin):
    """One token for each UTF-8 byte; 256 ids, nothing to learn and nothing to lose."""

    def load(self, context: LoadContext) -> Utf8BytesTokenizer:
        """Return the tokenizer; there is nothing to read."""
        singles = [bytes([b]) for b in range(256)]
        return Utf8BytesTokenizer(
            vocabulary=Vocabulary(token_bytes=singles),
            fingerprint=Fingerprint.of(vocabulary=list(singles)),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Utf8BytesTokenizer:
    """Ids are byte values.

    >>> from pathlib import Path
    >>> tokenizer = Utf8Bytes().load(LoadContext(folder=Path()))
    >>> [ids.tolist() for ids in tokenizer.encode_batch(["hé"])]
    [[104, 195, 169]]
    >>> tokenizer.decode_batch([[104, 195, 169], [195]])
    ['hé', '\N{REPLACEMENT CHARACTER}']
    """

    vocabulary: Vocabulary
    fingerprint: Fingerprint
    byte_exact: bool = True
    prefix_space: bool = False
    notes: tuple[str, ...] = ()

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one uint32 array for each text."""
        return [np.frombuffer(text.encode(), np.uint8).astype(np.uint32) for text in texts]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts; bytes that are not UTF-8 become U+FFFD."""
        return [np.asarray(i, np.uint8).tobytes().decode("utf-8", "replace") for i in ids]
