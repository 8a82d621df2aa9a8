"""Asking tokenizers: what suites work on that need more than counts.

Such a suite gets an `Examination`: the tallies and slices of the run, and every tokenizer as a
`Subject`, loaded when it is first asked for. A subject never raises for a text: a library that
fails on one of many leaves a failure in that text's place. What each suite asked is counted in
texts and bytes, so budgets are numbers of texts and results do not depend on the clock; CPU time
is kept apart under the suite's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bench.encode import Encoded, flatten, is_library_failure
from bench.environment import Stopwatch
from bench.errors import TokbenchError, TokenizerError
from bench.loading import TokenizerSource
from bench.model import (
    Finding,
    HasOffsets,
    HasPreTokens,
    HasSpecialTokens,
    Ids,
    IntArray,
    Measurement,
    Tokenizer,
)
from bench.plugins import TokenizerSuite
from bench.segment import grapheme_counts
from bench.slices import Slice, SliceBatch
from bench.tally import Tallies
from bench.words import Boundaries

Asking = TypeVar("Asking")
Answer = TypeVar("Answer")

InPreTokens = tuple[tuple[int, ...], tuple[int, ...]]
"""The ids of a text, and for each the number of its pre-token."""

KEEP_IDS = 1_200_000
"""Tokenizers stay loaded while their ids add up to no more than this; later ones take turns."""


@dataclass(frozen=True, kw_only=True)
class Trip:
    """One text there and back: its ids and what they decode to, or the failure on the way."""

    text: str
    ids: tuple[int, ...] = ()
    back: str = ""
    failure: str | None = None

    @property
    def exact(self) -> bool:
        """Whether the text came back as it was."""
        return self.failure is None and self.back == self.text


@dataclass(kw_only=True)
class Asked:
    """How much a suite has asked for: calls are per text, bytes are those encoded."""

    texts: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A loaded tokenizer that answers for every text."""

    key: str
    tokenizer: Tokenizer
    asked: Asked = field(default_factory=Asked)

    @property
    def spellings(self) -> frozenset[str]:
        """How its special tokens are spelled; empty where it does not say."""
        if not isinstance(self.tokenizer, HasSpecialTokens):
            return frozenset()
        return frozenset(self.tokenizer.special_tokens) - {""}

    def ids(self, texts: Sequence[str]) -> list[tuple[int, ...] | str]:
        """Return the ids of each text, or in their place what the library failed with."""
        self.asked.texts += len(texts)
        self.asked.bytes += sum(len(t.encode("utf-8", "surrogatepass")) for t in texts)
        return _each(_encode(self.tokenizer), texts)

    def in_pre_tokens(self, texts: Sequence[str]) -> list[InPreTokens | str]:
        """Return ids and their pre-tokens' numbers of each text, or what the library failed with.

        Of tokenizers that are `HasPreTokens` only.
        """
        self.asked.texts += len(texts)
        self.asked.bytes += sum(len(t.encode("utf-8", "surrogatepass")) for t in texts)
        return _each(_encode_in_pre_tokens(self.tokenizer), texts)

    def texts(self, ids: Sequence[Sequence[int]]) -> list[tuple[str] | str]:
        """Return the text of each list of ids in a tuple of one, or what the library failed with."""
        self.asked.texts += len(ids)
        return _each(_decode(self.tokenizer), ids)

    def trips(self, texts: Sequence[str]) -> list[Trip]:
        """Encode and decode each text."""
        ids = self.ids(texts)
        good = [one for one in ids if not isinstance(one, str)]
        backs = iter(self.texts(good))
        return [
            Trip(text=text, failure=one) if isinstance(one, str) else _trip(text, one, next(backs))
            for text, one in zip(texts, ids, strict=True)
        ]

    def cuts(self, texts: Sequence[str]) -> tuple[SliceBatch, Encoded, Boundaries]:
        """Return where tokens lie in the texts' joined UTF-8, by offsets where bytes do not tell.

        Raises `TokenizerError` when the library fails; `known` is false for a text without places.
        """
        batch = batch_of(texts)
        try:
            return self._cuts(batch)
        except BaseException as exc:
            if not is_library_failure(exc):
                raise
            raise TokenizerError(f"tokenizer {self.key}: {_named(exc)}") from exc

    def _cuts(self, batch: SliceBatch) -> tuple[SliceBatch, Encoded, Boundaries]:
        tokenizer = self.tokenizer
        self.asked.texts += len(batch.texts)
        self.asked.bytes += len(batch.buffer)
        if not tokenizer.byte_exact and isinstance(tokenizer, HasOffsets):
            returned, spans = tokenizer.encode_batch_with_offsets(batch.texts)
            encoded = flatten(returned)
            return batch, encoded, Boundaries.from_spans(batch, spans, encoded)
        encoded = flatten(tokenizer.encode_batch(batch.texts))
        boundaries, breached = Boundaries.from_bytes(batch, encoded, tokenizer)
        if breached.any() and isinstance(tokenizer, HasOffsets):
            again = np.flatnonzero(breached)
            chosen = [batch.texts[i] for i in again.tolist()]
            spans = tokenizer.encode_batch_with_offsets(chosen)[1]
            boundaries = boundaries.with_spans(batch, again, spans, encoded)
        return batch, encoded, boundaries


def _trip(text: str, ids: tuple[int, ...], back: tuple[str] | str) -> Trip:
    if isinstance(back, str):
        return Trip(text=text, ids=ids, failure=back)
    return Trip(text=text, ids=ids, back=back[0])


def _encode(tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[tuple[int, ...]]]:
    return lambda texts: [_plain(ids) for ids in tokenizer.encode_batch(list(texts))]


