"""Does parallel text look parallel? The lengths of true translations go together.

Files that are joined by line number look parallel with any content. So each language's
document lengths, in code points, are held against the pivot's: by the spread of the length ratio,
and by Spearman's rank correlation, over all documents and over parts of them in order, so that
files which part company halfway are seen too. Rank correlation does not ask that one language be as
long as another, and shuffled text has about none, give or take 1 ÷ √n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus.slice_file import Slice, SliceMeta
from tokbench.bench.model import IntArray

FEWEST = 20
"""Documents below which alignment is not judged."""

PART_DOCUMENTS = 100
"""Least number of documents in a part."""

PARTS = 8

LOW_CORRELATION = 0.4
"""Over all documents: true translations had 0.50 and more, see docs/method.md."""

LOW_IN_A_PART = 0.25
"""In one part, or over fewer documents than a part has: true translations had 0.31 and more."""


def with_alignment(slices: Mapping[str, Slice]) -> dict[str, Slice]:
    """Return the slices of a parallel corpus with how their lengths go with the pivot's.

    The slices must have the same ids in the same order, as `check_parallel` returns them.
    """
    metas = [one.meta for one in slices.values()]
    pivot = slices.get(str(metas[0].pivot)) if metas else None
    if pivot is None:
        return dict(slices)
    lengths = pivot.column("characters")
    found = {}
    for language, one in slices.items():
        other = language != pivot.meta.language and one.meta.documents >= FEWEST
        facts = length_facts(lengths, one.column("characters")) if other else None
        found[language] = replace(one, meta=replace(one.meta, alignment=facts))
    return found


def length_facts(pivot: IntArray, other: IntArray) -> dict[str, Any]:
    """Return the spread of length ratios and the rank correlations of two lengths per document.

    >>> facts = length_facts(np.array([10, 20, 30, 40]), np.array([20, 20, 60, 90]))
    >>> facts["ratio_median"], facts["length_correlation"]
    (2.0, 0.948683)
    """
    ratios = other[pivot > 0] / pivot[pivot > 0]
    low, median, high = np.quantile(ratios, (0.1, 0.5, 0.9)) if len(ratios) else [None] * 3
    n_parts = min(PARTS, len(pivot) // PART_DOCUMENTS)
    parts = [
        rank_correlation(*part)
        for part in zip(*(np.array_split(s, max(1, n_parts)) for s in (pivot, other)), strict=True)
        if n_parts > 1
    ]
    return {
        "ratio_10": _rounded(low),
        "ratio_median": _rounded(median),
        "ratio_90": _rounded(high),
        "length_correlation": _rounded(rank_correlation(pivot, other)),
        "lowest_in_a_part": _rounded(min((r for r in parts if r is not None), default=None)),
    }


def rank_correlation(a: IntArray, b: IntArray) -> float | None:
    """Return Spearman's rank correlation, None where one side has a single value.

    >>> round(rank_correlation(np.array([1, 2, 3]), np.array([10, 30, 20])), 6)
    0.5
    """
    first, second = (_ranks(side) - (len(side) + 1) / 2 for side in (a, b))
    scale = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / scale if scale else None


def _ranks(values: IntArray) -> npt.NDArray[np.float64]:
    """Return ranks from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: npt.NDArray[np.float64] = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return ranks


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


def why_doubtful(meta: SliceMeta) -> str | None:
    """Return why a language of a parallel corpus does not look parallel, None where it does."""
    facts = meta.alignment or {}
    whole, part = facts.get("length_correlation"), facts.get("lowest_in_a_part")
    enough = LOW_CORRELATION if meta.documents >= PART_DOCUMENTS else LOW_IN_A_PART
    if whole is not None and whole < enough:
        found = f"rank correlation {whole:.2f} over {meta.documents:,} documents"
    elif part is not None and part < LOW_IN_A_PART:
        found = f"rank correlation {part:.2f} in a part of the documents"
    else:
        return None
    return (
        f"lengths do not follow those of {meta.pivot} ({found}; translations have 0.5 or more); "
        f"check that rows of the same {meta.matched_by} are the same text: premiums require "
        "parallel text"
    )
