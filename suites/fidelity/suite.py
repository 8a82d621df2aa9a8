"""Does the text survive: round trips, unknown tokens, lost bytes, pieces of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np

from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import EXACT, LOSS_CAUSES, ROUND_TRIP, Cell
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.suites.fidelity.specs import (
    BYTE_FALLBACK_RATE,
    BYTE_SUM_BREACHES,
    LOST_BYTE_SHARE,
    PARTIAL_CHARACTER_RATE,
    ROUND_TRIP_SHARE,
    SPECIAL_SPELLINGS,
    UNK_RATE,
)
from tokbench.suites.rows import row


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
            yield from _collisions(cell, tallies)
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


def _collisions(cell: Cell, tallies: Tallies) -> Iterator[Finding]:
    """Yield a finding where different texts have the same ids, with one pair of them.

    At most one of several texts with the same ids can come back, so only groups with a document
    that does not are looked at; texts differ where their counts or round trips do.
    """
    documents = cell.tally.documents
    if not (documents["round_trip"] != EXACT).any():
        return
    facts = np.stack([documents[name] for name in _OF_A_TEXT], axis=1)
    order = np.argsort(cell.tally.ids_hash, kind="stable")
    hashes = cell.tally.ids_hash[order]
    pairs = np.flatnonzero(
        (hashes[1:] == hashes[:-1]) & (facts[order[1:]] != facts[order[:-1]]).any(axis=1)
    )
    if not len(pairs):
        return
    ids = tallies.facts(cell.key).document_ids
    first, second = (ids[int(cell.tally.rows[order[pairs[0] + step]])] for step in (0, 1))
    yield Finding(
        kind="warning",
        reason="collision",
        **cell.key._asdict(),
        document_id=first,
        message=f"different texts have the same ids: {first} and {second}"
        + (f", and {len(pairs) - 1:,} more" if len(pairs) > 1 else ""),
        data={"class": "collision", "documents": [first, second], "pairs": len(pairs)},
    )


_OF_A_TEXT = ("bytes", "characters", "graphemes", "round_trip", *(f"lost_{c}" for c in LOSS_CAUSES))
