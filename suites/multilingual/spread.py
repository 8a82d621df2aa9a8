"""How unequal the premiums of a corpus's languages are: over all of them, and script by script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.stats import HIGH, LOW, NO_INTERVAL, Interval
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Measurement, MetricSpec
from tokbench.suites.multilingual.specs import (
    GINI,
    LANGUAGES_ABOVE,
    MAX_MIN_PREMIUM,
    MEAN_PREMIUM,
    PREMIUM,
    PREMIUM_DEVIATION,
)

FloatArray = npt.NDArray[np.float64]
Premiums = Sequence[tuple[Cell, Measurement]]


def gini(values: FloatArray) -> FloatArray:
    """Return the Gini coefficient over the first axis.

    >>> float(gini(np.array([1.0, 1.0, 1.0]))), float(gini(np.array([0.0, 0.0, 3.0]))).__round__(4)
    (0.0, 0.6667)
    """
    n = len(values)
    ordered = np.sort(values, axis=0)
    places = np.arange(1, n + 1).reshape(-1, *[1] * (values.ndim - 1))
    result: FloatArray = ((2 * places - n - 1) * ordered).sum(axis=0) / (n * ordered.sum(axis=0))
    return result


def spreads(premiums: Premiums, tallies: Tallies, limits: Sequence[float]) -> Iterator[Measurement]:
    """Return the spread of premiums of each tokenizer on each parallel corpus of natural text."""
    groups: dict[tuple[str, str], list[tuple[Cell, Measurement]]] = {}
    for cell, row in premiums:
        if row.metric is PREMIUM:
            groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append((cell, row))
    for group in groups.values():
        yield from _spread(group, tallies, limits, script=None)
        scripts = {tallies.facts(cell.key).script for cell, _ in group}
        for script in sorted(name for name in scripts if name):
            part = [one for one in group if tallies.facts(one[0].key).script == script]
            if len(part) > 1:
                yield from _spread(part, tallies, limits, script=script)


def _spread(
    group: Premiums, tallies: Tallies, limits: Sequence[float], *, script: str | None
) -> Iterator[Measurement]:
    known = [(cell, row) for cell, row in group if row.status == "ok" and row.value is not None]
    left_out = _left_out(group, {cell.key for cell, _ in known}, tallies, script)
    base = Measurement(
        metric=MEAN_PREMIUM,
        tokenizer=group[0][0].key.tokenizer,
        corpus=group[0][0].key.corpus,
        n=len(known),
        params={"unit_of_n": "languages", "script": script},
        detail=f"without {', '.join(left_out)}: no premium there" if left_out else None,
    )
    if len(known) < 2:
        words = "fewer than two languages have a premium"
        yield replace(base, metric=GINI, status="refused", reason="too_few_languages", detail=words)
        return
    values = np.array([row.value for _, row in known], np.float64)
    resampled = _resampled([cell for cell, _ in known], tallies)
    yield _statistic(base, MEAN_PREMIUM, float(values.mean()), resampled.mean(axis=0))
    yield _statistic(base, PREMIUM_DEVIATION, float(values.std()), resampled.std(axis=0))
    yield _statistic(base, GINI, float(gini(values)), gini(resampled))
    low, high = int(values.argmin()), int(values.argmax())
    # in words and not in params: which language it is may change, and the value stays the same one
    extremes = f"highest {known[high][0].key.language}, lowest {known[low][0].key.language}"
    yield _statistic(
        replace(base, detail="; ".join(filter(None, (extremes, base.detail)))),
        MAX_MIN_PREMIUM,
        float(values[high] / values[low]),
        resampled.max(axis=0) / resampled.min(axis=0),
    )
    pivot = tallies.facts(known[0][0].key).pivot
    others = np.array([row.value for cell, row in known if cell.key.language != pivot])
    for limit in limits if len(others) else ():
        share = float((others > limit).mean())
        params = {**base.params, "above": limit}
        yield replace(base, metric=LANGUAGES_ABOVE, value=share, n=len(others), params=params)


def _left_out(
    group: Premiums, known: set[CellKey], tallies: Tallies, script: str | None
) -> list[str]:
    """Return the planned languages that the spread does not cover."""
    tokenizer, corpus, _ = group[0][0].key
    return [
        key.language
        for key in tallies.cells
        if (key.tokenizer, key.corpus) == (tokenizer, corpus)
        and key not in known
        and (script is None or _script(key, tallies) == script)
    ]


def _script(key: CellKey, tallies: Tallies) -> str | None:
    facts = tallies.corpora.get(key.place)
    return facts.script if facts else None


def _resampled(cells: Sequence[Cell], tallies: Tallies) -> FloatArray:
    """Return the premium of every language in every resample, shape (languages, resamples)."""
    facts = tallies.facts(cells[0].key)
    pivot = tallies.cells[CellKey(cells[0].key.tokenizer, facts.corpus, facts.pivot or "")]
    below = tallies.resampling.resampled(pivot, "tokens")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([tallies.resampling.resampled(c, "tokens") / below for c in cells])


def _statistic(
    base: Measurement, metric: MetricSpec, value: float, resampled: FloatArray
) -> Measurement:
    interval = NO_INTERVAL
    if np.isfinite(resampled).all():
        low, high = np.quantile(resampled, [LOW, HIGH])
        interval = Interval(float(low), float(high))
    return replace(base, metric=metric, value=value, ci_low=interval.low, ci_high=interval.high)
