"""What a mix of languages costs under each tokenizer, with paired intervals, from a run folder.

The weights of a focus are shares of content: on a parallel corpus shares of the documents, whose
content is the same in every language, so the cost is tokens per document; on any other corpus
shares of the text's bytes, so the cost is tokens per 1,000 bytes. Intervals use the draws of the
run itself, made again from its seed over the totals in `documents/`. Nothing here needs a
tokenizer or a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokbench.bench.count.resampling import Units, unit_of, units_of
from tokbench.bench.count.stats import HIGH, LOW, MAX_UNITS, SHORT, weighted_totals
from tokbench.reports.view import View

FloatArray = npt.NDArray[np.float64]

FEW = 200
"""Resamples that a page carries, the first of those of a run; those of a corpus are kept."""

_KEPT: WeakKeyDictionary[View, dict[str, Rates]] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Tokens for a unit of content: of each tokenizer in each language, as measured and redrawn.

    `measured` has shape (tokenizers, languages), `drawn` (resamples, tokenizers, languages); NaN
    where a cell has no complete count, `drawn` also where a language has a single document.
    `unit` is ``document`` or ``1,000 bytes``.
    """

    corpus: str
    tokenizers: tuple[str, ...]
    languages: tuple[str, ...]
    unit: str
    measured: FloatArray
    drawn: FloatArray


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One tokenizer in a focus: its cost, its ratio to the cheapest that has a place, its place.

    `rank` is 1 + the number of tokenizers that are better by a paired 95 % interval; None where
    the tokenizer has no place in one of the languages. `cost` is None where a count is missing,
    `low` and `high` also where a language of the focus has a single document.
    """

    tokenizer: str
    cost: float | None
    ratio: float | None
    low: float | None
    high: float | None
    rank: int | None


def focus_of(view: View) -> tuple[str, dict[str, float]] | None:
    """Return the corpus and the weights of the config's focus, None where it sets none.

    The corpus is the first that has all of its languages and could be read.
    """
    weights: dict[str, float] = dict(view.run["config"].get("focus") or {})
    for corpus, languages in view.corpora.items() if weights else ():
        if weights.keys() <= languages.keys():
            return corpus, weights
    return None


def rates(view: View, corpus: str, resamples: int | None = None) -> Rates:
    """Return the rates of a corpus; `resamples` takes the first of the run's draws, None all.

    The first `FEW` are kept, for reports that need no more of them.
    """
    stored = view.run["intervals"]["resamples"]
    wanted = min(resamples or stored, stored)
    mine = _KEPT.setdefault(view, {})
    known = mine.get(corpus)
    if known is None or len(known.drawn) < wanted:
        known = _rates(view, corpus, wanted)
        mine[corpus] = replace(known, drawn=known.drawn[:FEW].copy())
    return replace(known, drawn=known.drawn[:wanted])


def _rates(view: View, corpus: str, n_draws: int) -> Rates:
    languages = tuple(view.languages(corpus))
    names = tuple(name for name in view.tokenizers if (name, corpus) in view.measured)
    aligned = view.pivot(corpus) is not None and view.refusal(corpus) is None
    counts = {name: _units_of(view, name, corpus) for name in names}
    measured = np.full((len(names), len(languages)), np.nan)
    drawn = np.full((n_draws, len(names), len(languages)), np.nan)
    blocks = _blocks(view, corpus, counts, aligned=aligned)
    # draws that languages share are multiplied once, which takes a tenth of the time
    by_size = groupby(sorted(blocks, key=lambda block: block.n), key=lambda block: block.n)
    for n, same in ((n, list(some)) for n, some in by_size):
        units = _units(view, corpus, n, n_draws)
        totals = np.vstack([block.counts for block in same]).astype(np.float64)
        weighted = weighted_totals(totals, units.weights().astype(SHORT))
        ends = np.cumsum([len(block.counts) for block in same])
        for block, found in zip(same, np.split(weighted, ends[:-1]), strict=True):
            at, (*tokens, content) = languages.index(block.language), block.counts.sum(axis=1)
            measured[block.whole, at] = _ratio(np.array(tokens) * 1000, content)
            if block.n > 1:  # every draw of one document is that document
                ratios = _ratio(found[:-1] * 1000, found[-1]).T
                drawn[:, block.whole, at] = ratios if aligned else _apart(ratios, at)
    return Rates(
        corpus=corpus,
        tokenizers=names,
        languages=languages,
        unit="document" if aligned else "1,000 bytes",
        measured=measured,
        drawn=drawn,
    )


def _apart(drawn: FloatArray, number: int) -> FloatArray:
    """Move the draws of a language, so that it is added to other draws of other languages.

    Where text is not parallel languages are independent, though they may share their draws. Each
    `FEW` stay together, since a page has the first of them only.
    """
    some = [np.roll(drawn[i : i + FEW], number, axis=0) for i in range(0, len(drawn), FEW)]
    return np.concatenate(some)


class _DrawnBlock(NamedTuple):
    """One language: which tokenizers counted all of its documents, and what they counted."""

    language: str
    n: int
    """Documents."""
    whole: Sequence[int]
    counts: npt.NDArray[np.int64]
    """Tokens for each of them and, below, content; shape (len(whole) + 1, units)."""


class _CountedUnits(NamedTuple):
    """Documents, tokens and bytes of each unit that is drawn; shape (3, units)."""

    sums: npt.NDArray[np.int64]

    @property
    def n(self) -> int:
        """Documents."""
        return int(self.sums[0].sum())


def _units_of(view: View, tokenizer: str, corpus: str) -> dict[str, _CountedUnits]:
    """Return what each language's units hold; of the documents a row group is read at a time."""
    names = "language", "tokens", "bytes"
    found: dict[str, _CountedUnits] = {}
    for table in view.results.document_groups(tokenizer, corpus, names):
        for language, counts in _by_language(table).items():
            n = view.corpora[corpus].get(language, {}).get("documents", 0)
            sums = found.setdefault(
                language, _CountedUnits(np.zeros((3, min(n, MAX_UNITS)), np.int64))
            )
            rows = np.arange(len(counts[0])) + sums.n
            if rows[-1] < n:  # more than the corpus has are in a folder that was edited
                added = np.stack([np.ones_like(rows), *counts])
                np.add.at(sums.sums.T, unit_of(rows, n), added.T)
    return found


