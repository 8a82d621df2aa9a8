"""Does the text survive: round trips, unknown tokens, lost bytes, pieces of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import LOSS_CAUSES, ROUND_TRIP, Cell
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.suites.fidelity.specs import (
    BYTE_FALLBACK_RATE,
    BYTE_SUM_BREACHES,
    LOST_BYTE_SHARE,
    PARTIAL_CHARACTER_RATE,
    ROUND_TRIP_SHARE,
    SPECIAL_SPELLINGS,
    UNK_RATE,
)
from tokbench.suites.rows import Why, row


class Fidelity(CountsSuite):
    """Round trips and losses of every cell, and over all languages of a corpus."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        ROUND_TRIP_SHARE,
        UNK_RATE,
        LOST_BYTE_SHARE,
        BYTE_FALLBACK_RATE,
        PARTIAL_CHARACTER_RATE,
        SPECIAL_SPELLINGS,
        BYTE_SUM_BREACHES,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return fidelity metrics of every cell."""
        for cell in tallies.counted():
            yield from _round_trip(cell)
            yield from _losses(cell, tallies)
            yield from _rates(cell)
            yield row(cell, SPECIAL_SPELLINGS, cell.tally.total("spells_special"))
            if tallies.tokenizers[cell.key.tokenizer].byte_exact:
                yield row(cell, BYTE_SUM_BREACHES, cell.tally.total("byte_sum_breach"))


def _round_trip(cell: Cell) -> Iterator[Measurement]:
    for number, name in enumerate(ROUND_TRIP):
        count = cell.tally.round_trip_count(number)
        params = {"class": name, "documents": count}
        yield row(cell, ROUND_TRIP_SHARE, count / cell.tally.n, params=params)


def _losses(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    n_bytes = cell.tally.total("bytes")
    if not n_bytes:
        yield row(cell, LOST_BYTE_SHARE, None, why=Why("no_text", "no bytes: nothing to lose"))
        return
    yield row(cell, LOST_BYTE_SHARE, tallies.lost_share(cell))
    for cause in LOSS_CAUSES:
        lost = cell.tally.total(f"lost_{cause}")
        if lost:
            yield row(cell, LOST_BYTE_SHARE, lost / n_bytes, params={"cause": cause})


def _rates(cell: Cell) -> Iterator[Measurement]:
    n_tokens = cell.tally.total("tokens")
    for metric, column in (
        (UNK_RATE, "unknown"),
        (BYTE_FALLBACK_RATE, "byte_fallback"),
        (PARTIAL_CHARACTER_RATE, "partial_character"),
    ):
        value = cell.tally.total(column) / n_tokens if n_tokens else None
        why = None if n_tokens else Why("no_tokens", "no tokens: nothing to divide by")
        yield row(cell, metric, value, why=why)
