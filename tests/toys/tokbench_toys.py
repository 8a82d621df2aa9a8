"""A third party's package of tokenizers, as tokbench finds it: small enough to count by hand."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from tokbench.bench.plugins import find
from tokbench.plugins import (
    Examination,
    Fingerprint,
    Ids,
    InputError,
    LoadContext,
    Measurement,
    MetricSpec,
    SegmenterPlugin,
    Span,
    TokenizerPlugin,
    TokenizerSuite,
    Vocabulary,
)


class PanicException(BaseException):
    """What a Rust library raises when it panics: no `Exception`, and known by its name only."""


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Longest known piece first; what no piece covers is single bytes, or one unknown token.

    Ids 0 to 255 are the bytes, 256 is the unknown token, pieces follow.
    """

    pieces: tuple[str, ...] = ()
    unknown: bool = False
    lowercase: bool = False
    prefix_space: bool = False
    notes: Sequence[str] = ()
    vocabulary: Vocabulary = field(init=False)
    fingerprint: Fingerprint = field(init=False)

    def __post_init__(self) -> None:
        contents = [bytes([b]) for b in range(256)]
        vocabulary = Vocabulary(
            token_bytes=[*contents, None, *(piece.encode() for piece in self.pieces)],
            unknown_ids=frozenset({256}) if self.unknown else frozenset(),
            special_ids=frozenset() if self.unknown else frozenset({256}),
            byte_fallback_ids=frozenset(range(256)),
        )
        object.__setattr__(self, "vocabulary", vocabulary)
        parts = Fingerprint.of(
            vocabulary=list(vocabulary.token_bytes),
            options=[self.unknown, self.lowercase, self.prefix_space],
        )
        object.__setattr__(self, "fingerprint", parts)

    @property
    def byte_exact(self) -> bool:
        return not self.unknown and not self.lowercase

    @property
    def special_tokens(self) -> dict[str, int]:
        return {} if self.unknown else {"<end>": 256}

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        return self.encode_batch_with_offsets(texts)[0]

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        cut = [self._cut(text) for text in texts]
        return [[i for i, _ in one] for one in cut], [[span for _, span in one] for one in cut]

    def _cut(self, text: str) -> list[tuple[int, Span]]:
        if self.lowercase:
            text = text.lower()
        if self.prefix_space:
            return [
                (i, (max(start - 1, 0), end - 1)) for i, (start, end) in self._pieces(" " + text)
            ]
        return self._pieces(text)

    def _pieces(self, text: str) -> list[tuple[int, Span]]:
        found: list[tuple[int, Span]] = []
        at = 0
        while at < len(text):
            fitting = [p for p in self.pieces if text.startswith(p, at)]
            if fitting:
                best = max(fitting, key=len)
                found.append((257 + self.pieces.index(best), (at, at + len(best))))
                at += len(best)
                continue
            if self.unknown:
                found.append((256, (at, at + 1)))
            else:
                found += [(b, (at, at + 1)) for b in text[at].encode()]
            at += 1
        return found

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        contents = self.vocabulary.token_bytes
        texts = [b"".join(contents[i] or b"[?]" for i in one).decode() for one in ids]
        return [text.removeprefix(" ") if self.prefix_space else text for text in texts]


class Pieces(TokenizerPlugin):
    """Cut text greedily into the longest of a few pieces."""

    pieces: tuple[str, ...] = ()
    unknown: bool = False
    lowercase: bool = False
    prefix_space: bool = False

    def load(self, context: LoadContext) -> Greedy:
        return Greedy(**self.model_dump())


class InLibrary(TokenizerPlugin):
    """What another environment loads is a function of its library; here it is bytes."""

    factory: str

    def bare(self, context: LoadContext, folder: Path) -> dict[str, Any]:
        return {"library": "module", "factory": self.factory}

    def load(self, context: LoadContext) -> Greedy:
        return Greedy()


@dataclass(frozen=True, kw_only=True)
class Lenient(Greedy):
    """Takes lone surrogates for U+FFFD, where others refuse them."""

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        written = [t.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for t in texts]
        return Greedy.encode_batch(self, written)


class LenientPieces(Pieces):
    """Cut text as `Pieces` does, and take lone surrogates too."""

    def load(self, context: LoadContext) -> Lenient:
        return Lenient(**self.model_dump())


@dataclass(frozen=True, kw_only=True)
class SlowedTokenizer:
    """Another tokenizer that does a share of its work twice: the same ids, so much slower."""

    inner: Any
    factor: float

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        self.inner.encode_batch(beginning(texts, self.factor - 1))
        ids: Sequence[Ids] = self.inner.encode_batch(texts)
        return ids

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        self.inner.decode_batch(beginning(ids, self.factor - 1))
        texts: Sequence[str] = self.inner.decode_batch(ids)
        return texts


def beginning(documents: Sequence[Any], share: float) -> Sequence[Any]:
    """Return as many documents from the front as hold that share of all characters or ids."""
    wanted = share * sum(map(len, documents))
    for n, document in enumerate(documents):
        wanted -= len(document)
        if wanted < -len(document) / 2:
            return documents[:n]
    return documents


