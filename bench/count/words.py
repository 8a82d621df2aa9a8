"""Where tokens end in a text, and how they cut its words.

Positions are bytes of a batch's concatenated UTF-8, so one array holds the boundaries of all
documents. Words are never encoded on their own: a token at the start of a sentence may differ
from the same word's token elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.model import IntArray, Span, Tokenizer

if TYPE_CHECKING:
    from tokbench.bench.corpus.slice_file import SliceBatch
    from tokbench.bench.count.encoded import Encoded


@dataclass(frozen=True, kw_only=True)
class Boundaries:
    """First and one-past-last byte of each token of a batch, shape (n_tokens,).

    `known[i]` says whether document i has boundaries at all. `partition` is true when tokens
    of every known document follow each other without gap or overlap.
    """

    starts: npt.NDArray[Any]
    ends: npt.NDArray[Any]
    known: npt.NDArray[np.bool_]
    partition: bool

    @classmethod
    def from_bytes(
        cls,
        batch: SliceBatch,
        encoded: Encoded,
        tokenizer: Tokenizer,
        lengths: npt.NDArray[Any],
    ) -> tuple[Boundaries, npt.NDArray[np.bool_]]:
        """Place tokens by the bytes of their ids: `lengths`, one for each token.

        A space that the model put before the text is taken off the first token. Also returns
        the documents whose token bytes do not add up to their bytes, shape (n,).
        """
        running = _running(lengths)
        excess = np.diff(running[encoded.offsets]) - np.diff(batch.offsets)
        if tokenizer.prefix_space and excess.any():
            prefixed = _prefixed(excess, encoded, tokenizer)
            excess -= prefixed
            # the space goes from the document's first token, which moves all that follow
            lengths = lengths.copy()
            lengths[encoded.offsets[:-1][prefixed]] -= 1
            running = _running(lengths)
        breached = excess != 0
        starts, ends = running[:-1], running[1:]
        if breached.any():
            # Their tokens have no place: they are empty, where their document begins. Those of
            # later documents move back to theirs.
            shift = np.repeat(batch.offsets[:-1] - running[encoded.offsets[:-1]], encoded.lengths)
            starts, ends = starts + shift, ends + shift
            lost = np.repeat(breached, encoded.lengths)
            starts[lost] = ends[lost] = np.repeat(batch.offsets[:-1], encoded.lengths)[lost]
        whole = not breached.any()
        return cls(starts=starts, ends=ends, known=~breached, partition=whole), breached

    @classmethod
    def from_spans(
        cls, batch: SliceBatch, spans: Sequence[Sequence[Span]], encoded: Encoded
    ) -> Boundaries:
        """Place tokens by the code points that the tokenizer reports for them."""
        starts, ends = _spans_in_bytes(batch, spans, np.arange(len(batch.ids)), encoded.lengths)
        known = np.ones(len(batch.ids), np.bool_)
        return cls(starts=starts, ends=ends, known=known, partition=False)

    def with_spans(
        self,
        batch: SliceBatch,
        documents: IntArray,
        spans: Sequence[Sequence[Span]],
        encoded: Encoded,
    ) -> Boundaries:
        """Return boundaries where some documents are placed by spans instead."""
        counts = encoded.lengths[documents]
        starts, ends = _spans_in_bytes(batch, spans, documents, counts)
        chosen = np.zeros(len(batch.ids), np.bool_)
        chosen[documents] = True
        of_token = np.repeat(chosen, encoded.lengths)
        new_starts, new_ends = self.starts.copy(), self.ends.copy()
        new_starts[of_token], new_ends[of_token] = starts, ends
        known = self.known | chosen
        return replace(self, starts=new_starts, ends=new_ends, known=known, partition=False)


def _running(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Add lengths up; in 32 bits where the sum surely fits, which takes two thirds of the time."""
    fits = len(lengths) * int(lengths.max(initial=0)) < 1 << 31
    kind = np.int32 if fits else np.int64
    total = np.zeros(len(lengths) + 1, kind)
    np.cumsum(lengths, dtype=kind, out=total[1:])
    return total


_BELOW = (np.uint64(1) << np.arange(64, dtype=np.uint64)) - np.uint64(1)
"""Entry b has the bits below b."""


class _MarkedPositions:
    """Which of ``n + 1`` positions are marked, and how many are below any of them.

    Positions are bits of 64-bit words, and only the marks before each word are added up: the rest
    is counted on demand (rank as in Jacobson 1989). Adding up at every position takes half as long
    again.
    """

    def __init__(self, marked: npt.NDArray[Any], n: int) -> None:
        self._is_marked = np.zeros(((n >> 6) + 1) << 6, np.bool_)
        self._is_marked[marked] = True
        self._is_marked[n] = True
        self._bits = np.packbits(self._is_marked, bitorder="little").view("<u8")
        per_word = np.bitwise_count(self._bits)
        self._before = np.cumsum(per_word, dtype=np.int64) - per_word

    def at(self, positions: IntArray) -> npt.NDArray[np.bool_]:
        """Whether each position is marked."""
        return self._is_marked.take(positions)

    def below(self, positions: IntArray) -> IntArray:
        """Count the marks below each position, itself left out."""
        word = positions >> 6
        inside = self._bits.take(word) & _BELOW.take(positions & 63)
        counted: IntArray = self._before.take(word) + np.bitwise_count(inside)
        return counted


