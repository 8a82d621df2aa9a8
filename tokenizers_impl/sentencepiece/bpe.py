"""BPE as SentencePiece does it: Unicode characters instead of bytes, spaces written as ``▁``.

A text is one sequence of characters. The two neighbours that make the piece with the lowest rank
are joined, the leftmost such pair first, until no two neighbours make a piece:

>>> ranks = {"ab": 0, "▁a": 1, "abb": 2, "▁abb": 3}
>>> merged_by_rank("▁abb", ranks)
['▁abb']
>>> merged_by_rank("▁aabab", ranks)
['▁a', 'ab', 'ab']

Unlike byte-level BPE it asks whether two neighbours make a piece, not whether they are a merge
that was learned: ``▁a`` and ``bb`` would make ``▁abb`` too. There is no pre-tokenization; but no
piece reaches over the space before a word, so words can be cut one by one and remembered.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from tokbench.bench.model import Fingerprint, Ids, Merging
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl import own_json
from tokbench.tokenizers_impl.files import well_formed
from tokbench.tokenizers_impl.sentencepiece.pieces import Pieces, PieceTokenizer, settings_of
from tokbench.tokenizers_impl.sentencepiece.text import TextOptions, WordSplitter, marked

FORMAT = "tokbench.sentencepiece_bpe.1"


def merged_by_rank(text: str, ranks: Mapping[str, int]) -> list[str]:
    """Return the pieces of a text: the definition, quadratic in its length."""
    parts = list(text)
    while True:
        found = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        if not found:
            return parts
        _, position = min(found)
        parts[position : position + 2] = [parts[position] + parts[position + 1]]


def merged_with_heap(text: str, ranks: Mapping[str, int]) -> list[str]:
    """Return the same pieces in n log n steps.

    The parts are a linked list; the heap holds the joins that could be made. One that was found
    for parts that have changed since is passed over.
    """
    parts: list[str] = list(text)
    following = list(range(1, len(parts) + 1))
    previous = list(range(-1, len(parts) - 1))
    heap: list[tuple[int, int, str]] = []
    for left in range(len(parts) - 1):
        piece = parts[left] + parts[left + 1]
        if (rank := ranks.get(piece)) is not None:
            heap.append((rank, left, piece))
    heapq.heapify(heap)
    while heap:
        _, left, piece = heapq.heappop(heap)
        right = following[left]
        if not parts[left] or right == len(parts) or parts[left] + parts[right] != piece:
            continue
        parts[left], parts[right] = piece, ""
        after = following[left] = following[right]
        if after < len(parts):
            previous[after] = left
        for first, second in ((previous[left], left), (left, after)):
            if first >= 0 and second < len(parts):
                joined = parts[first] + parts[second]
                if (rank := ranks.get(joined)) is not None:
                    heapq.heappush(heap, (rank, first, joined))
    return [part for part in parts if part]


class SentencePieceBPETokenizer(PieceTokenizer):
    """A SentencePiece-style BPE vocabulary at work; satisfies `tokbench.bench.model.Tokenizer`.

    Pieces of one character need no rank; the others are ranked in the order given.

    >>> tokenizer = SentencePieceBPETokenizer(["<unk>", "ab", "▁ab", "▁", "a", "b"])
    >>> tokenizer.encode_batch(["ab aX"])
    [[2, 3, 4, 0]]
    >>> tokenizer.decode_batch([[2, 3, 4, 0]])
    ['ab a ⁇ ']
    """

    def __init__(
        self,
        pieces: Sequence[str],
        *,
        unknown: str = "<unk>",
        special_tokens: Sequence[str] = ("<unk>",),
        byte_fallback: bool = False,
        options: TextOptions | None = None,
    ) -> None:
        """Take pieces in the order of their ids, merges in the order of their ranks.

        Raises `TokenizerError` when a piece is there twice, or one that is needed is missing.
        """
        self.pieces = Pieces(
            pieces,
            unknown=unknown,
            special_tokens=special_tokens,
            byte_fallback=byte_fallback,
            options=options,
        )
        longer = [piece for piece in self.pieces.learned if len(piece) > 1]
        self.ranks = {piece: rank for rank, piece in enumerate(longer)}
        self._splitter = WordSplitter(self.ranks)
        self._words = _PieceCache(self)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What decides the ids, hashed."""
        return Fingerprint.of(**self.pieces.fingerprint_parts(), merges=list(self.ranks))

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""
        return [self.encode_marked(marked(text, self.pieces.options)) for text in texts]

    def encode_marked(self, text: str) -> list[int]:
        """Return the ids of text that is normalized already, with ``▁`` for its spaces."""
        raw: list[int] = []
        for ids in map(self._words.__getitem__, self._splitter.split(text)):
            raw += ids
        return self.pieces.finished(text, raw)

    def merging(self) -> Merging:
        """Return how it joins: characters, by the rank of what they become."""
        ranks, learned = self.ranks, self.pieces.learned

        def join(left: str, right: str) -> tuple[int, str] | None:
            rank = ranks.get(left + right)
            return None if rank is None else (rank, left + right)

        return Merging(entries=lambda: ((i, piece) for piece, i in learned.items()), join=join)


class _PieceCache(dict[str, list[int]]):
    """Words that were cut before; cleared when full, so memory is bounded."""

    LIMIT = 1 << 18
    LONGEST = 48

    def __init__(self, tokenizer: SentencePieceBPETokenizer) -> None:
        super().__init__()
        self._ranks = tokenizer.ranks
        self._get = tokenizer.pieces.learned.get
        self._unknown = tokenizer.pieces.unknown_id

    def __missing__(self, word: str) -> list[int]:
        get, unknown = self._get, self._unknown
        ids = [get(part, unknown) for part in merged_with_heap(word, self._ranks)]
        if len(word) <= self.LONGEST:
            if len(self) >= self.LIMIT:
                self.clear()
            self[word] = ids
        return ids


class SentencePieceBPE(TokenizerPlugin):
    """tokbench's own SentencePiece-style BPE, from tokbench's JSON."""

    file: str = Field(description="tokbench's own JSON.")

    def load(self, context: LoadContext) -> SentencePieceBPETokenizer:
        """Read the file; raise `TokenizerError` with what to do when it cannot be used."""
        path = context.resolve(self.file)
        return from_json(own_json.read_text(path), path)


def to_json(tokenizer: SentencePieceBPETokenizer) -> str:
    """Write tokbench's own format: options by name, then pieces in the order of ids and ranks."""
    content = {
        "format": FORMAT,
        **tokenizer.pieces.settings(),
        "pieces": tokenizer.pieces.texts,
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def from_json(text: str, path: Path) -> SentencePieceBPETokenizer:
    """Read what `to_json` wrote; `path` is for the message when it is something else."""
    content = own_json.parse(text, path, FORMAT)
    with well_formed(path.name, f"a whole {FORMAT} file"):
        return SentencePieceBPETokenizer(
            content["pieces"],
            **settings_of(content),
        )
