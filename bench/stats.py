"""Intervals: paired bootstrap over documents, as weights × counts.

Each resample is a vector of weights, one per document (or per cluster of documents), drawn once
per corpus from a seed. Every tokenizer and, on a parallel corpus, every language is weighted by
the same draws, so ratios are paired. With fewer than 100 units intervals are corrected for bias
and skew (BCa, Efron 1987); with more they are percentiles. All are 95 %, pointwise.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import PCG64, Generator

if TYPE_CHECKING:
    from tokbench.bench.tally import Cell, CellKey, CorpusFacts, Tallies

FloatArray = npt.NDArray[np.float64]
LOW, HIGH = 0.025, 0.975
MAX_UNITS = 4096
"""Above this many documents, neighbours are resampled together in blocks, to bound the cost."""
BCA_BELOW = 100


class Interval(NamedTuple):
    """Low and high end, either None when there is no interval."""

    low: float | None
    high: float | None


NO_INTERVAL = Interval(None, None)


@dataclass(frozen=True, kw_only=True)
class Units:
    """How the documents of a slice are grouped for resampling.

    `of_document[i]` is the unit that document i belongs to; `weights` has shape
    (resamples, n_units) and each row adds up to n_units.
    """

    of_document: npt.NDArray[np.int64]
    weights: FloatArray
    name: str
    one_each: bool
    """Whether document i is unit i."""

    @property
    def n(self) -> int:
        """Units that are drawn."""
        return int(self.weights.shape[1])

    def totals(self, counts: npt.NDArray[np.int64]) -> FloatArray:
        """Add counts per document up to units; the last axis is documents."""
        if self.one_each:
            return counts.astype(np.float64)
        grouped = np.zeros((*counts.shape[:-1], self.n))
        np.add.at(grouped.T, self.of_document, counts.T)
        return grouped


def draw_weights(n_units: int, resamples: int, seed: int) -> FloatArray:
    """Return multinomial bootstrap weights of shape (resamples, n_units).

    >>> draw_weights(4, 3, seed=0).sum(axis=1).tolist()
    [4.0, 4.0, 4.0]
    """
    rng = Generator(PCG64(seed))
    weights = np.empty((resamples, n_units))
    for start in range(0, resamples, 64):  # a few rows at a time need little memory for the draws
        rows = weights[start : start + 64]
        picks = rng.integers(0, n_units, rows.shape, dtype=np.int32)
        for drawn, row in zip(picks, rows, strict=True):
            row[:] = np.bincount(drawn, minlength=n_units)
    return weights


def seed_of(*parts: object) -> int:
    """Return a 64-bit seed that depends on nothing but its parts."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def make_units(facts: CorpusFacts, *, resamples: int, seed: int) -> Units:
    """Group a slice's documents and draw their weights, the same for every tokenizer."""
    n = len(facts.document_ids)
    if facts.clusters is not None:
        _, of_document = np.unique(np.array(facts.clusters), return_inverse=True)
        name = "cluster"
    elif n > MAX_UNITS:
        of_document, name = np.arange(n) * MAX_UNITS // n, "block of documents"
    else:
        of_document, name = np.arange(n), "document"
    n_units = int(of_document.max()) + 1 if n else 0
    owner = facts.corpus if facts.aligned else f"{facts.corpus}/{facts.language}"
    weights = draw_weights(max(n_units, 1), resamples, seed_of(seed, owner))
    return Units(
        of_document=of_document.astype(np.int64),
        weights=weights,
        name=name,
        one_each=name == "document" and n > 0,
    )


def interval_of_resamples(
    resampled: FloatArray, numerator: FloatArray, denominator: FloatArray
) -> Interval:
    """Return the 95 % interval of Σ numerator ÷ Σ denominator from its resamples.

    `numerator` and `denominator` hold one total per unit; they are needed for the correction
    below 100 units. None where there is one unit only, or where a resample divides by nothing.

    >>> interval_of_resamples(np.arange(1.0, 1002.0), np.ones(200), np.ones(200))
    Interval(low=26.0, high=976.0)
    """
    ordered = np.sort(resampled)
    ends = float(ordered[0]), float(ordered[-1])  # what is not a number is sorted to the end
    if len(numerator) < 2 or not all(map(math.isfinite, ends)):
        return NO_INTERVAL
    low, high = LOW, HIGH
    if len(numerator) < BCA_BELOW:
        low, high = _bca_levels(resampled, numerator, denominator)
    return Interval(_quantile(ordered, low), _quantile(ordered, high))


def _quantile(ordered: FloatArray, level: float) -> float:
    """Interpolate linearly, as `numpy.quantile` does; its overhead matters for 10,000 rows."""
    place = level * (len(ordered) - 1)
    left = int(place)
    right = min(left + 1, len(ordered) - 1)
    return float(ordered[left] + (ordered[right] - ordered[left]) * (place - left))


