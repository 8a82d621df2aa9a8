"""Decode ids one at a time, showing a character only when all of its bytes have come.

Tokens of byte-level and byte-fallback tokenizers may end inside a character, so decoding them one
by one gives U+FFFD where the whole sequence decodes to valid text. This decoder keeps the bytes of
an unfinished character until the next token completes it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Tokenizer


class IncrementalDecoder:
    """Decodes ids one by one, from the raw bytes of each id.

    `token_bytes[i]` is the content of id i or None where it has none (such ids add nothing).
    `prefix_space` drops one space at the start of the text, for tokenizers that add it.
    With ``errors="strict"`` bytes that can never become valid raise `TokenizerError`; with
    ``errors="replace"`` they become U+FFFD, and an unfinished character does so only in `finish`.

    >>> decoder = IncrementalDecoder([b"\\xc3", b"\\xa9", b" x"])
    >>> [decoder.push(i) for i in (0, 1, 2)], decoder.finish()
    (['', 'é', ' x'], '')
    """

    def __init__(
        self,
        token_bytes: Sequence[bytes | None],
        *,
        prefix_space: bool = False,
        errors: Literal["strict", "replace"] = "strict",
    ) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._drop_space = prefix_space

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, *, errors: Literal["strict", "replace"] = "strict"
    ) -> IncrementalDecoder:
        """Return a decoder for any tokenizer."""
        return cls(
            tokenizer.vocabulary.token_bytes, prefix_space=tokenizer.prefix_space, errors=errors
        )

    @property
    def pending(self) -> bytes:
        """The bytes of an unfinished character that are held back."""
        return self._decoder.getstate()[0]

    def push(self, token_id: int) -> str:
        """Return the text that this id completes, which may be empty."""
        if not 0 <= token_id < len(self._token_bytes):
            raise TokenizerError(
                f"id {token_id} is not in the vocabulary (0 to {len(self._token_bytes) - 1})"
            )
        return self._decode(self._token_bytes[token_id] or b"", final=False)

    def finish(self) -> str:
        """Return the rest at the end: nothing, or U+FFFD for an unfinished character."""
        return self._decode(b"", final=True)

    def _decode(self, data: bytes, *, final: bool) -> str:
        if self._drop_space and data:
            self._drop_space = False
            data = data.removeprefix(b" ")
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as exc:
            raise TokenizerError(
                f"the ids do not spell valid UTF-8 ({exc.reason} in {exc.object!r}); "
                'use errors="replace" to show U+FFFD there'
            ) from exc


def decode_stream(
    tokenizer: Tokenizer,
    token_ids: Iterable[int],
    *,
    errors: Literal["strict", "replace"] = "strict",
) -> Iterator[str]:
    """Yield text as soon as it is complete; the parts joined are the decoded sequence.

    Raises `TokenizerError` as `IncrementalDecoder` does.
    """
    decoder = IncrementalDecoder.of(tokenizer, errors=errors)
    for token_id in token_ids:
        if part := decoder.push(token_id):
            yield part
    if part := decoder.finish():
        yield part
