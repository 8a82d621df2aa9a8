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
from functools import cached_property, partial
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from pydantic import Field

from tokbench.bench.model import Fingerprint, Ids, Merging
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl import own_json
from tokbench.tokenizers_impl.files import well_formed
from tokbench.tokenizers_impl.sentencepiece.merger import CharacterMerger
from tokbench.tokenizers_impl.sentencepiece.pieces import Pieces, PieceTokenizer, settings_of
from tokbench.tokenizers_impl.sentencepiece.text import TextOptions, WordSplitter, marked
from tokbench.tokenizers_impl.word_table import WordTable, blocks

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

    Pieces of one character need no rank; the others are ranked in the order given, or by scores,
    as those of published models are.

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
        scores: Sequence[float] | None = None,
    ) -> None:
        """Take pieces in the order of their ids, merges in the order of their ranks; or with
        `scores` by id, of which the highest comes first, and of equal ones the leftmost pair.

        Raises `TokenizerError` when a piece is there twice, or one that is needed is missing.
        """
        self.pieces = Pieces(
            pieces,
            unknown=unknown,
            special_tokens=special_tokens,
            byte_fallback=byte_fallback,
            options=options,
        )
        self.scores = None if scores is None else tuple(map(float, scores))
        """Scores by id, where these rank the pieces and not their order."""
        self.ranks = _ranks(self.pieces, self.scores)
        """Rank by piece, in ascending order."""
        self._splitter = WordSplitter(self.ranks)
        split = partial(merged_with_heap, ranks=self.ranks)
        self._merger = CharacterMerger(self.pieces, self.ranks, split)
        self._words = WordTable()

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What decides the ids, hashed."""
        distinct = len(set(self.ranks.values())) == len(self.ranks)
        merges = list(self.ranks) if distinct else list(self.ranks.items())
        return Fingerprint.of(**self.pieces.fingerprint_parts(), merges=merges)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""
        return self.encode_marked_batch([marked(text, self.pieces.options) for text in texts])

    def encode_marked_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts that are normalized already, with ``▁`` for their spaces."""
        return [ids for block in blocks(texts) for ids in self._encode_block(block)]

    def encode_marked(self, text: str) -> list[int]:
        """Return the ids of one text that is normalized already."""
        return self.encode_marked_batch([text])[0]

    def encode_marked_slowly(self, text: str) -> list[int]:
        """Return the same ids by `merged_by_rank`, the definition."""
        get, unknown = self.pieces.learned.get, self.pieces.unknown_id
        parts = merged_by_rank(text, self.ranks)
        return self.pieces.finished(text, [get(part, unknown) for part in parts])

    def _encode_block(self, texts: Sequence[str]) -> list[list[int]]:
        split = list(map(self._splitter.split, texts))
        numbers, new = self._words.numbered(list(chain.from_iterable(split)))
        if new:
            self._words.learn(*self._merger.merge(new))
        ids, ends = self._words.ids_of(numbers)
        text_ends = np.cumsum(np.fromiter(map(len, split), np.int64, len(split)))
        return self.pieces.all_finished(texts, ids, np.append(0, ends).take(text_ends))

    def merging(self) -> Merging:
        """Return how it joins: characters, by the rank of what they become."""
        ranks, learned = self.ranks, self.pieces.learned

        def join(left: str, right: str) -> tuple[int, str] | None:
            rank = ranks.get(left + right)
            return None if rank is None else (rank, left + right)

        return Merging(entries=lambda: ((i, piece) for piece, i in learned.items()), join=join)


def _ranks(pieces: Pieces, scores: Sequence[float] | None) -> dict[str, int]:
    """Return the rank of each piece of several characters; equal scores have one rank.

    >>> pieces = Pieces(["<unk>", "ab", "bc", "cd", "a"])
    >>> _ranks(pieces, None), _ranks(pieces, [0, -1, -0.5, -1, 0])
    ({'ab': 0, 'bc': 1, 'cd': 2}, {'bc': 0, 'ab': 1, 'cd': 1})
    """
    longer = {piece: index for piece, index in pieces.learned.items() if len(piece) > 1}
    if scores is None:
        return {piece: rank for rank, piece in enumerate(longer)}
    score = {piece: scores[index] for piece, index in longer.items()}
    rank = {value: n for n, value in enumerate(sorted(set(score.values()), reverse=True))}
    return {piece: rank[score[piece]] for piece in sorted(longer, key=lambda p: -score[p])}


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
        **({} if tokenizer.scores is None else {"scores": tokenizer.scores}),
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def from_json(text: str, path: Path) -> SentencePieceBPETokenizer:
    """Read what `to_json` wrote; `path` is for the message when it is something else."""
    content = own_json.parse(text, path, FORMAT)
    with well_formed(path.name, f"a whole {FORMAT} file"):
        return SentencePieceBPETokenizer(
            content["pieces"],
            scores=content.get("scores"),
            **settings_of(content),
        )
