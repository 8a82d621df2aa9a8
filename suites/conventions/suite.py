"""Token ratios by the conventions of publications: special tokens counted, means of ratios.

Off unless a config names it. It exists to reproduce figures that others have printed; every other
number of tokbench leaves special tokens out and is a ratio of totals. Values have the reason
`published_convention`, so they are never ranked and never gated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.suites.conventions.specs import PUBLISHED_PARITY
from tokbench.suites.rows import row

FloatArray = npt.NDArray[np.float64]


class Conventions(CountsSuite):
    """Parity to the pivot as publications compute it, outside ranks and gates."""

    special_tokens: Literal["leave_out", "count"] = Field(
        "leave_out",
        description="`count`: add the special tokens that the tokenizer's own template adds to a "
        "text, such as `[CLS]` and `[SEP]`, to the tokens of each document.",
    )
    added_special_tokens: Mapping[str, Annotated[int, Field(ge=0)]] = Field(
        {},
        description="With `count`: their number for tokenizers whose file does not say, by key. "
        "Rank files and SentencePiece models count as 0.",
    )
    mean_of_ratios: bool = Field(
        False,
        description="Mean over documents of the ratio of their tokens, in place of the ratio of "
        "totals.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (PUBLISHED_PARITY,)

    @model_validator(mode="after")
    def _numbers_are_counted(self) -> Conventions:
        if self.added_special_tokens and self.special_tokens != "count":
            raise ValueError("added_special_tokens requires special_tokens: count")
        return self

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the ratio of every cell of parallel text to its pivot."""
        for key in self.added_special_tokens:
            if not any(cell.tokenizer == key for cell in tallies.cells):
                yield Finding(
                    kind="warning",
                    reason="other",
                    message=f"added_special_tokens names {key}, which is not a tokenizer of the run",
                )
        for cell in tallies.counted():
            if tallies.facts(cell.key).parallel:
                yield from self._parity(cell, tallies)

    def _parity(self, cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
        facts = tallies.facts(cell.key)
        if facts.parallel_refusal:
            refused = Why("not_aligned", facts.parallel_refusal)
            yield row(cell, PUBLISHED_PARITY, None, status="refused", why=refused)
            return
        pivot = tallies.cells.get(CellKey(cell.key.tokenizer, facts.corpus, facts.pivot or ""))
        if pivot is None or not pivot.tally.n:
            missing = Why("pivot_missing", f"the pivot {facts.pivot} was not counted")
            yield row(cell, PUBLISHED_PARITY, None, status="refused", why=missing)
            return
        added = self._added(cell.key.tokenizer, tallies)
        above, below = _paired(cell, pivot, added)
        params = {
            "special_tokens": self.special_tokens,
            "added_special_tokens": added,
            "mean_of_ratios": self.mean_of_ratios,
        }
        value = _ratio(above, below, mean=self.mean_of_ratios)
        why = Why("published_convention", _said(params)) if value is not None else _NO_TOKENS
        yield row(cell, PUBLISHED_PARITY, value, n=len(below), params=params, why=why)

    def _added(self, tokenizer: str, tallies: Tallies) -> int:
        """Return how many special tokens each document of a tokenizer gets."""
        if self.special_tokens == "leave_out":
            return 0
        by_itself = tallies.tokenizers[tokenizer].added_special_tokens
        return self.added_special_tokens.get(tokenizer, by_itself)


_NO_TOKENS = Why("no_tokens", "a document of the pivot has no tokens: nothing to divide by")


def _said(params: Mapping[str, object]) -> str:
    mean = "mean of ratios" if params["mean_of_ratios"] else "ratio of totals"
    counted = f"{params['added_special_tokens']} special tokens a document"
    return f"by a publication's convention: {mean}, {counted}"


def _paired(cell: Cell, pivot: Cell, added: int) -> tuple[FloatArray, FloatArray]:
    """Return the tokens of the documents that both sides counted."""
    _, mine, theirs = np.intersect1d(
        cell.tally.rows, pivot.tally.rows, assume_unique=True, return_indices=True
    )
    above = cell.tally.documents["tokens"][mine].astype(np.float64) + added
    below = pivot.tally.documents["tokens"][theirs].astype(np.float64) + added
    return above, below


def _ratio(above: FloatArray, below: FloatArray, *, mean: bool) -> float | None:
    """Return the mean of ratios or the ratio of sums, None where that divides by zero.

    >>> _ratio(np.array([2.0, 9.0]), np.array([1.0, 9.0]), mean=True)
    1.5
    >>> _ratio(np.array([2.0, 9.0]), np.array([1.0, 9.0]), mean=False)
    1.1
    """
    if not len(below) or not (below.all() if mean else below.any()):
        return None
    return float((above / below).mean() if mean else above.sum() / below.sum())
