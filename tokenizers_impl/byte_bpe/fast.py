"""Byte-level BPE with NumPy: the ids of `model.encode`, without a loop over pieces or tokens.

Most pieces of a text have been seen before, in the text or as an entry of the vocabulary. So the
work is split in two:

1. Texts are joined, cut by array rules (`pretokenize_fast`), and every piece is looked up in a
   table of known pieces (`pieces`).
2. The pieces that are new, each once, are merged together (`merger`), after they were
   split at seams that no merge can cross (`seams`), so that fewer and shorter ones are new.

What was merged goes into the table, until it holds `max_known` pieces; then it starts afresh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Ids
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.pieces import (
    DistinctPieces,
    IdArray,
    LookedUp,
    PieceTable,
    learn,
)
from tokbench.tokenizers_impl.byte_bpe.seams import PartMerger
from tokbench.tokenizers_impl.hash_table import Places
from tokbench.tokenizers_impl.pretokenize_fast import Cutter, JoinedTexts

_FEW_CHARACTERS = 4096
"""Batches of fewer characters are encoded piece by piece."""
_FEW_PIECES = 1 << 17
"""Most pieces that are remembered for such batches."""


class FastEncoder:
    """Encodes texts with a model, remembering the pieces it has seen; for one thread at a time.

    >>> from tokbench.tokenizers_impl.byte_bpe.model import minbpe_example
    >>> [ids.tolist() for ids in FastEncoder(minbpe_example()).encode_batch(["aaabdaaabac", ""])]
    [[258, 100, 258, 97, 99], []]
    """

    def __init__(
        self, model: BytePairModel, *, chunk: int = 1 << 16, max_known: int = 1 << 20
    ) -> None:
        self._model = model
        self._cutter = Cutter(model.pre_tokenization)
        self._merger = PartMerger(model, max_known)
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
        learn([chunk.pieces for chunk in chunks], self._table, self._merger)
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

    def _fresh_table(self) -> PieceTable:
        table = PieceTable()
        if self._model.whole_pieces is not None:
            known = dict(sorted(self._model.whole_pieces.items(), key=lambda item: len(item[0])))
            ids = np.fromiter(known.values(), np.uint32, len(known))
            table.add(DistinctPieces.of(list(known)), ids, np.ones(len(known), np.int64))
        return table

    def _look_up(self, texts: Sequence[str]) -> _Chunk:
        joined = JoinedTexts.of(texts)
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

    pieces: LookedUp
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
