"""What follows what, and the shape of the frequencies, for every language of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, Need
from tokbench.bench.model import Finding, IntArray, Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why
from tokbench.suites.distributions import shape
from tokbench.suites.distributions.specs import (
    HEAPS_CURVE,
    NEIGHBOUR_METRICS,
    SHAPE_METRICS,
)
from tokbench.suites.histograms import merged
from tokbench.suites.rows import row, why_of

SHAPES: tuple[Callable[[IntArray], float | None], ...] = (
    shape.rank_frequency_area,
    shape.power_law_deviation,
    shape.heaps_exponent,
)
FEW = Why("too_few_ids", "too few ids or tokens were seen")


class Distributions(CountsSuite):
    """Successor entropy, accessor variety, area and straightness of frequencies, Heaps' curve."""

    needs: ClassVar[frozenset[Need]] = frozenset({"neighbours"})

    metrics: ClassVar[tuple[MetricSpec, ...]] = (*NEIGHBOUR_METRICS, *SHAPE_METRICS, HEAPS_CURVE)

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell, then those over all languages of a corpus."""
        groups: dict[tuple[str, str], list[Cell]] = {}
        for cell in tallies.counted():
            groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append(cell)
            yield from _neighbours(cell)
            for metric, value in _shapes(cell.tally.histogram_counts):
                why = None if value is not None else FEW
                yield row(cell, metric, value, n=cell.tally.total("tokens"), unit="tokens", why=why)
        for (tokenizer, corpus), cells in groups.items():
            yield from _over_languages(tokenizer, corpus, cells)


def _shapes(counts: IntArray) -> Iterator[tuple[MetricSpec, float | None]]:
    for metric, measure in zip(SHAPE_METRICS, SHAPES, strict=True):
        yield metric, measure(counts) if len(counts) else None


def _neighbours(cell: Cell) -> Iterator[Measurement]:
    found = cell.tally.neighbours
    if found is None:
        return
    params: Mapping[str, Any] = {"tokens": found.tokens, "documents": found.documents}
    values = (found.entropy, found.evenness, found.efficiency, found.variety)
    sizes = ((found.pairs, "pairs"), *[(found.ids, "ids")] * 3)
    for metric, value, (n, unit) in zip(NEIGHBOUR_METRICS, values, sizes, strict=True):
        why = None if value is not None else Why("too_few_tokens", "too few adjacent tokens")
        yield row(cell, metric, value, n=n, unit=unit, params=params, why=why)


def _over_languages(tokenizer: str, corpus: str, cells: list[Cell]) -> Iterator[Measurement]:
    _, counts = merged(cell.tally for cell in cells)
    if not len(counts):
        return
    partial = next((cell for cell in cells if cell.status == "partial"), None)
    status: Status | None = "partial" if partial else None
    why = why_of(partial) if partial else None
    n = int(counts.sum())
    for metric, value in _shapes(counts):
        none = None if value is not None else FEW
        yield row(
            tokenizer,
            metric,
            value,
            n=n,
            unit="tokens",
            status=status,
            why=none or why,
            corpus=corpus,
        )
    for tokens, ids in shape.heaps_curve(counts).items():
        yield row(
            tokenizer,
            HEAPS_CURVE,
            round(ids, 3),
            n=n,
            unit="tokens",
            params={"tokens": tokens},
            status=status,
            why=why,
            corpus=corpus,
        )