def _bca_levels(
    resampled: FloatArray, numerator: FloatArray, denominator: FloatArray
) -> tuple[float, float]:
    """Shift the percentiles for median bias and skew (Efron 1987, equation 6.8)."""
    normal = NormalDist()
    top, bottom = numerator.sum(), denominator.sum()
    below = float((resampled < top / bottom).mean() + (resampled == top / bottom).mean() / 2)
    rest = bottom - denominator
    if not 0 < below < 1 or (rest <= 0).any():
        return LOW, HIGH
    bias = normal.inv_cdf(below)
    jackknife = (top - numerator) / rest
    deviation = jackknife.mean() - jackknife
    spread = float((deviation**2).sum() ** 1.5)
    skew = float((deviation**3).sum()) / (6 * spread) if spread else 0.0

    def shifted(level: float) -> float:
        z = bias + normal.inv_cdf(level)
        return normal.cdf(bias + z / (1 - skew * z))

    return shifted(LOW), shifted(HIGH)


class Resampling:
    """The draws of a run and the resampled totals of its cells, each computed once."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._units: dict[tuple[str, str], Units] = {}
        self._totals: dict[tuple[CellKey, str], FloatArray] = {}
        self._resampled: dict[tuple[CellKey, str], FloatArray] = {}

    def units(self, corpus: str, language: str) -> Units:
        """Return the resampling units of a slice.

        In a parallel corpus row i is the same id in every language, and has the same weight.
        """
        key = corpus, language
        if key not in self._units:
            self._units[key] = self._make_units(self._tallies.corpora[key])
        return self._units[key]

    def _make_units(self, facts: CorpusFacts) -> Units:
        tallies = self._tallies
        pivot = tallies.corpora.get((facts.corpus, facts.pivot or ""))
        if facts.aligned and pivot is not None and pivot.language != facts.language:
            return self.units(facts.corpus, pivot.language)
        return make_units(facts, resamples=tallies.resamples, seed=tallies.seed)

    def unit_totals(self, cell: Cell, column: str) -> FloatArray:
        """Return a column added up per unit, shape (n_units,); failed documents count nothing."""
        key = cell.key, column
        if key not in self._totals:
            facts = self._tallies.facts(cell.key)
            counts = np.zeros(len(facts.document_ids), np.int64)
            counts[cell.tally.rows] = cell.tally.documents[column]
            self._totals[key] = self.units(facts.corpus, facts.language).totals(counts)
        return self._totals[key]

    def resampled(self, cell: Cell, column: str) -> FloatArray:
        """Return a column's total in every resample, shape (resamples,)."""
        key = cell.key, column
        if key not in self._resampled:
            self._resample_all(cell, column)
        return self._resampled[key]

    def _resample_all(self, cell: Cell, column: str) -> None:
        """Weight one column of every cell that shares this cell's draws, in one product."""
        weights = self.units(cell.key.corpus, cell.key.language).weights
        mates = [
            other
            for other in self._tallies.counted()
            if self.units(other.key.corpus, other.key.language).weights is weights
        ]
        totals = {mate.key: self.unit_totals(mate, column) for mate in mates}
        # the text is the same for every tokenizer: equal totals are weighted once
        distinct = {row.tobytes(): row for row in totals.values()}
        product = np.stack(list(distinct.values())) @ weights.T
        resampled = dict(zip(distinct, product, strict=True))
        for key, row in totals.items():
            self._resampled[key, column] = resampled[row.tobytes()]

    def ratio(self, top: Cell, top_column: str, bottom: Cell, bottom_column: str) -> Interval:
        """Return the interval of a ratio of totals; the cells must share their draws."""
        numerator = self.unit_totals(top, top_column)
        denominator = self.unit_totals(bottom, bottom_column)
        above, below = self.resampled(top, top_column), self.resampled(bottom, bottom_column)
        if not below.all():  # a resample without any of it
            return NO_INTERVAL
        return interval_of_resamples(above / below, numerator, denominator)

    def paired_ratio(
        self,
        corpus: str,
        numerator: FloatArray,
        denominator: FloatArray,
        *,
        unit: npt.NDArray[np.int64] | None = None,
    ) -> tuple[float | None, Interval]:
        """Return Σ numerator ÷ Σ denominator over a part of a corpus, and its interval.

        Both have shape (n,), one value per document that both sides have. `unit` says which of
        the corpus's units each belongs to (`Units.of_document`): documents of one cluster stay
        together; without it each is a unit of its own.
        """
        if not denominator.sum():
            return None, NO_INTERVAL
        if unit is None:
            n_units = min(len(numerator), MAX_UNITS)
            unit = np.arange(len(numerator)) * n_units // len(numerator)
        place, of_document = np.unique(unit, return_inverse=True)
        top, bottom = (
            np.bincount(of_document, side).astype(np.float64) for side in (numerator, denominator)
        )
        seed = seed_of(self._tallies.seed, corpus, "paired", len(numerator))
        weights = draw_weights(len(place), self._tallies.resamples, seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            resampled = (weights @ top) / (weights @ bottom)
        interval = interval_of_resamples(resampled, top, bottom)
        return float(numerator.sum() / denominator.sum()), interval
