"""What each language pays: tokens of a language against the same text in the pivot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np

from bench.model import Finding, Measurement, MetricSpec
from bench.plugins import CountsSuite
from bench.stats import NO_INTERVAL, Interval
from bench.tally import Cell, CellKey, Tallies

PREMIUM = MetricSpec(
    name="premium",
    unit="ratio",
    direction="lower",
    definition="Tokens of the language ÷ tokens of the pivot over the same document ids; 1 is "
    "parity. Only on parallel text.",
)
OVERHEAD = MetricSpec(
    name="overhead",
    unit="share",
    direction="lower",
    definition="Premium − 1, shown in per cent.",
)
PROGRAM_PREMIUM = MetricSpec(
    name="program_premium",
    unit="ratio",
    direction="lower",
    definition="Tokens of the same programs in this programming language ÷ in the pivot. Languages "
    "differ in how much they need to say: read it beside the ratio of characters.",
)
CHARACTERS_RATIO = MetricSpec(
    name="characters_ratio",
    unit="ratio",
    direction="none",
    definition="Code points of the text ÷ code points of the same documents in the pivot.",
)


class Multilingual(CountsSuite):
    """Premium and overhead on parallel text; refused where text is not parallel."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        PREMIUM,
        OVERHEAD,
        PROGRAM_PREMIUM,
        CHARACTERS_RATIO,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the premium of every language against the pivot of its corpus."""
        refused: set[str] = set()
        for cell in tallies.counted():
            facts = tallies.facts(cell.key)
            if facts.parallel:
                yield from _premium(cell, tallies)
            elif facts.corpus not in refused and _n_languages(facts.corpus, tallies) > 1:
                refused.add(facts.corpus)
                yield Finding(
                    kind="refusal",
                    suite="multilingual",
                    corpus=facts.corpus,
                    message="no premium: the corpus is not parallel, so its languages say "
                    "different things; use a parallel corpus, or set parallel: true if it is one",
                )


def _n_languages(corpus: str, tallies: Tallies) -> int:
    return sum(1 for name, _ in tallies.corpora if name == corpus)


def _premium(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    facts = tallies.facts(cell.key)
    pivot = tallies.cells.get(CellKey(cell.key.tokenizer, facts.corpus, facts.pivot or ""))
    metric = PROGRAM_PREMIUM if facts.kind == "code" else PREMIUM
    if facts.parallel_refusal is not None:
        yield _measurement(cell, metric, None, status="refused", detail=facts.parallel_refusal)
        return
    if pivot is None or not pivot.tally.total("tokens"):
        reason = f"the pivot {facts.pivot} was not counted: {pivot.detail if pivot else 'missing'}"
        yield _measurement(cell, metric, None, status="refused", detail=reason)
        return
    value, interval, n = _ratio(cell, pivot, "tokens", tallies)
    detail = cell.detail or pivot.detail
    lost = [c for c in (cell, pivot) if (tallies.lost_share(c) or 0) > tallies.lost_limit]
    if lost:
        share = max(tallies.lost_share(c) or 0 for c in lost)
        detail = (
            f"the text does not survive: {share:.1%} of the bytes of "
            f"{' and '.join(sorted({c.key.language for c in lost}))} are lost "
            f"(limit {tallies.lost_limit:.0%}), so the count is not its price"
        )
        yield _measurement(cell, metric, None, n=n, status="refused", detail=detail)
        return
    status = "partial" if "partial" in (cell.status, pivot.status) else "ok"
    yield _measurement(cell, metric, value, interval, n=n, status=status, detail=detail)
    if facts.kind == "natural" and value is not None:
        shifted = Interval(*(None if end is None else end - 1 for end in interval))
        yield _measurement(cell, OVERHEAD, value - 1, shifted, n=n, status=status, detail=detail)
    characters, _, _ = _ratio(cell, pivot, "characters", tallies)
    yield _measurement(cell, CHARACTERS_RATIO, characters, n=n, status=status, detail=detail)


def _ratio(
    cell: Cell, pivot: Cell, column: str, tallies: Tallies
) -> tuple[float | None, Interval, int]:
    """Return the ratio of totals over the documents that both cells counted, and their number."""
    if cell.status == pivot.status == "ok":
        top, bottom, n = cell.tally.total(column), pivot.tally.total(column), cell.tally.n
        interval = tallies.resampling.ratio(cell, column, pivot, column)
        return (top / bottom if bottom else None), interval, n
    rows, mine, theirs = np.intersect1d(
        cell.tally.rows, pivot.tally.rows, assume_unique=True, return_indices=True
    )
    numerator = cell.tally.documents[column][mine].astype(np.float64)
    denominator = pivot.tally.documents[column][theirs].astype(np.float64)
    unit = tallies.resampling.units(cell.key.corpus, cell.key.language).of_document[rows]
    value, interval = tallies.resampling.paired_ratio(
        cell.key.corpus, numerator, denominator, unit=unit
    )
    return value, interval, len(mine)


def _measurement(
    cell: Cell,
    metric: MetricSpec,
    value: float | None,
    interval: Interval = NO_INTERVAL,
    *,
    n: int | None = None,
    status: str = "ok",
    detail: str | None = None,
) -> Measurement:
    return Measurement(
        metric=metric,
        suite="multilingual",
        tokenizer=cell.key.tokenizer,
        corpus=cell.key.corpus,
        language=cell.key.language,
        value=value,
        ci_low=interval.low,
        ci_high=interval.high,
        n=n,
        status=status,  # type: ignore[arg-type]
        detail=detail,
    )