def _blocks(
    view: View, corpus: str, counts: Mapping[str, Mapping[str, _CountedUnits]], *, aligned: bool
) -> Iterator[_DrawnBlock]:
    """Yield the languages of a corpus that any tokenizer counted as a whole."""
    names = list(counts)
    for language in view.languages(corpus):
        n = view.corpora[corpus][language]["documents"]
        whole = [
            t
            for t, name in enumerate(names)
            if n and language in counts[name] and counts[name][language].n == n
        ]
        if whole:  # where documents failed, a total over the rest would look cheaper
            units = [counts[names[t]][language].sums for t in whole]
            content = units[0][0] * 1000 if aligned else units[0][2]
            yield _DrawnBlock(language, n, whole, np.vstack([*(one[1] for one in units), content]))


def _units(view: View, corpus: str, n: int, resamples: int) -> Units:
    """Return the draws that the run's own intervals come from, the first of them."""
    # resamples are drawn one after the other: fewer of them are the first of more
    return units_of(n, corpus, resamples=resamples, seed=view.run["intervals"]["seed"])


Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


@lru_cache(maxsize=16)
def counts_of(view: View, tokenizer: str, corpus: str) -> Mapping[str, Counts]:
    """Return tokens and bytes of each document, by language; those last read are kept."""
    table = view.results.documents(tokenizer, corpus, columns=("language", "tokens", "bytes"))
    return _by_language(table)


