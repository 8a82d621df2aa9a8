"""Two trainers that go on where byte-level BPE has stopped.

`superbpe` (Liu, Hayase, Hofmann, Oh, Smith and Choi 2025, arXiv 2503.13423) learns words first, as
BPE does, up to a transition size; then pieces are no longer cut between words, and what is learned
from there on may reach over spaces: ``␣of␣the``. Numbers and line ends stay barriers, and a token
has at most so many words.

`extended_bpe` continues the merges of a vocabulary that is there on other text. Old ids stay what
they were; new entries come after the highest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pydantic import Field, model_validator

from tokbench.bench.plugins import MergeTrainer, Trace, TrainedModel
from tokbench.tokenizers_impl.bpe_kin.begin import begun_with, cut_by, later, saved
from tokbench.tokenizers_impl.byte_bpe.formats import load_model
from tokbench.tokenizers_impl.byte_bpe.merger import Merger
from tokbench.tokenizers_impl.byte_bpe.merges import (
    Begun,
    Learned,
    Ties,
    continued_merges,
    fast_merges,
)
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, Merge
from tokbench.tokenizers_impl.byte_bpe.trainer import PieceCounts, build_model, count_pieces
from tokbench.tokenizers_impl.pretokenize import PreTokenization, from_pattern, pre_tokenization
from tokbench.tokenizers_impl.training_input import SpecialTokens

BARRIERS = r"\p{N}{1,3}|[\r\n]+|[^\r\n\p{N}]+"
"""Cuts of the second phase: numbers of up to three digits, line ends, and what is between."""


def words_within(counted: PieceCounts, rule: PreTokenization) -> dict[bytes, int]:
    """Return the pieces of the first phase: those of the second cut further.

    So no entry of the first phase reaches over a barrier of the second.

    >>> counted = PieceCounts(pieces={b"of the of": 2}, documents=1, bytes=18)
    >>> words_within(counted, pre_tokenization("gpt2"))
    {b'of': 2, b' the': 2, b' of': 2}
    """
    words: dict[bytes, int] = {}
    for piece, count in counted.pieces.items():
        for word in rule.split(piece.decode()):
            data = word.encode()
            words[data] = words.get(data, 0) + count
    return words


class SuperBPETrainer(MergeTrainer):
    """SuperBPE: byte-level BPE whose later entries may hold several words."""

    vocab_size: int = Field(gt=0, description="Bytes, merges and special tokens together.")
    transition: int = Field(gt=0, description="Size at which entries begin to reach over spaces.")
    pre_tokenization: str = Field("gpt2", description="Cuts of the first phase, by name.")
    barriers: str = Field(BARRIERS, description="Pattern that cuts in the second phase.")
    most_words: int = Field(4, ge=1, description="Words that a token may hold.")
    special_tokens: SpecialTokens = Field((), description="In the order of their ids.")
    min_frequency: int = Field(2, ge=1, description="Rarer pairs are not merged.")
    ties: Ties = Field("smallest", description="As in `byte_bpe`.")

    @model_validator(mode="after")
    def _check(self) -> SuperBPETrainer:
        if self.transition > self.vocab_size:
            raise ValueError(f"transition {self.transition} is above vocab_size {self.vocab_size}")
        pre_tokenization(self.pre_tokenization)
        from_pattern(self.barriers)
        return self

    def symbols(self, word: str) -> list[bytes]:
        """Return the bytes of a word."""
        return [bytes([byte]) for byte in word.encode()]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``model.json`` and ``tokenizer.json``; `TrainingError` as `count_pieces`."""
        rule = from_pattern(self.barriers)
        counted = count_pieces(texts, rule)
        least = 256 + len(self.special_tokens)
        first = fast_merges(
            words_within(counted, pre_tokenization(self.pre_tokenization)),
            max(0, self.transition - least),
            min_frequency=self.min_frequency,
            ties=self.ties,
            trace=trace,
        )
        second = self._second(counted, first, max(0, self.vocab_size - least - len(first)), trace)
        special = {name: i for i, name in enumerate(self.special_tokens)}
        model = build_model([*first, *second], rule, special)
        facts = {
            "n_merges": len(first) + len(second),
            "transition": least + len(first),
            "over_spaces": sum(len(data.split()) > 1 for data in model.entries.values()),
            "how": f"most frequent pair of bytes; pre-tokenization {self.pre_tokenization} up to "
            f"{self.transition:,} entries, then up to {self.most_words} words; all 256 bytes",
        }
        return saved(model, folder, counted, self.vocab_size, facts)

    def _second(
        self, counted: PieceCounts, first: list[Learned], n: int, trace: Trace | None
    ) -> list[Learned]:
        return continued_merges(
            counted.pieces,
            n,
            begun_with(first),
            min_frequency=self.min_frequency,
            ties=self.ties,
            most_words=self.most_words,
            trace=None if trace is None else later(trace, len(first)),
        )


class ExtendedBPETrainer(MergeTrainer):
    """Further merges for a byte-level BPE vocabulary that is there, learned from other text."""

    file: str = Field(
        description="The vocabulary to extend: a rank file, a `tokenizer.json` or tokbench's JSON; "
        "an absolute path, or one from where tokbench was started."
    )
    pre_tokenization: str | None = Field(
        None, description="Name of the pattern of a rank file; other files hold theirs."
    )
    additional_entries: int = Field(gt=0, description="Entries to add.")
    min_frequency: int = Field(2, ge=1, description="Rarer pairs are not merged.")
    ties: Ties = Field("smallest", description="As in `byte_bpe`.")

    def symbols(self, word: str) -> list[bytes]:
        """Return the tokens of the vocabulary that a word begins from."""
        base = self._base()
        merger = Merger(base)
        return [base.entries[i] for i in merger.merge_long(word.encode()) if i >= 0]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``model.json`` and ``tokenizer.json``; `TrainingError` as `count_pieces`."""
        base = self._base()
        counted = count_pieces(texts, base.pre_tokenization)
        ids = [*base.byte_ids, *(i for i in base.entries if i not in set(base.byte_ids))]
        number = {id: n for n, id in enumerate(ids)}
        learned = continued_merges(
            counted.pieces,
            self.additional_entries,
            Begun(token_bytes=[base.entries[i] for i in ids], cut=cut_by(base, number)),
            min_frequency=self.min_frequency,
            ties=self.ties,
            trace=None if trace is None else later(trace, len(base.merges)),
        )
        ids += range(base.n_ids, base.n_ids + len(learned))
        new: list[Merge] = [
            (ids[left], ids[right], base.n_ids + k) for k, (left, right, _) in enumerate(learned)
        ]
        model = replace(base, merges=(*base.merges, *new))
        facts = {
            "n_merges": len(model.merges),
            "old_entries": len(base.entries),
            "added_entries": len(new),
            "how": f"{len(new):,} merges after the {len(base.merges):,} of {Path(self.file).name}",
        }
        size = len(base.entries) + len(base.special_tokens) + self.additional_entries
        return saved(model, folder, counted, size, facts)

    def _base(self) -> BytePairModel:
        rule = None if self.pre_tokenization is None else pre_tokenization(self.pre_tokenization)
        return load_model(Path(self.file).expanduser(), rule=rule)
