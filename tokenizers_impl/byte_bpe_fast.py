"""Byte-level BPE with NumPy: the ids of `byte_bpe`, without a loop over pieces or tokens.

Most pieces of a text have been seen before, in the text or as an entry of the vocabulary. So the
work is split in two:

1. Texts are joined, cut by array rules (`pretokenize_fast`), and every piece is looked up in a
   table of known pieces (`_PieceTable`). A piece of up to 15 bytes is its own key: two 64-bit words
   that hold its bytes and its length. Longer ones are keys of an ordinary dict. Keys are compared
   whole, so two pieces that hash alike can never be taken for each other.
2. The pieces that are new, each once, are merged together (`_merge`): one column of a matrix for
   each piece, and in every round each column joins its leftmost pair of lowest rank. That is the
   definition of `byte_bpe.apply_merges`, for many pieces at a time.

What was merged goes into the table, until it holds `max_known` pieces; then it starts afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.errors import TokenizerError
from bench.model import Ids
from tokenizers_impl.byte_bpe import BytePairModel
from tokenizers_impl.pretokenize_fast import Cutter, Joined

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
IdArray = npt.NDArray[np.uint32]

_SHORT = 15
"""Longest piece, in bytes, that fits a key of two words with its length in the last byte."""

_LOW_MASKS = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(_SHORT + 1)], np.uint64)
_HIGH_MASKS = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(_SHORT + 1)], np.uint64)
_LENGTHS = np.arange(_SHORT + 1, dtype=np.uint64) << np.uint64(56)

_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xC2B2AE3D27D4EB4F)


class FastEncoder:
    """Encodes texts with a model, remembering the pieces it has seen.

    >>> from tokenizers_impl.byte_bpe import minbpe_example
    >>> [ids.tolist() for ids in FastEncoder(minbpe_example()).encode_batch(["aaabdaaabac", ""])]
    [[258, 100, 258, 97, 99], []]
    """

    def __init__(
        self, model: BytePairModel, *, chunk: int = 1 << 16, max_known: int = 1 << 21
    ) -> None:
        self._model = model
        self._cutter = Cutter(model.pre_tokenization)
        self._merger = _PartMerger(model, max_known)
        self._chunk = chunk
        self._max_known = max_known
        self._table = self._fresh_table()

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text, shape (tokens,), dtype uint32.

        Raises `TokenizerError` for a text with a lone surrogate.
        """
        if len(self._table) > self._max_known:
            self._table = self._fresh_table()
        chunks = [self._look_up(part) for part in _chunks(texts, self._chunk)]
        self._learn(chunks)
        arrays: list[IdArray] = []
        for chunk in chunks:
            arrays += self._collect(chunk)
        return arrays

    def _fresh_table(self) -> _PieceTable:
        table = _PieceTable()
        if self._model.whole_pieces is not None:
            known = self._model.whole_pieces
            ids = np.fromiter(known.values(), np.uint32, len(known))
            table.add(list(known), ids, np.ones(len(known), np.int64))
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
            starts = lead[starts]
        values = self._table.look_up(data, starts)
        values[separators] = _NOTHING
        return _Chunk(data=data, starts=starts, values=values, separators=separators)

    def _learn(self, chunks: Sequence[_Chunk]) -> None:
        """Merge the pieces that are not in the table, add them, and fill in their values."""
        missing = [np.flatnonzero(chunk.values == _UNKNOWN) for chunk in chunks]
        pieces: list[bytes] = []
        for chunk, at in zip(chunks, missing, strict=True):
            data = chunk.data
            begin, end = chunk.starts[at].tolist(), chunk.starts[at + 1].tolist()
            pieces += [data[a:b] for a, b in zip(begin, end, strict=True)]
        if not pieces:
            return
        filled = _learn_distinct(pieces, self._table, self._merger)
        done = 0
        for chunk, at in zip(chunks, missing, strict=True):
            chunk.values[at] = filled[done : done + len(at)]
            done += len(at)

    def _collect(self, chunk: _Chunk) -> list[IdArray]:
        ids, ends = self._table.ids_of(chunk.values)
        cuts = ends[chunk.separators].tolist()
        return [ids[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]


@dataclass(slots=True)
class _Chunk:
    """Some texts, joined: where pieces start in the bytes, and what each piece is.

    `starts` has one entry more than `values`. `separators` are the pieces between texts.
    """

    data: bytes
    starts: Places
    values: Places
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

    def look_up(self, data: bytes, starts: Places) -> Places:
        """Return the value of each piece ``data[starts[i]:starts[i + 1]]``, or _UNKNOWN."""
        begin, length = starts[:-1], np.diff(starts)
        low, high = _keys(data, begin, np.minimum(length, _SHORT))
        values = self._find(low, high)
        long = np.flatnonzero(length > _SHORT)
        if len(long):
            get, a, b = self._long.get, starts[long].tolist(), starts[long + 1].tolist()
            found = [get(data[i:j], _UNKNOWN) for i, j in zip(a, b, strict=True)]
            values[long] = found
        return values

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
        mixed = low * _MIX_1
        mixed ^= high * _MIX_2
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX_1
        mixed >>= self._shift
        return mixed.view(np.int64)

    def add(self, pieces: Sequence[bytes], ids: IdArray, counts: Places) -> Places:
        """Add pieces that are not in the table, with their ids; return their values.

        `ids` holds the ids of all pieces one after the other, `counts` how many each has.
        """
        values = self._store(ids, counts)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        long = lengths > _SHORT
        self._long.update(
            (pieces[i], value)
            for i, value in zip(np.flatnonzero(long).tolist(), values[long].tolist(), strict=True)
        )
        data = b"".join(pieces)
        begin = np.cumsum(lengths) - lengths
        short = ~long
        low, high = _keys(data + bytes(16), begin[short], lengths[short])
        self._insert(low, high, values[short])
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

    def merge(self, pieces: Sequence[bytes]) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        if len(self._table) > self._max_known:
            self._table = _PieceTable()
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        data = b"".join([*pieces, bytes(16)])
        stops = np.cumsum(lengths)
        starts = self._seams.starts(np.frombuffer(data, np.uint8), stops - lengths)
        starts = np.append(starts, stops[-1])
        values = self._table.look_up(data, starts)
        missing = np.flatnonzero(values == _UNKNOWN)
        if len(missing):
            begin, end = starts[missing].tolist(), starts[missing + 1].tolist()
            parts = [data[a:b] for a, b in zip(begin, end, strict=True)]
            values[missing] = _learn_distinct(parts, self._table, self._merger)
        ids, ends = self._table.ids_of(values)
        last = np.searchsorted(starts, stops) - 1
        return ids, np.diff(ends[last], prepend=0)


def _learn_distinct(
    pieces: Sequence[bytes], table: _PieceTable, merger: _Merger | _PartMerger
) -> Places:
    """Merge the distinct ones of these pieces, add them to the table, return all values."""
    distinct = list(dict.fromkeys(pieces))
    values = table.add(distinct, *merger.merge(distinct)).tolist()
    found = dict(zip(distinct, values, strict=True))
    return np.fromiter(map(found.__getitem__, pieces), np.int64, len(pieces))


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
        self._partial = _HashSet(partial) if len(partial) else None

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
        if self._partial is not None:
            free = np.flatnonzero(~held)
            held[free] = self._partly_held(
                left[free], right[free], length.take(inner[free]), length.take(inner[free] + 1)
            )
        return np.delete(lead, inner[held] + 1)

    def _partly_held(
        self, left: Words, right: Words, left_length: Places, right_length: Places
    ) -> npt.NDArray[np.bool_]:
        held = np.zeros(len(left), np.bool_)
        assert self._partial is not None
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

    def may_hold(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return False for words that are certainly not in the set."""
        return self._held.take(self._slot(words))


class _Merger:
    """Merges many pieces at a time."""

    def __init__(self, model: BytePairModel) -> None:
        self._model = model
        self._byte_ids = np.array(model.byte_ids, np.int64)
        self._result = np.array([joined for _, _, joined in model.merges], np.int64)
        self._pairs = _PairTable(model)
        bytes_ = self._byte_ids
        both = self._pairs.look_up(np.repeat(bytes_, 256), np.tile(bytes_, 256))
        self._byte_pair_ranks = both

    def merge(self, pieces: Sequence[bytes]) -> tuple[IdArray, Places]:
        """Return the ids of all pieces one after the other, and how many each has."""
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        data = np.frombuffer(b"".join(pieces) + b"\0", np.uint8)
        begin = np.cumsum(lengths) - lengths
        order = np.argsort(lengths, kind="stable")
        # Final tokens, at the place of their first byte; -1 where a byte went into a token.
        tokens = np.full(len(data), -1, np.int64)
        done = 0
        for longest in _group_lengths(int(lengths.max(initial=1))):
            stop = int(np.searchsorted(lengths[order], longest, side="right"))
            group = order[done:stop]
            done = stop
            for part in _parts(group, longest):
                self._merge_group(data, begin[part], lengths[part], longest, tokens)
        kept = tokens >= 0
        counts = np.add.reduceat(kept, begin, dtype=np.int64) if len(begin) else lengths
        return tokens[kept].astype(np.uint32), counts

    def _merge_group(
        self, data: npt.NDArray[np.uint8], begin: Places, length: Places, longest: int, out: Places
    ) -> None:
        """Merge pieces of at most `longest` bytes and write their tokens to `out`.

        All matrices have a column for each piece and a row for each byte, with one row more at
        both ends, whose token _PAD joins with nothing. `keys` holds rank * rows + row for the pair
        that begins in a row, so that the minimum of a column is its leftmost pair of lowest rank.
        """
        n, rows = len(begin), longest + 2
        row = np.arange(rows)[:, None]
        inside = (row >= 1) & (row <= length)
        at = np.where(inside, begin + row - 1, 0)
        byte = data[at].astype(np.int64)
        token = np.where(inside, self._byte_ids[byte], self._pairs.pad)
        rank = np.where(
            inside[:-1] & inside[1:],
            self._byte_pair_ranks[byte[:-1] * 256 + byte[1:]],
            _NEVER,
        )
        shift = np.int64(rows.bit_length())
        never = np.int64(_NEVER) << shift
        keys = np.full((rows, n), never)
        keys[:-1] = np.where(rank == _NEVER, never, (rank << shift) | row[:-1])
        following = np.broadcast_to(row + 1, (rows, n)).copy()
        preceding = np.broadcast_to(row - 1, (rows, n)).copy()
        flat_token, flat_following = token.reshape(-1), following.reshape(-1)
        flat_preceding = preceding.reshape(-1)
        column = np.arange(n)
        while True:
            best = keys.min(axis=0)
            live = best < never
            n_live = int(np.count_nonzero(live))
            if n_live == 0:
                break
            if n_live < len(best):
                keys, best, column = np.compress(live, keys, axis=1), best[live], column[live]
            width = len(column)
            index = np.arange(width)
            here = best & ((1 << shift) - 1)
            flat = here * n + column
            gone = flat_following.take(flat)
            after = flat_following.take(gone * n + column)
            before = flat_preceding.take(flat)
            joined = self._result.take(best >> shift)
            flat_token[flat] = joined
            flat_token[gone * n + column] = -1
            flat_following[flat] = after
            flat_preceding[after * n + column] = here
            left = flat_token.take(before * n + column)
            right = flat_token.take(after * n + column)
            ranks = self._pairs.look_up(
                np.concatenate([joined, left]), np.concatenate([right, joined])
            )
            ranks = np.where(ranks == _NEVER, never, ranks << shift)
            flat_keys = keys.reshape(-1)
            flat_keys[gone * width + index] = never
            flat_keys[here * width + index] = np.where(
                ranks[:width] == never, never, ranks[:width] | here
            )
            flat_keys[before * width + index] = np.where(
                ranks[width:] == never, never, ranks[width:] | before
            )
        inner = inside[1:-1]
        out[at[1:-1][inner]] = token[1:-1][inner]


_NEVER = (1 << 31) - 1
"""Rank of a pair that is never joined."""


def _group_lengths(longest: int) -> list[int]:
    lengths = [4, 8, 12, 16, 24, 32, 48, 64]
    while lengths[-1] < longest:
        lengths.append(lengths[-1] * 2)
    return lengths


def _parts(group: Places, longest: int) -> Iterator[Places]:
    """Yield parts of a group, so that a matrix has about a quarter of a million cells."""
    size = max(1, (1 << 18) // (longest + 2))
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
        self.pad = model.n_ids
        self._bits, self._rank_bits = np.uint64(bits), np.uint64(rank_bits)
        self._rank_mask = np.uint64((1 << rank_bits) - 1)
        slots = 1 << (4 * len(model.merges) + 1).bit_length()
        self._shift, self._last = np.uint64(64 - (slots.bit_length() - 1)), slots - 1
        self._slots: Words = np.full(slots, _EMPTY)
        merges = np.array(model.merges, np.int64).reshape(-1, 3)
        self._insert(self._key(merges[:, 0], merges[:, 1]))

    def _key(self, left: Places, right: Places) -> Words:
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

    def look_up(self, left: Places, right: Places) -> Places:
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
