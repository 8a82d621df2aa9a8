"""Pieces of byte-level BPE merged part by part, split at seams that no merge can cross."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.byte_bpe.merger import Merger
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.pieces import DistinctPieces, IdArray, PieceTable, learn
from tokbench.tokenizers_impl.hash_table import Bools, HashFilter, Places, Words


class PartMerger:
    """Merges pieces part by part, remembering the parts.

    Where no entry reaches across the seam between two characters, no merge ever will, so what lies
    on either side can be merged alone. A line of Chinese falls into characters and common words,
    most of which have been merged before.
    """

    def __init__(self, model: BytePairModel, max_known: int) -> None:
        self._seams = _Seams(model)
        self._merger = Merger(model)
        self._table = PieceTable()
        self._max_known = max_known

    def merge_one(self, piece: bytes) -> list[int]:
        """Return the ids of one piece."""
        return [token for token in self._merger.merge_long(piece) if token >= 0]

    def merge(self, pieces: DistinctPieces) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        if len(self._table) > self._max_known:
            self._table = PieceTable()
        data, lengths = pieces.data(), pieces.lengths()
        stops = np.cumsum(lengths)
        starts = self._seams.starts(np.frombuffer(data, np.uint8), stops - lengths)
        starts = np.append(starts, stops[-1])
        found = self._table.look_up(data, starts)
        learn([found], self._table, self._merger)
        ids, ends = self._table.ids_of(found.values)
        last = np.searchsorted(starts, stops) - 1
        return ids, np.diff(ends[last], prepend=0)


class _Seams:
    """Finds the places between two characters of a text that no entry reaches across.

    An entry that does so holds the end of the left character (all its bytes, or the last few if
    the entry begins there) and the beginning of the right one. All such ends and beginnings are
    kept as a set of hashes. Two that hash alike make a seam look held together that is not; that
    costs time and changes nothing.
    """

    def __init__(self, model: BytePairModel) -> None:
        whole, partial = _reaching_across([model.entries[joined] for _, _, joined in model.merges])
        self._whole = HashFilter(whole)
        self._partial = HashFilter(partial)
        # Which last and first bytes an end and a beginning of `partial` have: a quick no for most.
        last, first = _last_byte(partial >> np.uint64(32)), (partial & np.uint64(0xFF))
        self._maybe_partial = np.zeros(1 << 16, np.bool_)
        self._maybe_partial[((last << np.uint64(8)) | first).view(np.int64)] = True

    def starts(self, data: npt.NDArray[np.uint8], begin: Places) -> Places:
        """Return where parts start: at every piece and every seam that nothing reaches across.

        `data` goes on for at least four bytes after the last piece.
        """
        stop = len(data) - 16
        lead = np.flatnonzero((data[:stop] & 0xC0) != 0x80)
        length = _CHARACTER_LENGTHS.take(data.take(lead))
        view = np.ndarray((len(data) - 3,), np.dtype("<u4"), data, 0, (1,))
        code = view.take(lead).astype(np.uint64) & _FIRST_BYTES.take(length)
        is_begin = np.zeros(stop, np.bool_)
        is_begin[begin] = True
        inner = np.flatnonzero(~is_begin.take(lead[1:]))
        left, right = code.take(inner), code.take(inner + 1)
        held = self._whole.may_hold(_pair(left, right))
        seam = lead.take(inner + 1)
        edge = data.take(seam - 1).astype(np.int64) * 256 + data.take(seam)
        some = np.flatnonzero(self._maybe_partial.take(edge) & ~held)
        held[some] = self._partly_held(
            left[some], right[some], length.take(inner[some]), length.take(inner[some] + 1)
        )
        return np.delete(lead, inner[held] + 1)

    def _partly_held(
        self, left: Words, right: Words, left_length: Places, right_length: Places
    ) -> Bools:
        held = np.zeros(len(left), np.bool_)
        for dropped in range(4):
            end = left >> np.uint64(8 * dropped)
            for taken in range(1, 5):
                beginning = right & _FIRST_BYTES[taken]
                exists = (left_length > dropped) & (right_length >= taken)
                held |= exists & self._partial.may_hold(_pair(end, beginning))
        return held


_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(5)], np.uint64)
_CHARACTER_LENGTHS = np.array(
    [1 if b < 0xC0 else 2 if b < 0xE0 else 3 if b < 0xF0 else 4 for b in range(256)], np.int64
)


def _last_byte(end: Words) -> Words:
    """Return the highest byte of each number that is not zero."""
    last = end & np.uint64(0xFF)
    for shift in (8, 16, 24):
        byte = (end >> np.uint64(shift)) & np.uint64(0xFF)
        last = np.where(byte > 0, byte, last)
    return last


def _pair(left: Words, right: Words) -> Words:
    return (left << np.uint64(32)) | right


def _reaching_across(entries: Sequence[bytes]) -> tuple[Words, Words]:
    """Return the (end, beginning) pairs at all seams inside entries: of whole characters, others.

    An end or a beginning is the number that its bytes make, first byte lowest.
    """
    data = np.frombuffer(b"".join([*entries, bytes(8)]), np.uint8)
    lengths = np.fromiter(map(len, entries), np.int64, len(entries))
    stop = np.repeat(np.cumsum(lengths), lengths)
    begin = stop - np.repeat(lengths, lengths)
    data_in = data[: len(stop)]
    at = np.arange(len(stop))
    seam = np.flatnonzero(((data_in & 0xC0) != 0x80) & (at > begin))
    begin, stop = begin[seam], stop[seam]
    wanted = _CHARACTER_LENGTHS.take(data.take(seam))
    taken = np.minimum(wanted, stop - seam)
    right = np.zeros(len(seam), np.uint64)
    for i in range(4):
        byte = data.take(seam + i).astype(np.uint64) << np.uint64(8 * i)
        right |= np.where(taken > i, byte, np.uint64(0))
    left = np.zeros(len(seam), np.uint64)
    open_ = np.ones(len(seam), np.bool_)  # the left character's lead byte is still to come
    for i in range(1, 5):
        open_ &= seam - i >= begin
        byte = data.take(np.maximum(seam - i, 0))
        left = np.where(open_, (left << np.uint64(8)) | byte, left)
        open_ &= (byte & 0xC0) == 0x80
    first = np.where(left > 0, left & np.uint64(0xFF), np.uint64(0)).astype(np.int64)
    whole = ((first & 0xC0) != 0x80) & (taken == wanted)
    pairs = _pair(left, right)
    return np.unique(pairs[whole]), np.unique(pairs[~whole])
