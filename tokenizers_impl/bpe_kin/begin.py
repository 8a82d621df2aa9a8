"""What trainers that go on from other merges share: where they begin, and what they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokbench.bench.plugins import Trace, TrainedModel
from tokbench.tokenizers_impl.byte_bpe.formats import write_own_json, write_tokenizer_json
from tokbench.tokenizers_impl.byte_bpe.learning import Begun, Learned
from tokbench.tokenizers_impl.byte_bpe.merger import Merger
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel
from tokbench.tokenizers_impl.byte_bpe.trainer import PieceCounts, build_model
from tokbench.tokenizers_impl.pretokenize import pre_tokenization
from tokbench.tokenizers_impl.training_input import size_note


def begun_with(merges: Sequence[Learned]) -> Begun:
    """Return where learning goes on after merges.

    >>> begun_with([(97, 98, 1)]).cut(b"abb")
    [256, 98]
    """
    if not merges:
        return Begun(token_bytes=[bytes([byte]) for byte in range(256)], cut=list)
    model = build_model(merges, pre_tokenization("none"))
    contents = [model.entries[i] for i in range(256 + len(merges))]
    return Begun(token_bytes=contents, cut=cut_by(model, {i: i for i in model.entries}))


def cut_by(model: BytePairModel, number: dict[int, int]) -> Callable[[bytes], Sequence[int]]:
    """Return a function that cuts a piece by a model, with tokens numbered anew."""
    merger, whole = Merger(model), model.whole_pieces or {}

    def cut(piece: bytes) -> list[int]:
        if piece in whole:
            return [number[whole[piece]]]
        return [number[token] for token in merger.merge_long(piece) if token >= 0]

    return cut


def later(trace: Trace, merges: int) -> Trace:
    """Return a trace that counts ranks from after so many merges."""
    return lambda event: trace(replace(event, rank=event.rank + merges))


def saved(
    model: BytePairModel, folder: Path, counted: PieceCounts, wanted: int, facts: dict[str, Any]
) -> TrainedModel:
    """Write a model in both formats and describe it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_own_json(model, folder / "model.json")
    write_tokenizer_json(model, folder / "tokenizer.json")
    reached = len(model.entries) + len(model.special_tokens)
    return TrainedModel(
        tokenizer={"type": "byte_bpe", "file": "model.json"},
        vocab_size_requested=wanted,
        vocab_size_reached=reached,
        documents=counted.documents,
        bytes=counted.bytes,
        notes=size_note(wanted, reached),
        facts={**facts, "n_special": len(model.special_tokens)},
    )