def _prefixed(excess: IntArray, encoded: Encoded, tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """Return which documents have one byte too many and begin with a space, shape (n,)."""
    prefixed: npt.NDArray[np.bool_] = (encoded.lengths > 0) & (excess == 1)
    first = encoded.ids[encoded.offsets[:-1][prefixed]]
    prefixed[prefixed] = tokenizer.vocabulary.starts_with_space.take(first)
    return prefixed


def _spans_in_bytes(
    batch: SliceBatch, spans: Sequence[Sequence[Span]], documents: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray]:
    flat = np.fromiter(
        itertools.chain.from_iterable(itertools.chain.from_iterable(spans)),
        np.int64,
        2 * int(counts.sum()),
    ).reshape(-1, 2)
    byte_of_character = np.flatnonzero((batch.buffer & 0xC0) != 0x80)
    byte_of_character = np.append(byte_of_character, len(batch.buffer))
    first_character = np.zeros(len(batch.characters) + 1, np.int64)
    np.cumsum(batch.characters, out=first_character[1:])
    base = np.repeat(first_character[documents], counts)
    limit = np.repeat(first_character[documents + 1], counts)
    starts = byte_of_character[np.minimum(flat[:, 0] + base, limit)]
    ends = byte_of_character[np.minimum(flat[:, 1] + base, limit)]
    return starts, np.maximum(starts, ends)


def count_words(batch: SliceBatch, boundaries: Boundaries) -> dict[str, IntArray]:
    """Return per document: words, tokens overlapping them, words cut, words that are one token.

    A word that no token overlaps counts as one token: text that vanished is not cheap.
    """
    assert batch.word_starts is not None
    assert batch.word_ends is not None
    assert batch.word_leads is not None
    assert batch.word_offsets is not None
    starts, ends, leads = batch.word_starts, batch.word_ends, batch.word_leads
    edges = batch.word_offsets
    if not boundaries.known.all():
        keep = np.repeat(boundaries.known, np.diff(edges))
        starts, ends, leads = starts[keep], ends[keep], leads[keep]
        edges = _running(np.where(boundaries.known, np.diff(edges), 0).astype(np.int32))
    count = _in_partition if boundaries.partition else _in_spans
    overlaps, whole = count(boundaries, starts, ends, leads, len(batch.buffer))
    overlaps = np.maximum(overlaps, 1)
    return {
        "words": np.diff(edges),
        "word_tokens": np.diff(_running(overlaps)[edges]),
        "continued_words": np.diff(np.searchsorted(np.flatnonzero(overlaps > 1), edges)),
        "single_token_words": np.diff(np.searchsorted(np.flatnonzero(whole), edges)),
    }


def _in_partition(
    boundaries: Boundaries, starts: IntArray, ends: IntArray, leads: IntArray, n_bytes: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Count the tokens that overlap each word: one, and each that begins inside it.

    A word is one token if none begins inside it, one begins in the white space before it or with
    it, and the next one where it ends.
    """
    begins = _MarkedPositions(boundaries.starts, n_bytes)
    inside = begins.below(ends) - begins.below(starts + 1)
    whole = (inside == 0) & begins.at(ends)
    some = np.flatnonzero(whole)
    whole[some] = begins.below(starts[some] + 1) > begins.below(leads[some])
    return inside + 1, whole


def _in_spans(
    boundaries: Boundaries, starts: IntArray, ends: IntArray, leads: IntArray, n_bytes: int
) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Count the spans that overlap each word; spans may leave gaps, repeat or be empty."""
    some = boundaries.ends > boundaries.starts
    token_starts, token_ends = boundaries.starts[some], boundaries.ends[some]
    if not _ascends(token_starts):
        order = np.argsort(token_starts, kind="stable")
        token_starts, token_ends = token_starts[order], token_ends[order]
    sorted_ends = token_ends if _ascends(token_ends) else np.sort(token_ends)
    first = np.searchsorted(sorted_ends, starts, "right")
    overlaps = np.searchsorted(token_starts, ends, "left") - first
    inside = np.minimum(first, max(len(token_starts) - 1, 0))
    whole = overlaps == 1
    if len(token_starts):
        whole &= (token_starts[inside] >= leads) & (token_ends[inside] == ends)
        whole &= token_starts[inside] <= starts
    return overlaps, whole


def _ascends(values: IntArray) -> bool:
    return bool((values[1:] >= values[:-1]).all())
