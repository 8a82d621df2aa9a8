"""What tokens cut: words that end inside a token, tokens over several words, split characters.

Token boundaries are positions in the batch's concatenated UTF-8, those that count words too. Tokens
of one document may overlap (pieces of one character that a tokenizer reports with the span of all
of it); such an overlap is a boundary inside a character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus import segment
from tokbench.bench.count.words import Boundaries
from tokbench.bench.model import IntArray

if TYPE_CHECKING:
    from tokbench.bench.corpus.slice_file import SliceBatch
    from tokbench.bench.count.encoded import Encoded

Places = npt.NDArray[np.integer]


def count_cuts(batch: SliceBatch, boundaries: Boundaries, encoded: Encoded) -> dict[str, IntArray]:
    """Return the columns of `tally.CUT_COLUMNS`, each of shape (n,)."""
    tokens = _Tokens(boundaries, encoded)
    columns = {"placed": boundaries.known.astype(np.int64)}
    columns |= _characters(batch, tokens)
    return columns | _words(batch, boundaries, tokens)


class _Tokens:
    """Tokens with a place and at least one byte, in the order of the text."""

    def __init__(self, boundaries: Boundaries, encoded: Encoded) -> None:
        starts, ends = boundaries.starts, boundaries.ends
        placed = ends > starts
        self.documents: Places = encoded.offsets
        """First token of each document and one past the last; shape (n + 1,)."""
        if not placed.all():
            starts, ends = starts[placed], ends[placed]
            self.documents = np.searchsorted(np.flatnonzero(placed), encoded.offsets)
        if not boundaries.partition and not (starts[1:] >= starts[:-1]).all():
            order = np.argsort(starts, kind="stable")
            starts, ends = starts[order], ends[order]
        self.starts: Places = starts
        self.ends: Places = ends
        self.partition = boundaries.partition

    def per_document(self, chosen: npt.NDArray[np.bool_]) -> IntArray:
        """Count the chosen tokens of each document."""
        return np.diff(np.searchsorted(np.flatnonzero(chosen), self.documents))

    def begin_inside(self, buffer: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Whether each token begins inside a character."""
        inside: npt.NDArray[np.bool_] = (buffer.take(self.starts) & 0xC0) == 0x80
        if not self.partition and len(self.starts):
            inside[1:] |= self.starts[1:] < np.maximum.accumulate(self.ends)[:-1]
        return inside


def _characters(batch: SliceBatch, tokens: _Tokens) -> dict[str, IntArray]:
    inside = tokens.begin_inside(batch.buffer)
    if not inside.any() and (batch.graphemes == batch.characters).all():
        none = np.zeros(len(batch.ids), np.int64)
        return dict.fromkeys(
            ("tokens_inside_character", "split_characters", "split_graphemes"), none
        )
    touched = inside.copy()
    touched[:-1] |= inside[1:]
    character = np.cumsum((batch.buffer & 0xC0) != 0x80, dtype=np.int32).take(tokens.starts) - 1
    edges = np.concatenate(([0], np.cumsum(batch.characters)))
    split = _distinct(character[inside], edges)
    return {
        "tokens_inside_character": tokens.per_document(touched),
        "split_characters": split,
        "split_graphemes": _split_graphemes(batch, tokens, character, inside, split),
    }


def _distinct(places: Places, edges: IntArray) -> IntArray:
    """Count the different places between two edges; places ascend."""
    return np.diff(np.searchsorted(places[np.diff(places, prepend=-1) > 0], edges))


def _split_graphemes(
    batch: SliceBatch,
    tokens: _Tokens,
    character: Places,
    inside: npt.NDArray[np.bool_],
    split_characters: IntArray,
) -> IntArray:
    """Count the clusters with a boundary inside: of their characters, or between two of them.

    Where clusters are single characters they are the characters that are split.
    """
    some = batch.graphemes != batch.characters
    if not some.any():
        return split_characters
    texts = [batch.texts[i] for i in np.flatnonzero(some).tolist()]
    first, begins = segment.cluster_begins(texts)
    before = np.concatenate(([0], np.cumsum(batch.characters)[:-1]))
    n_tokens = np.diff(tokens.documents)
    chosen = np.repeat(some, n_tokens)
    moved = character[chosen] + np.repeat(first - before[some], n_tokens[some])
    cluster = np.cumsum(begins)
    cut = cluster[moved[inside[chosen] | ~begins[moved]]]
    counts = split_characters.copy()
    edges = np.append(cluster[first.clip(max=len(cluster) - 1)], len(cluster) + 1)
    counts[some] = _distinct(cut, edges)
    return counts


def _words(batch: SliceBatch, boundaries: Boundaries, tokens: _Tokens) -> dict[str, IntArray]:
    if batch.word_starts is None or batch.word_ends is None or batch.word_offsets is None:
        none = np.zeros(len(batch.ids), np.int64)
        return {"word_ends_inside": none, "multi_word_tokens": none}
    starts, ends, edges = batch.word_starts, batch.word_ends, batch.word_offsets
    known = boundaries.known
    if not known.all():
        keep = np.repeat(known, np.diff(edges))
        starts, ends = starts[keep], ends[keep]
        edges = np.concatenate(([0], np.cumsum(np.where(known, np.diff(edges), 0))))
    if tokens.partition:
        inside, joined = _in_partition(tokens, starts, ends, len(batch.buffer))
        several = _between(joined, edges)
    else:
        inside, joined = _in_spans(tokens, starts, ends)
        several = tokens.per_document(joined)
    return {"word_ends_inside": _between(inside, edges), "multi_word_tokens": several}


def _between(chosen: npt.NDArray[np.bool_], edges: Places) -> IntArray:
    """Count the chosen ones between two edges."""
    return np.diff(np.searchsorted(np.flatnonzero(chosen), edges))


def _in_partition(
    tokens: _Tokens, starts: Places, ends: Places, n_bytes: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which words end inside a token, and which end the second word of a token.

    The token of every byte is known when tokens follow each other.
    """
    begins = np.zeros(n_bytes + 1, np.bool_)
    begins[tokens.starts] = True
    begins[n_bytes] = True
    token = np.cumsum(begins, dtype=np.int32)
    last = token.take(ends - 1)
    joined = np.zeros(len(starts), np.bool_)
    joined[1:] = last[:-1] == token.take(starts[1:])
    second = joined.copy()
    second[2:] &= ~(joined[1:-1] & (last[1:-1] == last[:-2]))
    return ~begins.take(ends), second


def _in_spans(
    tokens: _Tokens, starts: Places, ends: Places
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which words end inside a token, and which tokens overlap two or more words."""
    token_ends = tokens.ends
    if not (token_ends[1:] >= token_ends[:-1]).all():
        token_ends = np.sort(token_ends)
    begun = np.searchsorted(tokens.starts, ends, "left")
    inside = begun > np.searchsorted(token_ends, ends, "right")
    first = np.searchsorted(ends, tokens.starts, "right")
    return inside, np.searchsorted(starts, tokens.ends, "left") - first > 1
