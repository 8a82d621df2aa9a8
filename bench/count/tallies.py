"""Everything a run has counted, as the suites get it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tokbench.bench.count.resampling import Resampling
from tokbench.bench.count.tally import (
    EXACT,
    LOSS_CAUSES,
    NORMALIZED,
    ArrayTally,
    Cell,
    CellKey,
    CorpusFacts,
    Tally,
    TokenizerFacts,
)
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.markup import percent, plural
from tokbench.bench.model import Place
from tokbench.bench.reasons import Why, known_reason


@dataclass(frozen=True, kw_only=True)
class Tallies:
    """Everything a run has counted: the only input of the suites that need `counts`.

    `cells` holds every planned cell, failed ones too.
    """

    cells: Mapping[CellKey, Cell]
    tokenizers: Mapping[str, TokenizerFacts]
    corpora: Mapping[Place, CorpusFacts]
    seed: int
    resamples: int
    lost_limit: float
    rank_lost_limit: float = 0.001
    contents: Mapping[str, Contents] = field(default_factory=dict)
    """Contents of the ids of each tokenizer."""

    def counted(self) -> list[Cell]:
        """Return the cells that have numbers, in the order of the config."""
        return [c for c in self.cells.values() if c.status in ("ok", "partial") and c.tally.n]

    def facts(self, key: CellKey) -> CorpusFacts:
        """Return what is known of the text of a cell."""
        return self.corpora[key.place]

    def why_unranked(self, cell: Cell) -> Why | None:
        """Return why the values of a cell must not be compared, None where they may be."""
        if cell.key not in self._unranked:
            self._unranked[cell.key] = self._why_unranked(cell)
        return self._unranked[cell.key]

    def _why_unranked(self, cell: Cell) -> Why | None:
        tally, trained = cell.tally, self.tokenizers[cell.key.tokenizer].trained
        if cell.status == "partial":
            return Why("documents_failed", "not ranked: some documents failed")
        if not tally.total("tokens"):
            return Why("no_tokens", "not ranked: no tokens")
        if breaches := tally.total("byte_sum_breach"):
            words = f"the bytes of the tokens do not add up in {plural(breaches, 'document')}"
            return Why("byte_sum_breached", f"not ranked: {words}")
        lost = self.lost_share(cell) or 0.0
        for reason, limit in (("lost_text", self.lost_limit), ("lossy", self.rank_lost_limit)):
            if lost > limit:
                words = f"{percent(lost)} of the text's bytes are lost (limit {percent(limit)})"
                return Why(known_reason(reason), f"not ranked: {words}")
        if not kept_documents(tally):
            return Why("never_exact", "not ranked: no document comes back")
        if trained and self._is_training_text(cell, trained):
            return Why("trained_on_text", "not ranked: the tokenizer was trained on this text")
        return None

    def _is_training_text(self, cell: Cell, trained: Mapping[str, Any]) -> bool:
        return self.facts(cell.key).sha256 in trained["text"]

    def lost_share(self, cell: Cell) -> float | None:
        """Share of input bytes that did not survive, None for a cell without bytes."""
        n_bytes = cell.tally.total("bytes")
        lost = sum(cell.tally.total(f"lost_{cause}") for cause in LOSS_CAUSES)
        return lost / n_bytes if n_bytes else None

    @cached_property
    def _unranked(self) -> dict[CellKey, Why | None]:
        return {}

    @cached_property
    def resampling(self) -> Resampling:
        """The bootstrap shared by all suites of a run."""
        return Resampling(
            cells=self.counted(), corpora=self.corpora, seed=self.seed, resamples=self.resamples
        )


def kept_documents(tally: Tally) -> int:
    """Count the documents that come back.

    Outer white space, one added leading space and the Unicode normal form may differ.
    """
    return sum(map(_kept_documents, tally.parts()))


def _kept_documents(part: ArrayTally) -> int:
    lost = sum(part.documents[f"lost_{cause}"] for cause in LOSS_CAUSES)
    kinds = part.documents["round_trip"]
    return int(((kinds == EXACT) | ((kinds == NORMALIZED) & (lost == 0))).sum())