def _by_language(table: pa.Table) -> dict[str, Counts]:
    keys = table["language"].combine_chunks().dictionary_encode()
    place = keys.indices.to_numpy()
    tokens, size = table["tokens"].to_numpy(), table["bytes"].to_numpy()
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place, minlength=len(keys.dictionary)))
    rows = np.split(order, ends[:-1])
    return {
        language: (tokens[at], size[at])
        for language, at in zip(keys.dictionary.to_pylist(), rows, strict=True)
    }


def standings(
    found: Rates, weights: Mapping[str, float], ranked: Mapping[str, bool]
) -> list[Standing]:
    """Return how tokenizers stand for a mix of languages, the best first.

    `weights` need not add up to 1. `ranked` says which tokenizers have a place: those that lose
    text or were trained on it have none in any language of the focus.

    >>> one = Rates(
    ...     corpus="c", tokenizers=("a", "b"), languages=("en", "hi"), unit="document",
    ...     measured=np.array([[10.0, 40.0], [12.0, 20.0]]),
    ...     drawn=np.array([[[10.0, 40.0], [12.0, 20.0]]] * 9),
    ... )
    >>> best, other = standings(one, {"en": 1, "hi": 1}, {"a": True, "b": True})
    >>> best.tokenizer, best.cost, best.rank, other.cost, other.ratio, other.rank
    ('b', 16.0, 1, 25.0, 1.5625, 2)
    """
    chosen = [found.languages.index(language) for language in weights]
    shares = np.array(list(weights.values()), np.float64)
    shares /= shares.sum()
    cost, drawn = found.measured[:, chosen] @ shares, found.drawn[:, :, chosen] @ shares
    placed = [
        i for i, name in enumerate(found.tokenizers) if ranked.get(name) and np.isfinite(cost[i])
    ]
    best = min(placed, key=lambda i: (cost[i], found.tokenizers[i]), default=None)
    standing = [
        Standing(
            tokenizer=name,
            cost=float(cost[i]) if np.isfinite(cost[i]) else None,
            rank=_rank(i, placed, drawn) if i in placed else None,
            **_against(i, best, cost, drawn),
        )
        for i, name in enumerate(found.tokenizers)
    ]
    return sorted(standing, key=lambda s: (s.rank is None, s.cost or np.inf, s.tokenizer))


def _ratio(above: npt.ArrayLike, below: npt.ArrayLike) -> FloatArray:
    """Divide; NaN where a draw has none but empty documents, and so nothing to divide by.

    >>> _ratio([2.0, 0.0, 1.0], [1.0, 0.0, 0.0])
    array([ 2., nan, nan])
    """
    above, below = np.asarray(above, np.float64), np.asarray(below, np.float64)
    shape = np.broadcast(above, below).shape
    found: FloatArray = np.full(shape, np.nan)
    np.divide(above, below, out=found, where=below != 0)
    return found


def _against(
    i: int, best: int | None, cost: FloatArray, drawn: FloatArray
) -> dict[str, float | None]:
    """Return the ratio to the cheapest tokenizer that has a place, and its interval."""
    if best is None or not np.isfinite(cost[i]):
        return {"ratio": None, "low": None, "high": None}
    ratios = _ratio(drawn[:, i], drawn[:, best])
    low, high = map(float, np.quantile(ratios, [LOW, HIGH]))
    drawable = np.isfinite(low) and np.isfinite(high)
    return {
        "ratio": float(cost[i] / cost[best]),
        "low": low if drawable else None,
        "high": high if drawable else None,
    }


def _rank(i: int, placed: Sequence[int], drawn: FloatArray) -> int:
    """1 + how many are better: the interval of their ratio to this one lies below 1."""
    better = (
        np.quantile(_ratio(drawn[:, other], drawn[:, i]), HIGH) < 1
        for other in placed
        if other != i
    )
    return 1 + sum(map(bool, better))
