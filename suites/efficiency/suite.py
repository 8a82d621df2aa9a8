"""How compactly a tokenizer writes text, within one language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.count.stats import NO_INTERVAL
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import Finding, IntArray, Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why
from tokbench.suites.efficiency.ranking import rankings
from tokbench.suites.efficiency.specs import (
    NORMALIZED_SEQUENCE_LENGTH,
    RANK,
    SIZES,
    SPACE_INITIAL_SHARE,
    TOKEN_LENGTH,
    TOKEN_LENGTH_SHARE,
    TOKEN_RATIO,
    TOKENS,
    WORD_METRICS,
)
from tokbench.suites.histograms import length_shares, merged, weighted_quantiles
from tokbench.suites.rows import pooled_ratio, row, why_not_its_price

NO_TOKENS = Why("no_tokens", "no tokens: nothing to divide by")
QUANTILES = (0.5, 0.9, 1.0)
LONGEST = 16
"""Tokens of more bytes than this are one row of the distribution."""


class Efficiency(CountsSuite):
    """Bytes, characters and graphemes per token, words and their pieces, ranks and pairs."""

    reference: str | None = Field(
        None, description="Key of the tokenizer that `normalized_sequence_length` divides by."
    )
    pairs: bool = Field(
        True, description="Give `token_ratio` for every pair of tokenizers in every language."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        *(metric for metric, _ in SIZES),
        TOKENS,
        *WORD_METRICS,
        NORMALIZED_SEQUENCE_LENGTH,
        TOKEN_LENGTH,
        TOKEN_LENGTH_SHARE,
        SPACE_INITIAL_SHARE,
        RANK,
        TOKEN_RATIO,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell, then those between tokenizers."""
        for cell in tallies.counted():
            yield from _sizes(cell, tallies)
            yield from _words(cell, tallies)
            if self.reference is not None:
                yield _normalized(cell, self.reference, tallies)
            yield from _of_contents(cell, tallies)
        yield from _length_distributions(tallies)
        yield from rankings(tallies, pairs=self.pairs)


def bytes_per_token(n_bytes: int, n_tokens: int) -> float | None:
    """Return UTF-8 bytes per token, or None for an empty sample.

    >>> bytes_per_token(n_bytes=12, n_tokens=3)
    4.0
    """
    return n_bytes / n_tokens if n_tokens else None


def _sizes(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    tally, resampling = cell.tally, tallies.resampling
    n_tokens = tally.total("tokens")
    units = resampling.units(cell.key.corpus, cell.key.language)
    empty = None if n_tokens else NO_TOKENS
    for metric, column in SIZES:
        interval = resampling.ratio(cell, column, cell, "tokens") if n_tokens else NO_INTERVAL
        value = bytes_per_token(tally.total(column), n_tokens)
        params = {"resampled": units.name, "units": units.n}
        yield row(cell, metric, value, interval, why=empty, params=params)
    yield row(cell, TOKENS, n_tokens)


def _words(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    """Yield tokens by word; refused where too much text is lost, as a lost word takes one token."""
    tally = cell.tally
    n_words = tally.total("words")
    undefined = tallies.facts(cell.key).words_reason
    why = Why("words_undefined", undefined) if undefined else None
    if why is None and not n_words:
        why = Why("no_words", "no words whose token boundaries are known")
    status: Status | None = None
    if why is None and (why := why_not_its_price((cell,), tallies)):
        status = "refused"
    columns = ("word_tokens", "tokens", "continued_words", "single_token_words")
    for metric, column in zip(WORD_METRICS, columns, strict=True):
        value = None if why else tally.total(column) / n_words
        n = None if why else n_words
        yield row(cell, metric, value, n=n, unit="words", status=status, why=why)


def _normalized(cell: Cell, reference: str, tallies: Tallies) -> Measurement:
    """Compare with the reference on the same documents; refused where either loses the text."""
    params = {"reference": reference}
    why: Why | None
    other = tallies.cells.get(CellKey(reference, cell.key.corpus, cell.key.language))
    if other is None or not other.tally.total("tokens"):
        why = Why("reference_missing", f"the reference {reference} was not counted here")
        if other is None and reference not in tallies.tokenizers:
            words = f"the reference {reference} is not a tokenizer of this run"
            why = Why("reference_missing", words)
    else:
        why = why_not_its_price((cell, other), tallies)
        if why is None:
            value, interval, n = pooled_ratio(cell, other, "tokens", tallies)
            return row(cell, NORMALIZED_SEQUENCE_LENGTH, value, interval, n=n, params=params)
    return row(cell, NORMALIZED_SEQUENCE_LENGTH, None, status="refused", why=why, params=params)


def _of_contents(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    """Yield what depends on the bytes of the tokens emitted; nothing where they are not known."""
    contents = tallies.contents.get(cell.key.tokenizer)
    ids, counts = cell.tally.histogram_ids, cell.tally.histogram_counts
    if contents is None or not len(ids):
        return
    n_tokens = int(counts.sum())
    spaced = int(counts[contents.starts_with_space[ids]].sum())
    yield row(cell, SPACE_INITIAL_SHARE, spaced / n_tokens, n=n_tokens, unit="tokens")
    lengths, counts = _with_bytes(contents, ids, counts)
    if len(lengths):
        for quantile, length in zip(
            QUANTILES, weighted_quantiles(lengths, counts, QUANTILES), strict=True
        ):
            n = int(counts.sum())
            params = {"quantile": quantile}
            yield row(cell, TOKEN_LENGTH, length, n=n, unit="tokens", params=params)


def _with_bytes(
    contents: Contents, ids: IntArray, counts: IntArray
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], IntArray]:
    """Return the lengths and counts of the ids that have bytes of their own."""
    lengths = contents.lengths[ids]
    some = lengths > 0
    return lengths[some], counts[some]


def _length_distributions(tallies: Tallies) -> Iterator[Measurement]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in tallies.counted():
        groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append(cell)
    for (tokenizer, corpus), cells in groups.items():
        contents = tallies.contents.get(tokenizer)
        ids, counts = merged(cell.tally for cell in cells)
        if contents is None:
            continue
        lengths, counts = _with_bytes(contents, ids, counts)
        if not len(lengths):
            continue
        partial = next((cell for cell in cells if cell.status == "partial"), None)
        for place, share in enumerate(length_shares(lengths, counts, LONGEST), 1):
            of_length = {"bytes": place} if place <= LONGEST else {"bytes_above": LONGEST}
            yield Measurement(
                metric=TOKEN_LENGTH_SHARE,
                tokenizer=tokenizer,
                corpus=corpus,
                value=share,
                n=int(counts.sum()),
                params={**of_length, "unit_of_n": "tokens"},
                status="partial" if partial else "ok",
                reason=partial.reason if partial else None,
                detail=partial.detail if partial else None,
            )
