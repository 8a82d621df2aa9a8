"""BPE over characters for many new words at once: their characters as tokens, then `merging`.

Where no piece reaches across the seam between two characters no join ever will, so what lies on
either side is merged alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import HashFilter, Words
from tokbench.tokenizers_impl.merging import PairRanks, Tokens, merged
from tokbench.tokenizers_impl.sentencepiece.pieces import Pieces
from tokbench.tokenizers_impl.sentencepiece.text import fallback_bytes

Ints = npt.NDArray[np.int64]
Split = Callable[[str], Sequence[str]]
"""Cuts a word into its pieces."""


class CharacterMerger:
    """Merges words together.

    Tokens are the ids of pieces; a character that is none, but part of one, has a number after
    them. `split` merges a word by itself.
    """

    def __init__(self, pieces: Pieces, ranks: Mapping[str, int], split: Split) -> None:
        self._pieces = pieces
        self._split = split
        self._n_ids = len(pieces.texts)
        inner = dict.fromkeys(character for piece in ranks for character in piece)
        extra = (character for character in inner if character not in pieces.learned)
        self._symbols = {
            **pieces.learned,
            **{character: self._n_ids + i for i, character in enumerate(extra)},
        }
        pad = self._n_ids + len(inner)
        self._pairs = _pair_ranks(ranks, self._symbols, pad)
        self._held = _held_together(ranks)
        single = [symbol for symbol in self._symbols if len(symbol) == 1]
        self._by_code = np.full(max(map(ord, single), default=0) + 2, pad, np.int32)
        for symbol in single:
            self._by_code[ord(symbol)] = self._symbols[symbol]

    def merge(self, words: Sequence[str]) -> tuple[Tokens, Ints]:
        """Return the ids of words, none empty, one after the other, and how many each has.

        Unknown characters have the unknown id each, or with byte fallback the ids of their bytes.
        """
        text = "".join(words)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        ends = np.cumsum(sizes)
        tokens = self._by_code.take(np.minimum(codes, len(self._by_code) - 1).astype(np.int64))
        begin = self._part_starts(codes, ends - sizes)
        lengths = np.diff(begin, append=len(codes))
        longer = lengths > 1
        out = self._merged(text, tokens, begin[longer], lengths[longer])
        alone = begin[~longer]
        out[alone] = tokens[alone]
        at = np.flatnonzero(out >= 0)
        ids, counts = self._with_unknown(out.take(at), codes.take(at))
        per_character = np.zeros(len(codes), np.int64)
        per_character[at] = counts
        return ids, np.add.reduceat(per_character, ends - sizes)

    def _merged(self, text: str, tokens: Tokens, begin: Ints, lengths: Ints) -> Tokens:
        ranks = self._pairs.look_up(tokens, np.append(tokens[1:], self._pairs.pad))

        def one(number: int) -> list[int]:
            low = int(begin[number])
            parts = self._split(text[low : low + int(lengths[number])])
            return [token for part in parts for token in self._spread(part)]

        return merged(tokens, ranks, begin, lengths, self._pairs, one)

    def _spread(self, part: str) -> Iterator[int]:
        yield self._symbols.get(part, int(self._pairs.pad))
        for _ in part[1:]:
            yield -1

    def _part_starts(self, codes: npt.NDArray[np.uint32], begin: Ints) -> Ints:
        starts = np.append(True, ~self._held.may_hold(_pair(codes[:-1], codes[1:])))
        starts[begin] = True
        return np.flatnonzero(starts)

    def _with_unknown(self, tokens: Tokens, codes: npt.NDArray[np.uint32]) -> tuple[Tokens, Ints]:
        """Return final ids, and how many there are for each token; `codes` are their first ones."""
        unknown = tokens >= self._n_ids
        counts = np.ones(len(tokens), np.int64)
        if not unknown.any():
            return tokens, counts
        if not self._pieces.byte_fallback:
            return np.where(unknown, np.int32(self._pieces.unknown_id), tokens), counts
        distinct, which = np.unique(codes[unknown], return_inverse=True)
        written = [fallback_bytes(chr(code)) for code in distinct.tolist()]
        lengths = np.fromiter(map(len, written), np.int64, len(written))
        byte_ids = np.array(self._pieces.byte_ids, np.int32)
        data = byte_ids.take(np.frombuffer(b"".join(written), np.uint8))
        counts[unknown] = lengths.take(which)
        ids = np.repeat(tokens, counts)
        offset = np.cumsum(lengths).take(which) - np.cumsum(counts[unknown])
        where = np.repeat(unknown, counts)
        ids[where] = data.take(np.repeat(offset, counts[unknown]) + np.arange(int(where.sum())))
        return ids, counts


def _pair_ranks(ranks: Mapping[str, int], symbols: Mapping[str, int], pad: int) -> PairRanks:
    """Return the rank of every two symbols that make a piece."""
    rows = [
        (symbols[piece[:cut]], symbols[piece[cut:]], symbols[piece], rank)
        for piece, rank in ranks.items()
        for cut in range(1, len(piece))
        if piece[:cut] in symbols and piece[cut:] in symbols
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return PairRanks(table[:, :3], pad=pad, ranks=table[:, 3])


def _held_together(pieces: Mapping[str, int]) -> HashFilter:
    """Return the pairs of neighbours inside pieces."""
    sizes = np.fromiter(map(len, pieces), np.int64, len(pieces))
    codes = np.frombuffer("".join(pieces).encode("utf-32-le", "surrogatepass"), np.uint32)
    inner = np.ones(len(codes), np.bool_)
    inner[np.cumsum(sizes) - 1] = False
    left = np.flatnonzero(inner)
    return HashFilter(np.unique(_pair(codes.take(left), codes.take(left + 1))))


def _pair(left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32]) -> Words:
    return (left.astype(np.uint64) << np.uint64(32)) | right.astype(np.uint64)
