"""Measurements and ratios that several suites make in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tokbench.bench.count.stats import NO_INTERVAL, Interval
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell
from tokbench.bench.model import Measurement, MetricSpec, Place, Status


def of_cell(
    suite: str,
    cell: Cell,
    metric: MetricSpec,
    value: float | None,
    interval: Interval = NO_INTERVAL,
    *,
    n: int | None = None,
    params: Mapping[str, Any] | None = None,
    status: Status | None = None,
    detail: str | None = None,
) -> Measurement:
    """Return a value of one cell; n, status and detail are the cell's unless given."""
    return Measurement(
        metric=metric,
        suite=suite,
        tokenizer=cell.key.tokenizer,
        corpus=cell.key.corpus,
        language=cell.key.language,
        value=value,
        ci_low=interval.low,
        ci_high=interval.high,
        n=cell.tally.n if n is None else n,
        params=params or {},
        status=status or cell.status,
        detail=detail or cell.detail,
    )


def of_tokenizer(
    suite: str,
    tokenizer: str,
    metric: MetricSpec,
    value: float | None,
    *,
    n: int,
    unit: str,
    params: Mapping[str, Any] | None = None,
    detail: str | None = None,
    place: Place | None = None,
) -> Measurement:
    """Return a value of a tokenizer over n of a unit that is no document.

    `place` is the corpus and language that they are from, None for what is in no corpus.
    """
    corpus, language = place or (None, None)
    return Measurement(
        metric=metric,
        suite=suite,
        tokenizer=tokenizer,
        corpus=corpus,
        language=language,
        value=value,
        n=n,
        params={**(params or {}), "unit_of_n": unit},
        detail=detail,
    )


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
    unit = tallies.resampling.units(top.key.corpus, top.key.language).of_document[rows]
    value, interval = tallies.resampling.paired_ratio(
        top.key.corpus, numerator, denominator, unit=unit
    )
    return value, interval, len(mine)


def why_not_its_price(cells: tuple[Cell, ...], tallies: Tallies) -> str | None:
    """Return why token counts of these cells do not say what the text costs, or None.

    Above the limit of lost bytes a low count is text that vanished.
    """
    shares = {cell.key: tallies.lost_share(cell) or 0.0 for cell in cells}
    lost = [key for key, share in shares.items() if share > tallies.lost_limit]
    if not lost:
        return None
    names = [f"{key.tokenizer} on {key.language}" for key in lost]
    return (
        f"the text does not survive: {max(shares.values()):.1%} of the bytes of "
        f"{' and '.join(names)} are lost (limit {tallies.lost_limit:.0%}), "
        "so the count is not its price"
    )