class Slowed(TokenizerPlugin):
    """A tokenizer.json that the `tokenizers` library runs, slowed down by a factor."""

    file: str
    factor: float = 1.0

    def load(self, context: LoadContext) -> SlowedTokenizer:
        kind = find(TokenizerPlugin, "huggingface")
        inner = kind.model_validate({"file": self.file}).load(context)
        return SlowedTokenizer(inner=inner, factor=self.factor)


How = Literal[
    "raise", "panic", "interrupt", "die", "crash", "hang", "hoard", "too_few", "beyond", "quote"
]
Where = Literal["load", "vocabulary", "encode", "decode", "pre_tokens"]


@dataclass(frozen=True, kw_only=True)
class Failing(Greedy):
    """Bytes, except where a word stands in the text."""

    word: str = "boom"
    how: How = "raise"
    where: Where = "encode"

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        if self.where == "encode" and any(self.word in text for text in texts):
            if self.how == "too_few":
                return []
            if self.how == "beyond":
                return [[999] for _ in texts]
            if self.how == "quote":
                raise ValueError(f"cannot encode {texts}")
            fail(self.how)
        return Greedy.encode_batch(self, texts)

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        texts = Greedy.decode_batch(self, ids)
        if self.where == "decode" and any(self.word in text for text in texts):
            fail(self.how)
        return texts

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[int]]]:
        if self.where == "pre_tokens" and any(self.word in text for text in texts):
            fail(self.how)
        ids = Greedy.encode_batch(self, texts)
        return ids, [[0] * len(one) for one in ids]


@dataclass(frozen=True, kw_only=True)
class BrokenVocabulary(Failing):
    """Loads, and fails when it is asked what its ids are."""

    @property
    def byte_exact(self) -> bool:
        raise RuntimeError("no vocabulary for you")


class Faulty(TokenizerPlugin):
    """Bytes; a text with `word` in it makes it fail in the way asked for."""

    word: str = "boom"
    how: How = "raise"
    where: Where = "encode"

    def load(self, context: LoadContext) -> Failing:
        if self.where == "load":
            fail(self.how)
        made = BrokenVocabulary if self.where == "vocabulary" else Failing
        return made(**self.model_dump())


@dataclass(frozen=True, kw_only=True)
class Bounded(Greedy):
    """Bytes up to a length of text; beyond it fails, or says less than it was given."""

    most: int = 0
    beyond: How | Literal["cut"] = "raise"

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        if self.beyond != "cut" and any(len(text) > self.most for text in texts):
            fail(self.beyond)
        return [list(text.encode()[: self.most]) for text in texts]


class Limited(TokenizerPlugin):
    """Bytes, of texts up to a length."""

    most: int
    beyond: How | Literal["cut"] = "raise"

    def load(self, context: LoadContext) -> Bounded:
        return Bounded(**self.model_dump())


def fail(how: How) -> None:
    """Do what a broken library does."""
    if how == "panic":
        raise PanicException("the regex engine ran out of stack")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "die":
        os._exit(7)
    if how == "crash":
        ctypes.string_at(0)
    if how == "hang":
        time.sleep(600)
    if how == "hoard":
        hoard = []
        while True:
            hoard.append(b"x" * 40_000_000)
            time.sleep(0.02)
    raise ValueError("cannot go on")


TOKENS_OF = MetricSpec(
    name="tokens_of", unit="tokens", direction="lower", definition="Tokens of a question."
)


class Questions(TokenizerSuite):
    """Ask for the tokens of each text, as often as there are rounds; where it fails, for none.

    `how` makes the suite itself fail after its last question; `until` makes it wait for a file
    before the first.
    """

    texts: tuple[str, ...] = ("a", "the boom", "bc")
    rounds: int = 1
    how: How | None = None
    until: str | None = None

    metrics: ClassVar[tuple[MetricSpec, ...]] = (TOKENS_OF,)

    def measure(self, examination: Examination) -> Iterator[Measurement]:
        while self.until is not None and not Path(self.until).exists():
            time.sleep(0.05)
        for subject in examination.subjects():
            for round_ in range(self.rounds):
                for text, ids in zip(self.texts, subject.ids(self.texts), strict=True):
                    yield Measurement(
                        metric=TOKENS_OF,
                        tokenizer=subject.key,
                        value=None if isinstance(ids, str) else len(ids),
                        reason="tokenizer_failed" if isinstance(ids, str) else None,
                        detail=ids if isinstance(ids, str) else None,
                        params={"text": text, "round": round_},
                    )
        if self.how is not None:
            fail(self.how)


class Pairs(SegmenterPlugin):
    """Every two characters between spaces are a word."""

    def version(self) -> str:
        return "toy 1.0"

    def load(self) -> Callable[[str], list[str]]:
        def cut(text: str) -> list[str]:
            return [part[i : i + 2] for part in text.split() for i in range(0, len(part), 2)]

        return cut


class MissingLibrary(Pairs):
    """A segmenter whose library is not there."""

    def version(self) -> str:
        raise InputError("segmenter toy_missing requires toylib, which is not installed")
