"""Input of suites that call tokenizers, for values that need more than counts.

Such a suite gets an `Examination`: one tokenizer as a `Subject`, or those that it asks together,
with what was counted of them and the slices of the run. A subject never raises for a text: a
library that fails on one of many leaves a failure in that text's place. What each suite asked is
counted in texts and bytes, so budgets are numbers of texts and results do not depend on the
clock. `tokbench.bench.run.suite_task` runs suites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus.slice_file import Slice, SliceBatch
from tokbench.bench.count.encoded import Encoded, flatten
from tokbench.bench.count.loose_texts import batch_of
from tokbench.bench.count.stats import seed_of
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell
from tokbench.bench.count.words import Boundaries
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import (
    Finding,
    HasOffsets,
    HasPreTokens,
    HasSpecialTokens,
    Ids,
    IntArray,
    Measurement,
    Place,
    Tokenizer,
)
from tokbench.bench.plugins import SuitePlugin
from tokbench.bench.workers.guarded_calls import Calls

Cuts = tuple[SliceBatch, Encoded, Boundaries]
"""Texts, their ids, and where tokens lie in the texts' joined UTF-8."""

InPreTokens = tuple[tuple[int, ...], tuple[int, ...]]
"""The ids of a text, and for each the number of its pre-token."""


EncodeBatch = Callable[[Sequence[str]], Sequence[Ids]]
"""A call that returns the ids of each text."""


@dataclass(frozen=True, kw_only=True)
class Trip:
    """The round trip of one text: its ids and what they decode to, or the failure."""

    text: str
    ids: tuple[int, ...] = ()
    back: str = ""
    failure: str | None = None

    @property
    def exact(self) -> bool:
        """Whether the text survived unchanged."""
        return self.failure is None and self.back == self.text


@dataclass(kw_only=True)
class Asked:
    """Usage of a suite: calls are per text, bytes are those encoded."""

    texts: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A loaded tokenizer that answers for every text."""

    key: str
    tokenizer: Tokenizer
    asked: Asked = field(default_factory=Asked)
    calls: Calls = field(default_factory=Calls)

    @property
    def spellings(self) -> frozenset[str]:
        """Spellings of its special tokens; empty if not available."""
        if not isinstance(self.tokenizer, HasSpecialTokens):
            return frozenset()
        return frozenset(self.tokenizer.special_tokens) - {""}

    def ids(
        self, texts: Sequence[str], encode: EncodeBatch | None = None
    ) -> list[tuple[int, ...] | str]:
        """Return the ids of each text, or the library's failure in their place.

        `encode` is a call of the tokenizer to use in place of `encode_batch`.
        """
        self.asked.texts += len(texts)
        self.asked.bytes += sum(len(t.encode("utf-8", "surrogatepass")) for t in texts)
        return self.calls.each(
            self.key, "encode", _encode(encode or self.tokenizer.encode_batch), texts
        )

    def in_pre_tokens(self, texts: Sequence[str]) -> list[InPreTokens | str]:
        """Return ids and pre-token numbers of each text, or the library's failure.

        Of tokenizers that are `HasPreTokens` only.
        """
        self.asked.texts += len(texts)
        self.asked.bytes += sum(len(t.encode("utf-8", "surrogatepass")) for t in texts)
        call = _encode_in_pre_tokens(self.tokenizer)
        return self.calls.each(self.key, "cut", call, texts)

    def texts(self, ids: Sequence[Sequence[int]]) -> list[tuple[str] | str]:
        """Return the text of each list of ids in a tuple of one, or the library's failure."""
        self.asked.texts += len(ids)
        return self.calls.each(
            self.key, "decode", _decode(self.tokenizer), [tuple(one) for one in ids]
        )

    def trips(self, texts: Sequence[str]) -> list[Trip]:
        """Encode and decode each text."""
        ids = self.ids(texts)
        good = [one for one in ids if not isinstance(one, str)]
        backs = iter(self.texts(good))
        return [
            Trip(text=text, failure=one) if isinstance(one, str) else _trip(text, one, next(backs))
            for text, one in zip(texts, ids, strict=True)
        ]

    def cuts(self, texts: Sequence[str]) -> Cuts:
        """Return where tokens lie in the texts' joined UTF-8, by offsets if bytes are not conclusive.

        Raises `TokenizerError` if the library fails; `known` is false for a text without token
        positions.
        """
        if self.calls.next_is_careful:  # one of the texts cost a process: find out which
            for answer in self.ids(texts):
                if isinstance(answer, str):
                    raise TokenizerError(f"tokenizer {self.key}: {answer}")

        def cut(items: Sequence[tuple[str, ...]]) -> list[Cuts]:
            return [self._cuts(batch_of(item)) for item in items]

        [found] = self.calls.each(self.key, "place", cut, [tuple(texts)])
        if isinstance(found, str):
            raise TokenizerError(f"tokenizer {self.key}: {found}")
        return found

    def _cuts(self, batch: SliceBatch) -> Cuts:
        tokenizer = self.tokenizer
        self.asked.texts += len(batch.texts)
        self.asked.bytes += len(batch.buffer)
        if not tokenizer.byte_exact and isinstance(tokenizer, HasOffsets):
            returned, spans = tokenizer.encode_batch_with_offsets(batch.texts)
            encoded = flatten(returned)
            return batch, encoded, Boundaries.from_spans(batch, spans, encoded)
        encoded = flatten(tokenizer.encode_batch(batch.texts))
        lengths = np.abs(tokenizer.vocabulary.sizes.take(encoded.ids))
        boundaries, breached = Boundaries.from_bytes(batch, encoded, tokenizer, lengths)
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


