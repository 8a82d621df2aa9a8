"""The bootstrap draws of a run: one set of weights per corpus, shared by all tokenizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.stats import (
    MAX_UNITS,
    NO_INTERVAL,
    Draws,
    FloatArray,
    Interval,
    draw_weights,
    interval_of_resamples,
    seed_of,
    weighted_totals,
)
from tokbench.bench.count.tally import Cell, CellKey, CorpusFacts
from tokbench.bench.model import Place

KEPT_BYTES = 64 * 2**20
"""Draws of a run that are kept for the next column; the oldest are drawn again where needed."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """How the documents of a slice are grouped for resampling.

    Document i is a unit of its own, or belongs to a block or a cluster; see `of_rows`.
    """

    documents: int
    n: int
    """Units that are drawn."""
    name: str
    resamples: int
    seed: int
    clusters: npt.NDArray[np.int64] | None = None
    """The unit of each document where clusters say it; shape (documents,)."""

    @property
    def draws(self) -> tuple[int, int]:
        """What decides the weights; equal for all that share them."""
        return self.seed, self.n

    def weights(self) -> Draws:
        """Draw the weights, shape (resamples, n); each row adds up to n."""
        return draw_weights(self.n, self.resamples, self.seed)

    def totals(self, counts: npt.NDArray[np.int64]) -> FloatArray:
        """Add counts per document up to units; the last axis is documents."""
        grouped = np.zeros((*counts.shape[:-1], self.n))
        np.add.at(grouped.T, self.of_rows(np.arange(self.documents)), counts.T)
        return grouped

    def of_rows(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the units that documents belong to, by their rows in the slice."""
        return unit_of(rows, self.documents) if self.clusters is None else self.clusters[rows]


def unit_of(rows: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Return the units of some of n documents without clusters: each its own, or its block.

    >>> unit_of(np.array([0, 9]), 10).tolist(), unit_of(np.array([0, 1, 8191]), 8192).tolist()
    ([0, 9], [0, 0, 4095])
    """
    return rows * MAX_UNITS // n if n > MAX_UNITS else rows


def make_units(facts: CorpusFacts, *, resamples: int, seed: int) -> Units:
    """Group a slice's documents, whose draws are the same for every tokenizer."""
    return units_of(
        len(facts.document_ids),
        facts.corpus,
        clusters=facts.clusters,
        resamples=resamples,
        seed=seed,
    )


def units_of(
    n: int, corpus: str, *, clusters: Sequence[str] | None = None, resamples: int, seed: int
) -> Units:
    """Group n documents; their draws depend on seed, corpus, and the number of units alone.

    So row i has the same weight in every language of a parallel corpus. Where text is not parallel,
    languages with equally many units share draws too, which means nothing for the interval of one
    language; what adds languages up must pair different draws of them. The same arguments give the
    same weights, in a run and in a report on it.
    """
    of_document: npt.NDArray[np.int64] | None = None
    n_units, name = min(n, MAX_UNITS), "block of documents" if n > MAX_UNITS else "document"
    if clusters is not None:
        named, of_document = np.unique(np.array(clusters), return_inverse=True)
        n_units, name = len(named), "cluster"
    return Units(
        documents=n,
        n=max(n_units, 1),
        name=name,
        resamples=resamples,
        seed=seed_of(seed, corpus),
        clusters=of_document,
    )


class Resampling:
    """The draws of a run and the resampled totals of its cells, each computed once."""

    def __init__(
        self,
        *,
        cells: Sequence[Cell],
        corpora: Mapping[Place, CorpusFacts],
        seed: int,
        resamples: int,
    ) -> None:
        self._cells, self._corpora = cells, corpora
        self._seed, self._resamples = seed, resamples
        self._units: dict[Place, Units] = {}
        self._draws: dict[tuple[int, int], Draws] = {}
        self._totals: dict[tuple[CellKey, str], FloatArray] = {}
        self._resampled: dict[tuple[CellKey, str], FloatArray] = {}

    def units(self, corpus: str, language: str) -> Units:
        """Return the resampling units of a slice.

        In a parallel corpus row i is the same id in every language, and has the same weight.
        """
        key = Place(corpus, language)
        if key not in self._units:
            self._units[key] = self._make_units(self._corpora[key])
        return self._units[key]

    def _make_units(self, facts: CorpusFacts) -> Units:
        pivot = self._corpora.get(Place(facts.corpus, facts.pivot or ""))
        if facts.aligned and pivot is not None and pivot.language != facts.language:
            return self.units(facts.corpus, pivot.language)
        return make_units(facts, resamples=self._resamples, seed=self._seed)

    def unit_totals(self, cell: Cell, column: str) -> FloatArray:
        """Return a column added up per unit, shape (n_units,); failed documents count nothing."""
        key = cell.key, column
        if key not in self._totals:
            units = self.units(cell.key.corpus, cell.key.language)
            found = np.zeros(units.n)
            for part in cell.tally.parts():
                mine = units.of_rows(part.rows)
                found += np.bincount(mine, part.documents[column], minlength=units.n)
            self._totals[key] = found
        return self._totals[key]

    def resampled(self, cell: Cell, column: str) -> FloatArray:
        """Return a column's total in every resample, shape (resamples,)."""
        key = cell.key, column
        if key not in self._resampled:
            self._resample_all(cell, column)
        return self._resampled[key]

    def _resample_all(self, cell: Cell, column: str) -> None:
        """Weight one column of every cell that shares this cell's draws, in one product."""
        units = self.units(cell.key.corpus, cell.key.language)
        mates = [
            other
            for other in self._cells
            if self.units(other.key.corpus, other.key.language).draws == units.draws
        ]
        totals = {mate.key: self.unit_totals(mate, column) for mate in mates}
        # the text is the same for every tokenizer: equal totals are weighted once
        distinct = {row.tobytes(): row for row in totals.values()}
        product = weighted_totals(np.stack(list(distinct.values())), self._weights(units))
        resampled = dict(zip(distinct, product, strict=True))
        for key, row in totals.items():
            self._resampled[key, column] = resampled[row.tobytes()]

    def _weights(self, units: Units) -> Draws:
        if (known := self._draws.get(units.draws)) is not None:
            return known
        weights = self._draws[units.draws] = units.weights()
        while sum(one.nbytes for one in self._draws.values()) > KEPT_BYTES:
            del self._draws[next(iter(self._draws))]
        return weights

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
        the corpus's units each belongs to (`Units.of_rows`): documents of one cluster stay
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
        seed = seed_of(self._seed, corpus, "paired", len(numerator))
        weights = draw_weights(len(place), self._resamples, seed)
        with np.errstate(divide="ignore", invalid="ignore"):
            above, below = weighted_totals(np.stack([top, bottom]), weights)
            resampled = above / below
        interval = interval_of_resamples(resampled, top, bottom)
        return float(numerator.sum() / denominator.sum()), interval
