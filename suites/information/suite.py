"""How a tokenizer uses its vocabulary: entropies, frequencies, what is never used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from tokbench.bench.count.stats import NO_INTERVAL, Interval
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import TokenizerFacts
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import Finding, IntArray, Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why
from tokbench.suites.histograms import merged
from tokbench.suites.information import entropy
from tokbench.suites.information.specs import (
    EQUAL_UTILIZATION,
    NEW_IDS,
    RANK_FREQUENCY,
    RENYI_EFFICIENCY,
    RENYI_ENTROPY,
    SHANNON_EFFICIENCY,
    SHANNON_ENTROPY,
    VOCABULARY_UTILIZATION,
    ZIPF_EXPONENT,
)
from tokbench.suites.rows import row, why_of


class Information(CountsSuite):
    """Entropy and efficiency, Zipf's exponent, vocabulary utilization, by language and over all."""

    alpha: Annotated[float, Field(gt=0)] = Field(2.5, description="Order of the Rényi entropy.")
    zipf_ranks: Annotated[int, Field(ge=10)] = Field(
        1000, description="Last frequency rank that `zipf_exponent` is fitted to."
    )
    listed: Annotated[int, Field(ge=0, le=1000)] = Field(
        20, description="Most used and never used tokens kept in findings."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        SHANNON_ENTROPY,
        SHANNON_EFFICIENCY,
        RENYI_ENTROPY,
        RENYI_EFFICIENCY,
        ZIPF_EXPONENT,
        RANK_FREQUENCY,
        VOCABULARY_UTILIZATION,
        EQUAL_UTILIZATION,
        NEW_IDS,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell, then those over all languages of a corpus."""
        histograms = list(_histograms(tallies))
        equal = _equal_tokens(tallies)
        for histogram in histograms:
            yield from _entropies(histogram, self.alpha)
            yield from _zipf(histogram, self.zipf_ranks)
            yield _utilization(histogram)
            yield _new_ids(histogram)
            if histogram.language is None:
                yield from _curve(histogram)
                yield from _used(histogram, tallies.contents.get(histogram.tokenizer), self.listed)
            elif histogram.corpus in equal:
                yield _equal_utilization(histogram, equal[histogram.corpus])


@dataclass(frozen=True, kw_only=True)
class _Histogram:
    """The ids of one tokenizer in one language of a corpus, or in all of them (language None)."""

    tokenizer: str
    corpus: str
    language: str | None
    ids: IntArray
    counts: IntArray
    facts: TokenizerFacts
    status: Status = "ok"
    why: Why | None = None

    @property
    def n_tokens(self) -> int:
        return int(self.counts.sum())

    @property
    def entries(self) -> int:
        """Entries that are not special."""
        return self.facts.n_entries - self.facts.n_special

    @property
    def ordinary(self) -> tuple[IntArray, IntArray]:
        """Ids and counts without special tokens."""
        if not self.facts.special_ids:
            return self.ids, self.counts
        keep = ~np.isin(self.ids, np.array(self.facts.special_ids, np.int64))
        return self.ids[keep], self.counts[keep]

    def row(
        self,
        metric: MetricSpec,
        value: float | None,
        interval: Interval = NO_INTERVAL,
        *,
        params: Mapping[str, object] | None = None,
        why: Why | None = None,
    ) -> Measurement:
        return row(
            self.tokenizer,
            metric,
            value,
            interval,
            n=self.n_tokens,
            unit="tokens",
            params=params,
            status=self.status,
            why=why or self.why,
            corpus=self.corpus,
            language=self.language,
        )


def _histograms(tallies: Tallies) -> Iterator[_Histogram]:
    groups: dict[tuple[str, str], list[_Histogram]] = {}
    for cell in tallies.counted():
        one = _Histogram(
            tokenizer=cell.key.tokenizer,
            corpus=cell.key.corpus,
            language=cell.key.language,
            ids=cell.tally.histogram_ids,
            counts=cell.tally.histogram_counts,
            facts=tallies.tokenizers[cell.key.tokenizer],
            status=cell.status,
            why=why_of(cell),
        )
        groups.setdefault((one.tokenizer, one.corpus), []).append(one)
        yield one
    for (tokenizer, corpus), parts in groups.items():
        cells = [
            cell
            for cell in tallies.counted()
            if (cell.key.tokenizer, cell.key.corpus) == (tokenizer, corpus)
        ]
        ids, counts = merged(cell.tally for cell in cells)
        partial = next((part for part in parts if part.status == "partial"), None)
        yield _Histogram(
            tokenizer=tokenizer,
            corpus=corpus,
            language=None,
            ids=ids,
            counts=counts,
            facts=parts[0].facts,
            status="partial" if partial else "ok",
            why=partial.why if partial else None,
        )


def _entropies(histogram: _Histogram, alpha: float) -> Iterator[Measurement]:
    counts = histogram.counts
    if not len(counts):
        return
    for entropy_metric, efficiency_metric, order in (
        (SHANNON_ENTROPY, SHANNON_EFFICIENCY, 1.0),
        (RENYI_ENTROPY, RENYI_EFFICIENCY, alpha),
    ):
        bits = entropy.renyi_entropy(counts, order)
        params: dict[str, object] = {} if order == 1 else {"alpha": order}
        yield histogram.row(entropy_metric, bits, params=params)
        for basis, n_ids in (("observed", len(counts)), ("nominal", histogram.entries)):
            share = entropy.efficiency(bits, n_ids)
            one = Why("too_few_ids", "one id only: there is nothing to choose")
            why = None if share is not None else one
            basis_params = {**params, "basis": basis, "ids": n_ids}
            yield histogram.row(efficiency_metric, share, why=why, params=basis_params)


def _zipf(histogram: _Histogram, last_rank: int) -> Iterator[Measurement]:
    fitted = entropy.zipf_exponent(histogram.counts, last_rank)
    if fitted is None:
        few = Why("too_few_ids", "fewer than ten ids were seen")
        yield histogram.row(ZIPF_EXPONENT, None, why=few)
        return
    exponent, last = fitted
    yield histogram.row(ZIPF_EXPONENT, exponent, params={"first_rank": 1, "last_rank": last})


def _curve(histogram: _Histogram) -> Iterator[Measurement]:
    ordered = np.sort(histogram.counts)[::-1]
    for rank in entropy.curve_ranks(len(ordered)):
        share = float(ordered[rank - 1] / histogram.n_tokens)
        yield histogram.row(RANK_FREQUENCY, share, params={"rank": rank})


def _utilization(histogram: _Histogram) -> Measurement:
    entries, seen = histogram.entries, len(histogram.ordinary[0])
    value = seen / entries if entries else None
    none = Why("empty_vocabulary", "the vocabulary has no entries that are not special")
    return histogram.row(
        VOCABULARY_UTILIZATION,
        value,
        why=None if entries else none,
        params={"seen": seen, "entries": entries},
    )


def _equal_tokens(tallies: Tallies) -> dict[str, int]:
    """Return for each corpus the fewest tokens of any cell whose text survives."""
    fewest: dict[str, int] = {}
    for cell in tallies.counted():
        if tallies.why_unranked(cell) is None:
            n_tokens = cell.tally.total("tokens")
            fewest[cell.key.corpus] = min(fewest.get(cell.key.corpus, n_tokens), n_tokens)
    return fewest


def _equal_utilization(histogram: _Histogram, n: int) -> Measurement:
    entries, counts = histogram.entries, histogram.ordinary[1]
    if not entries or int(counts.sum()) < n:
        why = Why("too_few_tokens", f"fewer than {n:,} tokens")
        if not entries:
            why = Why("empty_vocabulary", "no entries that are not special")
        return histogram.row(EQUAL_UTILIZATION, None, why=why, params={"tokens": n})
    distinct = entropy.expected_distinct(counts, n)
    params = {"tokens": n, "ids": round(distinct, 3)}
    return histogram.row(EQUAL_UTILIZATION, distinct / entries, params=params)


def _new_ids(histogram: _Histogram) -> Measurement:
    counts = histogram.ordinary[1]
    unseen = max(histogram.entries - len(counts), 0)
    estimate, error = entropy.good_toulmin(counts)
    low, value, high = (
        min(max(estimate + z * error, 0.0), float(unseen)) for z in (-1.96, 0.0, 1.96)
    )
    params = {"estimate": estimate, "seen": len(counts), "unseen": unseen}
    return histogram.row(NEW_IDS, value, Interval(low, high), params=params)


def _used(histogram: _Histogram, contents: Contents | None, listed: int) -> Iterator[Finding]:
    """Yield the most used tokens of a corpus, and the first of those never used."""
    if contents is None or not listed:
        return
    order = np.argsort(-histogram.counts, kind="stable")[:listed]
    used = [
        {**_shown(contents, int(histogram.ids[i])), "count": int(histogram.counts[i])}
        for i in order
    ]
    seen = np.zeros(len(contents.lengths), np.bool_)
    seen[histogram.ids] = True
    never = np.flatnonzero(contents.is_ordinary & ~seen)
    first = [_shown(contents, int(i)) for i in never[:listed]]
    yield _note(histogram, "most_used", f"the {len(used)} most used tokens", used, len(used))
    message = f"{len(never):,} of {histogram.entries:,} entries were never used"
    yield _note(histogram, "never_used", message, first, len(never))


def _shown(contents: Contents, token: int) -> dict[str, object]:
    content = contents.of_id(token)
    return {"id": token, "bytes": None if content is None else content.hex()}


def _note(
    histogram: _Histogram,
    what: Literal["most_used", "never_used"],
    message: str,
    tokens: list[dict[str, object]],
    n: int,
) -> Finding:
    return Finding(
        kind="note",
        reason="examples",
        message=message,
        tokenizer=histogram.tokenizer,
        corpus=histogram.corpus,
        data={"class": what, "n": n, "tokens": tokens},
    )