def _encode(encode: EncodeBatch) -> Callable[[Sequence[str]], list[tuple[int, ...]]]:
    return lambda texts: [_plain(ids) for ids in encode(list(texts))]


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


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The input of a suite that calls tokenizers: those of one examination."""

    tallies: Tallies
    """The counts of these tokenizers."""
    slices: Mapping[Place, Slice]
    tokenizers: Mapping[str, Tokenizer]
    seed: int
    calls: Calls = field(default_factory=Calls)
    asked: Asked = field(default_factory=Asked)
    folder: Path = Path()
    """Folder that relative paths in the config start from."""

    def subjects(self) -> Iterator[Subject]:
        """Yield every tokenizer, in the order of the config."""
        for key in self.tokenizers:
            yield self.subject(key)

    def subject(self, key: str) -> Subject:
        """Return one tokenizer."""
        return Subject(key=key, tokenizer=self.tokenizers[key], asked=self.asked, calls=self.calls)

    def drawn(self, cell: Cell, documents: int, purpose: str) -> IntArray:
        """Draw rows of a cell, sorted: the same for every tokenizer and every aligned language."""
        facts = self.tallies.facts(cell.key)
        owner = facts.corpus if facts.aligned else f"{facts.corpus}/{facts.language}"
        rng = np.random.Generator(np.random.PCG64(seed_of(self.seed, owner, purpose)))
        chosen = rng.permutation(len(facts.document_ids))[:documents]
        return np.intersect1d(chosen, cell.tally.rows).astype(np.int64)

    def documents(
        self, corpus: str, language: str, rows: npt.NDArray[np.int64]
    ) -> Iterator[tuple[IntArray, list[str]]]:
        """Yield (rows, texts) of the wanted rows of a slice, a batch at a time, in order."""
        wanted = np.sort(rows)
        if not wanted.size:
            return
        for batch in self.slices[Place(corpus, language)].batches():
            first = np.searchsorted(wanted, batch.first_row)
            last = np.searchsorted(wanted, batch.first_row + len(batch.ids))
            if last > first:
                mine = wanted[first:last]
                yield mine, [batch.texts[i - batch.first_row] for i in mine.tolist()]


class TokenizerSuite(SuitePlugin):
    """A suite that calls the tokenizers themselves, after everything is counted.

    It runs in the tokenizer's own worker process, so a crash affects nothing else. Its cost is
    bounded by its options, in texts and not in seconds, so that the same inputs produce the same
    results; its CPU time is recorded separately.
    """

    def together(self, tokenizers: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the groups of tokenizers to examine together: by default each alone."""
        return [(key,) for key in tokenizers]

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the rows and findings of one examination."""
        raise NotImplementedError

    def compare(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return rows and findings from the counts of all tokenizers, without calling one."""
        return ()
