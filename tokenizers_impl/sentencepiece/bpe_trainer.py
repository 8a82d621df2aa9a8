"""Training SentencePiece-style BPE: over characters, by pair frequency, spaces included.

The rules for counts and ties are those of `joins`, whose `recounted_joins` is the definition; what
learns them fast is that of byte-level BPE, begun with characters. Pieces are ranked in the order they were
learned; single characters come after them, since they are never joined into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tokbench.bench.plugins import MergeEvent, MergeTrainer, Trace, TrainedModel
from tokbench.tokenizers_impl.byte_bpe.learning import Begun, Occurring, Ties
from tokbench.tokenizers_impl.byte_bpe.positions import IntArray
from tokbench.tokenizers_impl.byte_bpe.shared_tokens import SharedTokens
from tokbench.tokenizers_impl.sentencepiece.bpe import SentencePieceBPETokenizer, to_json
from tokbench.tokenizers_impl.sentencepiece.files import bpe_model, bpe_tokenizer_json
from tokbench.tokenizers_impl.sentencepiece.text import marked
from tokbench.tokenizers_impl.sentencepiece.words import SentencePieceStyleTrainer
from tokbench.tokenizers_impl.training_input import TrainingTexts


def train_pieces(
    words: Mapping[str, int],
    *,
    n_pieces: int,
    min_frequency: int = 2,
    longest: int = 16,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> list[str]:
    """Return merges in the order they were learned, then the characters.

    >>> train_pieces({"▁low": 5, "▁lower": 2, "▁newer": 6}, n_pieces=12)
    ['er', 'wer', 'lo', '▁lo', 'ewer', 'e', 'l', 'n', 'o', 'r', 'w', '▁']
    """
    characters = sorted({character for word in words for character in word})
    state = _PieceLearning(words, characters, max(1, min_frequency), ties, longest)
    merges: dict[str, None] = {}
    rank = 0
    while len(merges) + len(characters) < n_pieces and (best := state.best()) is not None:
        count, pair, positions = best
        if trace is not None:
            trace(state.event(rank, count, pair))
        token, _ = state.join_as_one(pair, positions)
        merges.setdefault(state.token_bytes[token].decode())
        rank += 1
    return [*merges, *characters]


class _Characters(Begun):
    """Pieces cut into characters; those beyond ASCII are tokens in their order, after the bytes."""

    def cut_all(self, pieces: Sequence[bytes]) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Return the characters of all pieces as tokens, and how many each piece has."""
        words = [piece.decode() for piece in pieces]
        codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
        longer = np.array([ord(data.decode()) for data in self.token_bytes[256:]], np.uint32)
        tokens = np.where(codes < 0x80, codes, 256 + np.searchsorted(longer, codes))
        return tokens.astype(np.int32), np.fromiter(map(len, words), np.int64, len(words))


class _PieceLearning(SharedTokens):
    """Learning over characters, with tokens of at most `longest` of them."""

    def __init__(
        self,
        words: Mapping[str, int],
        characters: Sequence[str],
        min_frequency: int,
        ties: Ties,
        longest: int,
    ) -> None:
        self.longest = longest
        longer = [character for character in characters if ord(character) >= 0x80]
        tokens = [bytes([byte]) for byte in range(256)] + [c.encode() for c in longer]
        begun = _Characters(token_bytes=tokens, cut=list)
        pieces = {word.encode(): count for word, count in words.items()}
        super().__init__(pieces, min_frequency, ties, begun=begun)

    def may_join(self, left: int, right: int) -> bool:
        """Return whether two make a piece that is not too long."""
        made = self.token_bytes[left] + self.token_bytes[right]
        return len(made) <= self.longest or len(made.decode()) <= self.longest

    def event(self, rank: int, count: int, pair: Occurring) -> MergeEvent:
        """Describe a join that is about to be carried out."""
        left, right = self.token_bytes[pair.left], self.token_bytes[pair.right]
        return MergeEvent(
            rank=rank,
            left=left,
            right=right,
            token=left + right,
            count=count,
            rivals=lambda n: [r for r in self.rivals(n) if r.count >= self.min_frequency],
        )


class SentencePieceBPETrainer(SentencePieceStyleTrainer, MergeTrainer):
    """tokbench's own SentencePiece-style BPE trainer."""

    min_frequency: int = Field(2, ge=1, description="How often a pair must occur to be joined.")
    max_piece_length: int = Field(16, gt=0, description="Longest piece, in characters.")
    ties: Ties = Field(
        "smallest",
        description="Of equal pairs, join the `smallest` in code point order, or the one that is "
        "`first_seen` in the text, as textbooks do.",
    )

    def symbols(self, word: str) -> list[bytes]:
        """Return the characters of a word, with the space before it as ``▁``."""
        return [character.encode() for character in marked(word, self.text_options())]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``sentencepiece_bpe.json``, ``tokenizer.json`` and, if asked, ``tokenizer.model``.

        Raises `TrainingError` for input that cannot be trained on.
        """
        checked = TrainingTexts(texts)
        words = self.words(checked, in_order=True)  # which matters only to ties `first_seen`
        apart = self.pieces_apart()
        pieces = train_pieces(
            words,
            n_pieces=self.vocab_size - len(apart),
            min_frequency=self.min_frequency,
            longest=self.max_piece_length,
            ties=self.ties,
            trace=trace,
        )
        tokenizer = SentencePieceBPETokenizer([*apart, *pieces], **self.tokenizer_options())
        return self.saved(
            "sentencepiece_bpe",
            tokenizer,
            folder,
            checked,
            own_json=to_json,
            tokenizer_json=bpe_tokenizer_json,
            model=bpe_model,
        )