def _encode_in_pre_tokens(
    tokenizer: Tokenizer,
) -> Callable[[Sequence[str]], list[InPreTokens]]:
    assert isinstance(tokenizer, HasPreTokens)
    encode = tokenizer.encode_batch_in_pre_tokens

    def call(texts: Sequence[str]) -> list[InPreTokens]:
        ids, numbers = encode(list(texts))
        return [(_plain(one), tuple(many)) for one, many in zip(ids, numbers, strict=True)]

    return call


def _plain(ids: Ids) -> tuple[int, ...]:
    return tuple(ids.tolist()) if isinstance(ids, np.ndarray) else tuple(ids)


def _decode(tokenizer: Tokenizer) -> Callable[[Sequence[Sequence[int]]], list[tuple[str]]]:
    return lambda ids: [(t,) for t in tokenizer.decode_batch([list(one) for one in ids])]


def _each(
    call: Callable[[Sequence[Asking]], list[Answer]], items: Sequence[Asking]
) -> list[Answer | str]:
    """Call on all items at once; where that fails, on halves, down to the one that fails."""
    if not items:
        return []
    try:
        answers = call(items)
        if len(answers) != len(items):
            raise TokenizerError(f"{len(answers)} answers to {len(items)} texts")
        return list(answers)
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        if len(items) == 1:
            return [_named(exc)]
    half = len(items) // 2
    return _each(call, items[:half]) + _each(call, items[half:])


def _named(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {exc}"[:300]


def batch_of(texts: Sequence[str]) -> SliceBatch:
    """Return texts that are in no slice as a batch, without words.

    >>> batch_of(["é", "ab"]).offsets.tolist()
    [0, 2, 4]
    """
    encoded = [text.encode() for text in texts]
    offsets: IntArray = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(data) for data in encoded], out=offsets[1:])
    return SliceBatch(
        first_row=0,
        ids=[str(i) for i in range(len(texts))],
        texts=list(texts),
        buffer=np.frombuffer(b"".join(encoded), np.uint8),
        offsets=offsets,
        characters=np.array([len(text) for text in texts], np.int64),
        graphemes=grapheme_counts(texts),
        word_starts=None,
        word_ends=None,
        word_leads=None,
        word_offsets=None,
    )


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The input of a suite that asks tokenizers."""

    tallies: Tallies
    slices: Mapping[tuple[str, str], Slice]
    sources: Mapping[str, TokenizerSource]
    seed: int
    progress: Callable[[str], None]
    watch: Stopwatch
    asked: Asked = field(default_factory=Asked)
    _kept: dict[str, Subject] = field(default_factory=dict)
    _last: dict[str, Subject] = field(default_factory=dict)

    def keys(self) -> list[str]:
        """Return the tokenizers of the run that could be loaded, in the order of the config."""
        return list(self.tallies.tokenizers)

    def subjects(self) -> Iterator[Subject]:
        """Yield every tokenizer of the run, loaded one after the other."""
        for key in self.keys():
            self.progress(f"asking {key}")
            yield self.subject(key)

    def subject(self, key: str) -> Subject:
        """Return one tokenizer, loaded if need be; raise `TokenizerError` when it cannot be."""
        found = self._kept.get(key) or self._last.get(key)
        if found is None:
            self._last.clear()  # before the next one is loaded, so that both never lie in memory
            with self.watch.section("load"):
                found = Subject(key=key, tokenizer=self.sources[key].load(), asked=self.asked)
            self._keep(found)
        return found

    def _keep(self, subject: Subject) -> None:
        kept = sum(one.tokenizer.vocabulary.n_ids for one in self._kept.values())
        room = kept + subject.tokenizer.vocabulary.n_ids <= KEEP_IDS
        (self._kept if room else self._last)[subject.key] = subject

    def documents(
        self, corpus: str, language: str, rows: npt.NDArray[np.int64]
    ) -> Iterator[tuple[IntArray, list[str]]]:
        """Yield (rows, texts) of the wanted rows of a slice, a batch at a time, in order."""
        wanted = np.sort(rows)
        if not wanted.size:
            return
        for batch in self.slices[corpus, language].batches():
            first = np.searchsorted(wanted, batch.first_row)
            last = np.searchsorted(wanted, batch.first_row + len(batch.ids))
            if last > first:
                mine = wanted[first:last]
                yield mine, [batch.texts[i - batch.first_row] for i in mine.tolist()]


def examine(
    suites: Mapping[str, TokenizerSuite], examination: Examination
) -> tuple[list[Measurement], list[Finding], dict[str, dict[str, int]]]:
    """Run the suites one after the other.

    Returns values, findings, and what each suite asked for. A suite that cannot go on leaves a
    finding of kind ``failure``; what it found before stays.
    """
    measurements: list[Measurement] = []
    findings: list[Finding] = []
    asked: dict[str, dict[str, int]] = {}
    for name, suite in suites.items():
        examination.progress(f"suite {name}")
        before = Asked(texts=examination.asked.texts, bytes=examination.asked.bytes)
        with examination.watch.section(name):
            for item in _guarded(name, suite.measure(examination)):
                (findings if isinstance(item, Finding) else measurements).append(item)  # type: ignore[arg-type]
        asked[name] = {
            "texts": examination.asked.texts - before.texts,
            "bytes": examination.asked.bytes - before.bytes,
        }
    return measurements, findings, asked


def _guarded(name: str, items: Iterable[Measurement | Finding]) -> Iterator[Measurement | Finding]:
    try:
        yield from items
    except TokbenchError as exc:
        yield Finding(kind="failure", suite=name, message=str(exc))
