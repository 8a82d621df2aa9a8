"""Everything a run has counted, as the suites get it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tokbench.bench.count.resampling import Resampling
from tokbench.bench.count.tally import LOSS_CAUSES, Cell, CellKey, CorpusFacts, TokenizerFacts
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import Place


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
    contents: Mapping[str, Contents] = field(default_factory=dict)
    """What the ids of each tokenizer stand for."""

    def counted(self) -> list[Cell]:
        """Return the cells that have numbers, in the order of the config."""
        return [c for c in self.cells.values() if c.status in ("ok", "partial") and c.tally.n]

    def facts(self, key: CellKey) -> CorpusFacts:
        """Return what is known of the text of a cell."""
        return self.corpora[key.place]

    def lost_share(self, cell: Cell) -> float | None:
        """Share of input bytes that did not survive, None for a cell without bytes."""
        n_bytes = cell.tally.total("bytes")
        lost = sum(cell.tally.total(f"lost_{cause}") for cause in LOSS_CAUSES)
        return lost / n_bytes if n_bytes else None

    @cached_property
    def resampling(self) -> Resampling:
        """The bootstrap shared by all suites of a run."""
        return Resampling(
            cells=self.counted(), corpora=self.corpora, seed=self.seed, resamples=self.resamples
        )
