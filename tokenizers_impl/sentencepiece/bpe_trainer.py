"""Training SentencePiece-style BPE: over characters, by pair frequency, spaces included.

The rules for counts and ties are those of `joins`. Pieces are ranked in the order they were
learned; single characters come after them, since they are never joined into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field

from tokbench.bench.plugins import MergeTrainer, TextSizes, Trace, TrainedModel
from tokbench.tokenizers_impl.joins import Ties, learned_joins, told
from tokbench.tokenizers_impl.sentencepiece.bpe import SentencePieceBPETokenizer, to_json
from tokbench.tokenizers_impl.sentencepiece.files import bpe_model, bpe_tokenizer_json
from tokbench.tokenizers_impl.sentencepiece.text import marked
from tokbench.tokenizers_impl.sentencepiece.words import SentencePieceStyleTrainer
from tokbench.tokenizers_impl.training_input import LONG_WORD, TrainingTexts, unbroken


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
    joins = learned_joins(
        words, rule="frequency", min_frequency=min_frequency, longest=longest, ties=ties
    )
    joins = told(joins, trace)
    merges: dict[str, None] = {}
    while len(merges) + len(characters) < n_pieces and (join := next(joins, None)):
        merges.setdefault(join.token)
    return [*merges, *characters]


class SentencePieceBPETrainer(SentencePieceStyleTrainer, MergeTrainer):
    """tokbench's own SentencePiece-style BPE trainer."""

    min_frequency: int = Field(2, ge=1, description="How often a pair must occur to be joined.")
    max_piece_length: int = Field(16, gt=0, description="Longest piece, in characters.")
    ties: Ties = Field(
        "smallest",
        description="Of equal pairs, join the `smallest` in code point order, or the one that is "
        "`first_seen` in the text, as textbooks do.",
    )

    def warning(self, sizes: TextSizes) -> str | None:
        """Estimate the time where the text has long stretches in which no piece ends."""
        # each join goes through the words that hold it from end to end: measured, 10,000 to 40,000
        pattern = r"[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}\s]+" if self.split_by_class else r"\S+"
        long = sizes.in_long(pattern) if sizes.longest > LONG_WORD else 0
        seconds = 0.4e-6 * long * self.vocab_size
        return None if seconds < 30 else unbroken(long, seconds=seconds)

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
        words = self.words(checked, in_order=self.ties == "first_seen")
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
