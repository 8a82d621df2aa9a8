"""Byte-level BPE with NumPy: the ids of `byte_bpe`, without a loop over pieces or tokens.

Most pieces of a text have been seen before, in the text or as an entry of the vocabulary. So the
work is split in two:

1. Texts are joined, cut by array rules (`pretokenize_fast`), and every piece is looked up in a
   table of known pieces (`_PieceTable`). A piece of up to 15 bytes is its own key: two 64-bit words
   that hold its bytes and its length. Longer ones are keys of an ordinary dict. Keys are compared
   whole, so two pieces that hash alike can never be taken for each other.
2. The pieces that are new, each once, are merged together (`_merge`): one column of a matrix for
   each piece, and in every round each column joins its leftmost pair of lowest rank. That is the
   definition of `byte_bpe.apply_merges`, for many pieces at a time. Before that, pieces are split
   at seams that no merge can cross (`_Seams`), so that fewer and shorter ones are new.

What was merged goes into the table, until it holds `max_known` pieces; then it starts afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.errors import TokenizerError
from bench.model import Ids
from tokenizers_impl.byte_bpe import BytePairModel
from tokenizers_impl.pretokenize_fast import Cutter, Joined

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
IdArray = npt.NDArray[np.uint32]

_SHORT = 15
"""Longest piece, in bytes, that fits a key of two words with its length in the last byte."""

_LOW_MASKS = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(_SHORT + 1)], np.uint64)
_HIGH_MASKS = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(_SHORT + 1)], np.uint64)
_LENGTHS = np.arange(_SHORT + 1, dtype=np.uint64) << np.uint64(56)

_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xC2B2AE3D27D4EB4F)


_FEW_CHARACTERS = 4096
"""Batches of fewer characters are encoded piece by piece."""
_FEW_PIECES = 1 << 17
"""Most pieces that are remembered for such batches."""


class FastEncoder:
    """Encodes texts with a model, remembering the pieces it has seen; for one thread at a time.

    >>> from tokenizers_impl.byte_bpe import minbpe_example
    >>> [ids.tolist() for ids in FastEncoder(minbpe_example()).encode_batch(["aaabdaaabac", ""])]
    [[258, 100, 258, 97, 99], []]
    """

    def __init__(
        self, model: BytePairModel, *, chunk: int = 1 << 16, max_known: int = 1 << 20
    ) -> None:
        self._model = model
        self._cutter = Cutter(model.pre_tokenization)
        self._merger = _PartMerger(model, max_known)
        self._chunk = chunk
        self._max_known = max_known
        self._table = self._fresh_table()
        self._short_known: dict[str, list[int]] = {}

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text, shape (tokens,), dtype uint32.

        Raises `TokenizerError` for a text with a lone surrogate.
        """
        if len(self._table) > self._max_known:
            self._table = self._fresh_table()
        if sum(map(len, texts)) < _FEW_CHARACTERS:
            return [self._encode_short(text) for text in texts]
        parts, n_parts = self._without_long(texts)
        chunks = [self._look_up(part) for part in _chunks(parts, self._chunk)]
        _learn([chunk.pieces for chunk in chunks], self._table, self._merger)
        arrays: list[IdArray] = []
        for chunk in chunks:
            arrays += self._collect(chunk)
        if n_parts is None:
            return arrays
        part = iter(arrays)
        return [np.concatenate(list(islice(part, n))) for n in n_parts]

    def _without_long(self, texts: Sequence[str]) -> tuple[Sequence[str], list[int] | None]:
        """Return texts with long ones cut where a piece starts anyway, and the parts of each."""
        if max(map(len, texts), default=0) <= 2 * self._chunk:
            return texts, None
        parts: list[str] = []
        n_parts: list[int] = []
        for text in texts:
            cuts = self._cutter.safe_cuts(text, self._chunk)
            parts += [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
            n_parts.append(len(cuts) + 1)
        return parts, n_parts

    def _encode_short(self, text: str) -> IdArray:
        """Encode a text piece by piece: for a few lines, arrays cost more than they save."""
        ids: list[int] = []
        for piece in self._model.pre_tokenization.split(text):
            known = self._short_known.get(piece)
            if known is None:
                known = self._short_known[piece] = self._encode_piece(piece)
            ids += known
        if len(self._short_known) > min(self._max_known, _FEW_PIECES):
            self._short_known.clear()
        return np.array(ids, np.uint32)

    def _encode_piece(self, piece: str) -> list[int]:
        try:
            data = piece.encode()
        except UnicodeEncodeError as exc:
            raise _surrogate_error([piece], exc) from exc
        whole = (self._model.whole_pieces or {}).get(data)
        return self._merger.merge_one(data) if whole is None else [whole]

    def _fresh_table(self) -> _PieceTable:
        table = _PieceTable()
        if self._model.whole_pieces is not None:
            known = dict(sorted(self._model.whole_pieces.items(), key=lambda item: len(item[0])))
            ids = np.fromiter(known.values(), np.uint32, len(known))
            table.add(_Distinct.of(list(known)), ids, np.ones(len(known), np.int64))
        return table

    def _look_up(self, texts: Sequence[str]) -> _Chunk:
        joined = Joined.of(texts)
        try:
            data = joined.text.encode()
        except UnicodeEncodeError as exc:
            raise _surrogate_error(texts, exc) from exc
        starts = self._cutter.starts(joined)
        separators = np.searchsorted(starts, joined.separators)
        if len(data) != len(joined.text):
            lead = (np.frombuffer(data, np.int8) >= -64).nonzero()[0]  # not 0b10xxxxxx
            starts = lead.take(starts)
        pieces = self._table.look_up(data, starts, skip=separators)
        return _Chunk(pieces=pieces, separators=separators)

    def _collect(self, chunk: _Chunk) -> list[IdArray]:
        ids, ends = self._table.ids_of(chunk.pieces.values)
        cuts = ends[chunk.separators].tolist()
        return [ids[a:b] for a, b in pairwise(cuts)]


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some texts, joined: their pieces, and which of these are the separators between texts."""

    pieces: _LookedUp
    separators: Places


def _chunks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Yield runs of texts of about `size` characters, so that their arrays stay in the cache."""
    begin, length = 0, 0
    for end, text in enumerate(texts, start=1):
        length += len(text)
        if length >= size:
            yield texts[begin:end]
            begin, length = end, 0
    if begin < len(texts):
        yield texts[begin:]


def _surrogate_error(texts: Sequence[str], exc: UnicodeEncodeError) -> TokenizerError:
    character = exc.object[exc.start]
    number = next(i for i, text in enumerate(texts) if character in text)
    return TokenizerError(
        f"text {number} of the batch holds a lone surrogate (U+{ord(character):04X}), which has no "
        "UTF-8 form; repair the text where it is read"
    )


# --- known pieces ---------------------------------------------------------------------------------

_UNKNOWN = -1
"""Value of a piece that is not in the table."""
_NOTHING = -2
"""Value of what has no tokens."""
_MANY = 1 << 32
"""Values below are the id of a piece that is one token; above, _MANY + the piece's number."""


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """The values of pieces, and what is needed to learn those that are not known.

    `short` are the numbers of the unknown pieces that fit a key, `low` and `high` their keys;
    `long` are the numbers of the other unknown ones and `long_bytes` these themselves.
    """

    values: Places
    short: Places
    low: Words
    high: Words
    long: Places
    long_bytes: list[bytes]


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Pieces of which no two are equal: first those that fit a key, then the longer ones."""

    low: Words
    high: Words
    long: list[bytes]

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> _Distinct:
        """Order and pack pieces; those that fit a key must come first."""
        n_short = sum(len(piece) <= _SHORT for piece in pieces)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))[:n_short]
        data = b"".join([*pieces[:n_short], bytes(16)])
        low, high = _keys(data, np.cumsum(lengths) - lengths, lengths)
        return cls(low=low, high=high, long=list(pieces[n_short:]))

    def lengths(self) -> Places:
        """Return the bytes of each piece."""
        short = (self.high >> np.uint64(56)).view(np.int64)
        return np.concatenate([short, np.fromiter(map(len, self.long), np.int64, len(self.long))])

    def data(self) -> bytes:
        """Return all pieces one after the other, and 16 zero bytes."""
        rows = np.stack([self.low, self.high], axis=1).view(np.uint8)
        inside = np.arange(16) < (self.high >> np.uint64(56)).view(np.int64)[:, None]
        return b"".join([rows[inside].tobytes(), *self.long, bytes(16)])


class _PieceTable:
    """Maps pieces to values, from which `ids_of` makes ids.

    Open addressing with linear probing. Slot i holds a key in `low[i]` and `high[i]`, the length
    in the top byte of the latter, so that 0 there means an empty slot.
    """

    def __init__(self) -> None:
        self._resize(1 << 12)
        self._long: dict[bytes, int] = {}
        self._used = 0
        # Of pieces that are several tokens: where their ids begin, and all ids one after the other.
        self._first = np.zeros(1, np.int64)
        self._ids = np.zeros(0, np.uint32)

    def __len__(self) -> int:
        return self._used + len(self._long)

    def _resize(self, slots: int) -> None:
        self._shift = np.uint64(64 - (slots.bit_length() - 1))
        self._last = slots - 1
        self._low = np.zeros(slots, np.uint64)
        self._high = np.zeros(slots, np.uint64)
        self._value = np.full(slots, _UNKNOWN, np.int64)

    def look_up(self, data: bytes, starts: Places, *, skip: Places | None = None) -> _LookedUp:
        """Look up each piece ``data[starts[i]:starts[i + 1]]``; those in `skip` are nothing."""
        begin, length = starts[:-1], np.diff(starts)
        low, high = _keys(data, begin, np.minimum(length, _SHORT))
        values = self._find(low, high)
        is_long = length > _SHORT
        long = np.flatnonzero(is_long)
        long_bytes: list[bytes] = []
        if len(long):
            a, b = starts.take(long).tolist(), starts.take(long + 1).tolist()
            long_bytes = [data[i:j] for i, j in zip(a, b, strict=True)]
            found = list(map(self._long.get, long_bytes, repeat(_UNKNOWN)))
            values[long] = found
            unknown = [i for i, value in enumerate(found) if value == _UNKNOWN]
            long, long_bytes = long[unknown], [long_bytes[i] for i in unknown]
        if skip is not None:
            values[skip] = _NOTHING
        short = np.flatnonzero((values == _UNKNOWN) & ~is_long)
        return _LookedUp(values, short, low.take(short), high.take(short), long, long_bytes)

    def _find(self, low: Words, high: Words) -> Places:
        slot = self._slot(low, high)
        values = self._value.take(slot)
        wrong = (self._low.take(slot) != low) | (self._high.take(slot) != high)
        left = np.flatnonzero(wrong)
        slot, low, high = slot[left], low[left], high[left]
        while len(left):
            # A key is not here: it is nowhere if the slot is empty, else perhaps in the next one.
            empty = self._high.take(slot) == 0
            values[left[empty]] = _UNKNOWN
            more = ~empty
            left, slot, low, high = left[more], slot[more] + 1, low[more], high[more]
            slot &= self._last
            right = (self._low.take(slot) == low) & (self._high.take(slot) == high)
            values[left[right]] = self._value.take(slot[right])
            more = ~right
            left, slot, low, high = left[more], slot[more], low[more], high[more]
        return values

    def _slot(self, low: Words, high: Words) -> Places:
        return (_mixed(low, high) >> self._shift).view(np.int64)

    def add(self, pieces: _Distinct, ids: IdArray, counts: Places) -> Places:
        """Add pieces that are not in the table, with their ids; return their values.

        `ids` holds the ids of all pieces one after the other, `counts` how many each has.
        """
        values = self._store(ids, counts)
        n_short = len(pieces.low)
        self._insert(pieces.low, pieces.high, values[:n_short])
        self._long.update(zip(pieces.long, values[n_short:].tolist(), strict=True))
        return values

    def _store(self, ids: IdArray, counts: Places) -> Places:
        """Return the values of new pieces, and keep the ids of those that are several tokens."""
        begin = np.cumsum(counts) - counts
        values = np.full(len(counts), _NOTHING, np.int64)
        single, many = counts == 1, counts > 1
        values[single] = ids[begin[single]]
        values[many] = _MANY + len(self._first) - 1 + np.arange(int(many.sum()))
        kept = ids[np.repeat(many, counts)]
        first = self._first[-1] + np.cumsum(counts[many])
        self._first = np.concatenate([self._first, first])
        self._ids = np.concatenate([self._ids, kept])
        return values

    def _insert(self, low: Words, high: Words, values: Places) -> None:
        self._used += len(low)
        if 3 * self._used > self._last:
            self._grow()
        slot = self._slot(low, high)
        left = np.arange(len(low))
        while len(left):
            # Of several keys that want one slot the first has it; the others go on.
            free = np.flatnonzero(self._high.take(slot) == 0)
            at, first = np.unique(slot[free], return_index=True)
            key = left[free[first]]
            self._high[at], self._low[at], self._value[at] = high[key], low[key], values[key]
            lost = np.ones(len(left), np.bool_)
            lost[free[first]] = False
            left, slot = left[lost], (slot[lost] + 1) & self._last

    def _grow(self) -> None:
        kept = np.flatnonzero(self._high)
        low, high, values = self._low[kept], self._high[kept], self._value[kept]
        slots = self._last + 1
        while 3 * self._used > slots - 1:
            slots *= 4
        self._resize(slots)
        self._used -= len(kept)
        self._insert(low, high, values)

    def ids_of(self, values: Places) -> tuple[IdArray, Places]:
        """Return the ids of pieces one after the other, and where those of each piece end."""
        many = np.flatnonzero(values >= _MANY)
        counts = (values != _NOTHING).astype(np.int64)
        number = values[many] - _MANY
        first = self._first.take(number)
        count = self._first.take(number + 1) - first
        counts[many] = count
        ends = np.cumsum(counts)
        ids = np.empty(int(ends[-1]), np.uint32)
        begin = ends - counts
        some = counts != 0
        ids[begin[some]] = values[some].astype(np.uint32)
        # One step for each further token of the pieces that have several.
        at = begin[many]
        step = 0
        while len(at):
            ids[at + step] = self._ids.take(first + step)
            step += 1
            more = count > step
            at, first, count = at[more], first[more], count[more]
        return ids, ends


def _mixed(low: Words, high: Words) -> Words:
    mixed = low * _MIX_1
    mixed ^= high * _MIX_2
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MIX_1
    return mixed


def _keys(data: bytes, begin: Places, length: Places) -> tuple[Words, Words]:
    """Return the two words of each piece; data must go on for 16 bytes after the last begin."""
    # Overlapping words, one from every byte; copied once, since reading unaligned ones is slow.
    view: Words = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, 0, (1,))
    words = view.copy()
    low = words.take(begin) & _LOW_MASKS.take(length)
    high = words.take(begin + 8) & _HIGH_MASKS.take(length)
    high |= _LENGTHS.take(length)
    return low, high


# --- new pieces -----------------------------------------------------------------------------------


def _learn(found: Sequence[_LookedUp], table: _PieceTable, merger: _Merger | _PartMerger) -> None:
    """Merge the pieces that are not known, each once, add them to the table, fill in values."""
    low = np.concatenate([f.low for f in found]) if found else np.zeros(0, np.uint64)
    high = np.concatenate([f.high for f in found]) if found else low
    long = [piece for f in found for piece in f.long_bytes]
    if not len(low) and not long:
        return
    chosen, number = _distinct(low, high)
    long_numbers = {piece: i for i, piece in enumerate(dict.fromkeys(long), start=len(chosen))}
    pieces = _Distinct(low.take(chosen), high.take(chosen), list(long_numbers))
    values = table.add(pieces, *merger.merge(pieces))
    short_values = values.take(number)
    long_values = values[[long_numbers[piece] for piece in long]] if long else values[:0]
    for f in found:
        f.values[f.short], short_values = np.split(short_values, [len(f.short)])
        f.values[f.long], long_values = np.split(long_values, [len(f.long)])


def _distinct(low: Words, high: Words) -> tuple[Places, Places]:
    """Return one place of each distinct key, and for every key the number of its like among them.

    All keys write their place into the slot of their hash. Those that read back a place with their
    own key are settled; the others, whose slot went to another key, try again among themselves.
    """
    n = len(low)
    bits = max(n, 1).bit_length() + 1
    slot = _mixed(low, high) >> np.uint64(64 - bits)
    scratch = np.empty(1 << bits, np.int64)
    like = np.empty(n, np.int64)
    todo = np.arange(n)
    at = slot.view(np.int64)
    while len(todo):
        scratch[at] = todo
        written = scratch.take(at)
        same = (low.take(written) == low.take(todo)) & (high.take(written) == high.take(todo))
        like[todo[same]] = written[same]
        todo, at = todo[~same], at[~same]
    chosen = np.flatnonzero(like == np.arange(n))
    number = np.empty(n, np.int64)
    number[chosen] = np.arange(len(chosen))
    return chosen, number.take(like)


class _PartMerger:
    """Merges pieces part by part, remembering the parts.

    Where no entry reaches across the seam between two characters, no merge ever will, so what lies
    on either side can be merged alone. A line of Chinese falls into characters and common words,
    most of which have been merged before.
    """

    def __init__(self, model: BytePairModel, max_known: int) -> None:
        self._seams = _Seams(model)
        self._merger = _Merger(model)
        self._table = _PieceTable()
        self._max_known = max_known

    def merge_one(self, piece: bytes) -> list[int]:
        """Return the ids of one piece."""
        return [token for token in self._merger.merge_long(piece) if token >= 0]

    def merge(self, pieces: _Distinct) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        if len(self._table) > self._max_known:
            self._table = _PieceTable()
        data, lengths = pieces.data(), pieces.lengths()
        stops = np.cumsum(lengths)
        starts = self._seams.starts(np.frombuffer(data, np.uint8), stops - lengths)
        starts = np.append(starts, stops[-1])
        found = self._table.look_up(data, starts)
        _learn([found], self._table, self._merger)
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
        self._whole = _HashSet(whole)
        self._partial = _HashSet(partial)
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


class _HashSet:
    """A set of words that may claim to hold one it does not, for one word in 64 or fewer."""

    def __init__(self, words: Words) -> None:
        bits = max(16, len(words).bit_length() + 6)
        self._shift = np.uint64(64 - bits)
        self._held = np.zeros(1 << bits, np.bool_)
        self._held[self._slot(words)] = True

    def _slot(self, words: Words) -> Places:
        mixed = words * _MIX_1
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX_2
        mixed >>= self._shift
        return mixed.view(np.int64)

    def may_hold(self, words: Words) -> Bools:
        """Return False for words that are certainly not in the set."""
        return self._held.take(self._slot(words))


class _Merger:
    """Merges many pieces at a time."""

    def __init__(self, model: BytePairModel) -> None:
        self._model = model
        self._byte_ids = np.array(model.byte_ids, np.int32)
        self._result = np.array([joined for _, _, joined in model.merges], np.int32)
        self._pairs = _PairTable(model)
        self._byte_pair_ranks = self._pairs.look_up(
            np.repeat(self._byte_ids, 256), np.tile(self._byte_ids, 256)
        )

    def merge(self, pieces: _Distinct) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        data, lengths = np.frombuffer(pieces.data(), np.uint8), pieces.lengths()
        begin = np.cumsum(lengths) - lengths
        # Final tokens, at the place of their first byte; -1 where a byte went into a token.
        tokens = np.full(len(data), -1, np.int32)
        order = np.argsort(lengths, kind="stable")
        shortest_first = lengths[order]
        done = 0
        for longest in _GROUP_LENGTHS:
            stop = int(np.searchsorted(shortest_first, longest, side="right"))
            for part in _parts(order[done:stop], longest):
                self._merge_group(data, begin[part], lengths[part], longest, tokens)
            done = stop
        for i in order[done:].tolist():
            stop = begin[i] + lengths[i]
            tokens[begin[i] : stop] = self.merge_long(data[begin[i] : stop].tobytes())
        kept = tokens >= 0
        counts = np.add.reduceat(kept, begin, dtype=np.int64)
        return tokens[kept].astype(np.uint32), counts

    def merge_long(self, piece: bytes) -> list[int]:
        """Merge one piece with a heap of pairs, in time n log n; -1 as in `_Columns`."""
        ranks, merges = self._model.ranks, self._model.merges
        tokens = [self._model.byte_ids[byte] for byte in piece]
        n = len(tokens)
        following, preceding = list(range(1, n + 1)), list(range(-1, n - 1))
        heap = [
            (rank, at)
            for at, pair in enumerate(pairwise(tokens))
            if (rank := ranks.get(pair)) is not None
        ]
        heapify(heap)
        while heap:
            rank, at = heappop(heap)
            gone = following[at]
            left, right, joined = merges[rank]
            # A pair that has changed since it was put in is out of date.
            if gone == n or tokens[at] != left or tokens[gone] != right:
                continue
            tokens[at], tokens[gone] = joined, -1
            following[at] = after = following[gone]
            if after < n:
                preceding[after] = at
            for first, second in ((preceding[at], at), (at, after)):
                if first >= 0 and second < n:
                    new = ranks.get((tokens[first], tokens[second]))
                    if new is not None:
                        heappush(heap, (new, first))
        return tokens

    def _merge_group(
        self,
        data: npt.NDArray[np.uint8],
        begin: Places,
        length: Places,
        longest: int,
        out: npt.NDArray[np.int32],
    ) -> None:
        """Merge pieces of at most `longest` bytes and write their tokens to `out`."""
        row = np.arange(longest + 2)[:, None]
        inside = (row >= 1) & (row <= length)
        at = np.where(inside, begin + row - 1, 0)
        byte = data.take(at)
        token = np.where(inside, self._byte_ids.take(byte), self._pairs.pad)
        rank = np.full(inside.shape, _NEVER, np.int64)
        pair = byte[:-1].astype(np.int64) * 256 + byte[1:]
        np.copyto(rank[:-1], self._byte_pair_ranks.take(pair), where=inside[:-1] & inside[1:])
        _Columns(token, rank, self._pairs, self._result).merge()
        out[at[inside]] = token[inside]


class _Columns:
    """The merging itself: a column for each piece, a row for each byte.

    There is one row more at both ends, whose token joins with nothing. `keys` holds rank and row
    of the pair that begins in a row, so that the minimum of a column is its leftmost pair of
    lowest rank. `token` is changed in place, to -1 where a token has gone into the one before.
    """

    def __init__(
        self,
        token: npt.NDArray[np.int32],
        rank: Places,
        pairs: _PairTable,
        result: npt.NDArray[np.int32],
    ) -> None:
        rows, self.n = token.shape
        self.pairs, self.result = pairs, result
        self.shift = rows.bit_length()
        # 32-bit keys where they are wide enough: their minimum takes half the time.
        wide = (len(result) + 1) << self.shift >= 1 << 32
        self.dtype = np.uint64 if wide else np.uint32
        self.never = int(np.iinfo(self.dtype).max)
        row = np.arange(rows)[:, None]
        self.keys = self._keys(rank, row)
        self.token = token.reshape(-1)
        steps = np.broadcast_to(row, token.shape).astype(np.int32)
        self.following, self.preceding = (steps + 1).reshape(-1), (steps - 1).reshape(-1)

    def _keys(self, rank: Places, row: Places) -> npt.NDArray[Any]:
        keys: npt.NDArray[Any] = ((rank << self.shift) | row).astype(self.dtype)
        keys[rank == _NEVER] = self.never
        return keys

    def merge(self) -> None:
        """Join one pair in every column until no column has one left."""
        keys, column, n = self.keys, np.arange(self.n), self.n
        while True:
            best = keys.min(axis=0)
            live = best != self.never
            if not live.all():
                keys, best, column = np.compress(live, keys, axis=1), best[live], column[live]
                if not len(column):
                    return
            here = (best & ((1 << self.shift) - 1)).astype(np.int64)
            place = here * n + column
            gone = self.following.take(place).astype(np.int64)
            gone_place = gone * n + column
            after = self.following.take(gone_place).astype(np.int64)
            before = self.preceding.take(place).astype(np.int64)
            after_place = after * n + column
            joined = self.result.take((best >> self.shift).astype(np.int64))
            self.token[place] = joined
            self.token[gone_place] = -1
            self.following[place] = after
            self.preceding[after_place] = here
            left, right = self.token.take(before * n + column), self.token.take(after_place)
            rank = self.pairs.look_up(
                np.concatenate([left, joined]), np.concatenate([joined, right])
            )
            changed = np.concatenate([before, here])
            flat, width = keys.reshape(-1), len(column)
            index = np.arange(width)
            flat[gone * width + index] = self.never
            flat[changed * width + np.concatenate([index, index])] = self._keys(rank, changed)


_NEVER = (1 << 31) - 1
"""Rank of a pair that is never joined."""


_CELLS = 1 << 17
_GROUP_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Pieces are merged together with others of about their length; longer ones one by one."""


def _parts(group: Places, longest: int) -> Iterator[Places]:
    """Yield parts of a group, so that its matrices stay in the cache."""
    size = max(1, _CELLS // (longest + 2))
    for start in range(0, len(group), size):
        yield group[start : start + size]


class _PairTable:
    """Maps pairs of ids to the rank of their merge.

    Open addressing with linear probing. A slot holds left id, right id and rank in one word, so that a pair is compared whole and its
    rank comes with it.
    """

    def __init__(self, model: BytePairModel) -> None:
        bits = (model.n_ids + 1).bit_length()
        rank_bits = max(len(model.merges), 1).bit_length()
        if 2 * bits + rank_bits > 63:
            raise TokenizerError(
                f"a vocabulary of {model.n_ids} ids is too large for the fast encoder; "
                "use engine: readable"
            )
        self.pad = np.int32(model.n_ids)
        self._bits, self._rank_bits = np.uint64(bits), np.uint64(rank_bits)
        self._rank_mask = np.uint64((1 << rank_bits) - 1)
        slots = 1 << (4 * len(model.merges) + 1).bit_length()
        self._shift, self._last = np.uint64(64 - (slots.bit_length() - 1)), slots - 1
        self._slots: Words = np.full(slots, _EMPTY)
        merges = np.array(model.merges, np.int64).reshape(-1, 3)
        self._insert(self._key(merges[:, 0], merges[:, 1]))

    def _key(self, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Words:
        return (left.astype(np.uint64) << self._bits) | right.astype(np.uint64)

    def _slot(self, key: Words) -> Places:
        mixed = key * _MIX_1
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX_2
        mixed >>= self._shift
        return mixed.view(np.int64)

    def _insert(self, key: Words) -> None:
        content = (key << self._rank_bits) | np.arange(len(key), dtype=np.uint64)
        slot = self._slot(key)
        while len(content):
            free = np.flatnonzero(self._slots.take(slot) == _EMPTY)
            self._slots[slot[free]] = content[free]
            lost = self._slots.take(slot) != content
            content, slot = content[lost], (slot[lost] + 1) & self._last

    def look_up(self, left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Places:
        """Return the rank of each pair, _NEVER where it is not joined."""
        key = self._key(left, right)
        slot = self._slot(key)
        content = self._slots.take(slot)
        found = (content >> self._rank_bits) == key
        ranks = np.where(found, (content & self._rank_mask).view(np.int64), _NEVER)
        todo = np.flatnonzero(~found & (content != _EMPTY))
        key, slot = key[todo], (slot[todo] + 1) & self._last
        while len(todo):
            content = self._slots.take(slot)
            found = (content >> self._rank_bits) == key
            ranks[todo[found]] = (content[found] & self._rank_mask).view(np.int64)
            more = ~found & (content != _EMPTY)
            todo, key, slot = todo[more], key[more], (slot[more] + 1) & self._last
        return ranks


_EMPTY = np.uint64((1 << 64) - 1)
