"""Trainers of vocabularies without the entries that were only steps on the way.

`picky_bpe` drops them while it trains, and learns others in their place. `trimmed_bpe` takes a
vocabulary that is there and drops, at the end, what a text hardly uses (Cognetta, Hiraoka, Okazaki,
Sennrich and Pinter 2024, arXiv 2404.00397).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from tokbench.bench.errors import TrainingError
from tokbench.bench.markup import plural
from tokbench.bench.plugins import MergeTrainer, Trace, TrainedModel, TrainerPlugin
from tokbench.tokenizers_impl.byte_bpe.formats import load_model
from tokbench.tokenizers_impl.byte_bpe.learning import Ties
from tokbench.tokenizers_impl.byte_bpe.merger import Merger
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.trainer import PieceCounts, count_pieces
from tokbench.tokenizers_impl.picky.events import DropEvent, EventModel
from tokbench.tokenizers_impl.picky.files import write_events
from tokbench.tokenizers_impl.picky.learning import picky_events, with_drops
from tokbench.tokenizers_impl.pretokenize import pre_tokenization
from tokbench.tokenizers_impl.training_input import SpecialTokens, size_note


class PickyBPETrainer(MergeTrainer):
    """PickyBPE: parts that hardly occur outside a merge are dropped as soon as it is made."""

    vocab_size: int = Field(gt=0, description="Bytes, entries and special tokens together.")
    threshold: float = Field(
        0.9,
        gt=0,
        le=1,
        description="A part is dropped when more than this share of its occurrences was in the "
        "pair that is joined; 1 drops nothing.",
    )
    pre_tokenization: str = Field("gpt2", description="Pattern that cuts text, by name.")
    special_tokens: SpecialTokens = Field((), description="In the order of their ids.")
    min_frequency: int = Field(2, ge=1, description="Rarer pairs are not merged.")
    ties: Ties = Field("smallest", description="As in `byte_bpe`.")

    @model_validator(mode="after")
    def _check(self) -> PickyBPETrainer:
        pre_tokenization(self.pre_tokenization)
        return self

    def symbols(self, word: str) -> list[bytes]:
        """Return the bytes of a word."""
        return [bytes([byte]) for byte in word.encode()]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``events.json``; `TrainingError` as `count_pieces`."""
        rule = pre_tokenization(self.pre_tokenization)
        counted = count_pieces(texts, rule)
        contents, events = picky_events(
            counted.pieces,
            max(0, self.vocab_size - 256 - len(self.special_tokens)),
            self.threshold,
            min_frequency=self.min_frequency,
            ties=self.ties,
            trace=trace,
        )
        model = EventModel(
            token_bytes=contents,
            events=tuple(events),
            pre_tokenization=rule,
            special_tokens={name: i for i, name in enumerate(self.special_tokens)},
        )
        how = (
            f"most frequent pair of bytes; parts above {self.threshold:g} of intersection over "
            f"self dropped; pre-tokenization {self.pre_tokenization}; all 256 bytes"
        )
        return _saved(model, folder, counted, self.vocab_size, {"how": how})


class TrimmedBPETrainer(TrainerPlugin):
    """A byte-level BPE vocabulary without the entries that a text does not use."""

    file: str = Field(
        description="The vocabulary to trim: a rank file, a `tokenizer.json` or tokbench's JSON; "
        "an absolute path, or one from where tokbench was started."
    )
    pre_tokenization: str | None = Field(
        None, description="Name of the pattern of a rank file; other files hold theirs."
    )
    least: int = Field(
        1, ge=1, description="Entries that the text, encoded, has fewer times are dropped."
    )

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``events.json``; `TrainingError` as `count_pieces`.

        Ids are given out anew, in the old order. Raises `TrainingError` for a vocabulary with
        entries that merging does not reach.
        """
        base = self._base()
        counted = count_pieces(texts, base.pre_tokenization)
        merger, used = Merger(base), np.zeros(base.n_ids, np.int64)
        for piece, count in counted.pieces.items():
            for token in merger.merge_long(piece):
                if token >= 0:
                    used[token] += count
        model = trimmed(base, {i for i in base.entries if used[i] < self.least})
        how = f"{Path(self.file).name} without the entries that occur fewer than {self.least} times"
        facts = {"how": how, "old_entries": len(base.entries)}
        reached = len(model.ids) + len(model.special_tokens)
        return _saved(model, folder, counted, reached, facts)

    def _base(self) -> BytePairModel:
        rule = None if self.pre_tokenization is None else pre_tokenization(self.pre_tokenization)
        base = load_model(Path(self.file).expanduser(), rule=rule)
        made = {*base.byte_ids, *(joined for _, _, joined in base.merges)}
        if len(made) < len(base.entries):
            raise TrainingError(
                f"{Path(self.file).name} has "
                f"{plural(len(base.entries) - len(made), 'entry', 'entries')} that only the "
                "whole-piece shortcut gives; trimmed_bpe requires a vocabulary of merges"
            )
        return base


def trimmed(base: BytePairModel, unwanted: set[int]) -> EventModel:
    """Return a vocabulary with drops of all unwanted entries but bytes after its merges."""
    made = [joined for _, _, joined in base.merges]
    number = {id: n for n, id in enumerate(chain(base.byte_ids, dict.fromkeys(made)))}
    contents = tuple(base.entries[id] for id in number)
    merges = [(number[a], number[b], number[c]) for a, b, c in base.merges]
    gone = sorted((number[i] for i in unwanted.intersection(made)), reverse=True)
    return EventModel(
        token_bytes=contents,
        events=tuple(with_drops(contents, merges, gone)),
        pre_tokenization=base.pre_tokenization,
        special_tokens=base.special_tokens,
    )


def _saved(
    model: EventModel, folder: Path, counted: PieceCounts, wanted: int, facts: dict[str, Any]
) -> TrainedModel:
    folder.mkdir(parents=True, exist_ok=True)
    write_events(model, folder / "events.json")
    drops = sum(isinstance(event, DropEvent) for event in model.events)
    reached = len(model.ids) + len(model.special_tokens)
    return TrainedModel(
        tokenizer={"type": "event_bpe", "file": "events.json"},
        vocab_size_requested=wanted,
        vocab_size_reached=reached,
        documents=counted.documents,
        bytes=counted.bytes,
        notes=size_note(wanted, reached),
        facts={
            **facts,
            "n_merges": len(model.events) - drops,
            "n_drops": drops,
            "dropped_entries": len(model.dropped),
            "n_special": len(model.special_tokens),
        },
    )
