"""Measurements and ratios that several suites make in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tokbench.bench.count.stats import NO_INTERVAL, Interval
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell
from tokbench.bench.model import Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why


def row(
    of: Cell | str,
    metric: MetricSpec,
    value: float | None,
    interval: Interval = NO_INTERVAL,
    *,
    n: int | None = None,
    unit: str | None = None,
    params: Mapping[str, Any] | None = None,
    status: Status | None = None,
    why: Why | None = None,
    corpus: str | None = None,
    language: str | None = None,
) -> Measurement:
    """Return a value of a cell, or of the tokenizer that has a name.

    n, status and reason are the cell's unless given; `unit` names what n counts where that is
    not documents. `corpus` and `language` go with a name.
    """
    if isinstance(of, Cell):
        tokenizer, corpus, language = of.key
        n = of.tally.n if n is None else n
        status = status or of.status
        why = why or why_of(of)
    else:
        tokenizer = of
    return Measurement(
        metric=metric,
        tokenizer=tokenizer,
        corpus=corpus,
        language=language,
        value=value,
        ci_low=interval.low,
        ci_high=interval.high,
        n=n,
        params={**(params or {}), "unit_of_n": unit} if unit else params or {},
        status=status or "ok",
        reason=why.reason if why else None,
        detail=why.detail if why else None,
    )


def why_of(cell: Cell) -> Why | None:
    """Return why a cell has no plain values, None where it has."""
    return Why(cell.reason, cell.detail or "") if cell.reason else None


def pooled_ratio(
    top: Cell, bottom: Cell, column: str, tallies: Tallies
) -> tuple[float | None, Interval, int]:
    """Return Σ column(top) ÷ Σ column(bottom), its interval, and the documents behind both.

    Documents that one side failed on count on neither side. The cells must share their draws:
    the same slice, or two languages of an aligned corpus.
    """
    if top.status == bottom.status == "ok":
        above, below = top.tally.total(column), bottom.tally.total(column)
        if not below:
            return None, NO_INTERVAL, top.tally.n
        return above / below, tallies.resampling.ratio(top, column, bottom, column), top.tally.n
    rows, mine, theirs = np.intersect1d(
        top.tally.rows, bottom.tally.rows, assume_unique=True, return_indices=True
    )
    numerator = top.tally.documents[column][mine].astype(np.float64)
    denominator = bottom.tally.documents[column][theirs].astype(np.float64)
    unit = tallies.resampling.units(top.key.corpus, top.key.language).of_rows(rows)
    value, interval = tallies.resampling.paired_ratio(
        top.key.corpus, numerator, denominator, unit=unit
    )
    return value, interval, len(mine)


def why_not_its_price(cells: tuple[Cell, ...], tallies: Tallies) -> Why | None:
    """Return why token counts of these cells do not say what the text costs, or None.

    Above the limit of lost bytes a low count is text that vanished.
    """
    shares = {cell.key: tallies.lost_share(cell) or 0.0 for cell in cells}
    lost = [key for key, share in shares.items() if share > tallies.lost_limit]
    if not lost:
        return None
    names = [f"{key.tokenizer} on {key.language}" for key in lost]
    return Why(
        "lost_text",
        f"the text does not survive: {max(shares.values()):.1%} of the bytes of "
        f"{' and '.join(names)} are lost (limit {tallies.lost_limit:.0%}), "
        "so the count is not its price",
    )
