"""What each language pays: tokens of a language against the same text in the pivot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.count.stats import NO_INTERVAL, Interval
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Finding, Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why
from tokbench.suites.multilingual.specs import (
    CHARACTERS_RATIO,
    CONTEXT_CHARACTERS,
    CONTEXT_SHARE,
    CONTEXT_WORDS,
    GINI,
    LANGUAGES_ABOVE,
    MAX_MIN_PREMIUM,
    MEAN_PREMIUM,
    MEAN_TOKENS_PER_CHARACTER,
    OVERHEAD,
    PREMIUM,
    PREMIUM_DEVIATION,
    PROGRAM_PREMIUM,
    TOKENS_PER_CHARACTER,
)
from tokbench.suites.multilingual.spread import spreads
from tokbench.suites.rows import pooled_ratio, row, why_not_its_price, why_of


class Multilingual(CountsSuite):
    """Premium and overhead on parallel text, their spread, and what fits into a context."""

    contexts: tuple[Annotated[int, Field(gt=0)], ...] = Field(
        (8192,),
        description="Context lengths in tokens, for `context_characters` and `context_words`.",
    )
    limits: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (1.5, 2.0), description="Premiums above which `languages_above` counts."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        PREMIUM,
        OVERHEAD,
        PROGRAM_PREMIUM,
        CHARACTERS_RATIO,
        TOKENS_PER_CHARACTER,
        MEAN_TOKENS_PER_CHARACTER,
        GINI,
        MAX_MIN_PREMIUM,
        PREMIUM_DEVIATION,
        MEAN_PREMIUM,
        LANGUAGES_ABOVE,
        CONTEXT_CHARACTERS,
        CONTEXT_WORDS,
        CONTEXT_SHARE,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return what every language costs, against the pivot of its corpus where it has one."""
        premiums: list[tuple[Cell, Measurement]] = []
        refused: set[str] = set()
        for cell in tallies.counted():
            facts = tallies.facts(cell.key)
            yield from _tokens_per_character(cell)
            yield from _context(cell, tallies, self.contexts)
            if facts.parallel:
                rows = list(_premium(cell, tallies))
                premiums.append((cell, rows[0]))
                yield from rows
            elif facts.corpus not in refused and _n_languages(facts.corpus, tallies) > 1:
                refused.add(facts.corpus)
                yield _not_parallel(facts.corpus)
        yield from spreads(premiums, tallies, self.limits)


def _not_parallel(corpus: str) -> Finding:
    return Finding(
        kind="refusal",
        reason="not_parallel",
        corpus=corpus,
        message="no premium: the corpus is not parallel, so its languages say "
        "different things; use a parallel corpus, or set parallel: true if it is one",
    )


def _n_languages(corpus: str, tallies: Tallies) -> int:
    return sum(1 for name, _ in tallies.corpora if name == corpus)


def _premium(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    """Yield the premium, or why there is none, and what goes with it."""
    facts = tallies.facts(cell.key)
    pivot = tallies.cells.get(CellKey(cell.key.tokenizer, facts.corpus, facts.pivot or ""))
    metric = PROGRAM_PREMIUM if facts.kind == "code" else PREMIUM
    refused = Why("not_aligned", facts.parallel_refusal) if facts.parallel_refusal else None
    if refused is None and (pivot is None or not pivot.tally.total("tokens")):
        cause = pivot.detail if pivot else "missing"
        words = f"the pivot {facts.pivot} was not counted: {cause}"
        refused = Why("pivot_missing", words)
    if pivot is None or refused is not None:
        yield row(cell, metric, None, status="refused", why=refused)
        return
    value, interval, n = pooled_ratio(cell, pivot, "tokens", tallies)
    lost = why_not_its_price((cell,) if cell is pivot else (cell, pivot), tallies)
    if lost is not None:
        yield row(cell, metric, None, n=n, status="refused", why=lost)
        return
    yield from _against(cell, pivot, metric, value, interval, n, tallies)


def _against(
    cell: Cell,
    pivot: Cell,
    metric: MetricSpec,
    value: float | None,
    interval: Interval,
    n: int,
    tallies: Tallies,
) -> Iterator[Measurement]:
    worse = pivot if cell.status == "ok" else cell
    why = why_of(worse) or tallies.why_unranked(cell) or tallies.why_unranked(pivot)

    def one(metric: MetricSpec, value: float | None, interval: Interval) -> Measurement:
        return row(cell, metric, value, interval, n=n, status=worse.status, why=why)

    yield one(metric, value, interval)
    if metric is PREMIUM and value is not None:
        shifted = Interval(*(None if end is None else end - 1 for end in interval))
        yield one(OVERHEAD, value - 1, shifted)
        inverse = Interval(*(1 / end if end else None for end in reversed(interval)))
        yield one(CONTEXT_SHARE, 1 / value if value else None, inverse)
    characters, _, _ = pooled_ratio(cell, pivot, "characters", tallies)
    yield one(CHARACTERS_RATIO, characters, NO_INTERVAL)


def _tokens_per_character(cell: Cell) -> Iterator[Measurement]:
    tokens, characters = (cell.tally.documents[name] for name in ("tokens", "characters"))
    some = characters > 0
    total = int(characters.sum())
    empty = None if total else Why("no_text", "no characters: nothing to divide by")
    value = int(tokens.sum()) / total if total else None
    yield row(cell, TOKENS_PER_CHARACTER, value, why=empty)
    mean = float(np.mean(tokens[some] / characters[some])) if total else None
    n = int(some.sum())
    yield row(cell, MEAN_TOKENS_PER_CHARACTER, mean, n=n, why=empty)


def _context(cell: Cell, tallies: Tallies, contexts: tuple[int, ...]) -> Iterator[Measurement]:
    tally, n_tokens = cell.tally, cell.tally.total("tokens")
    lost = why_not_its_price((cell,), tallies)
    if lost is None and not n_tokens:
        lost = Why("no_tokens", "no tokens: nothing to divide by")
    undefined = tallies.facts(cell.key).words_reason
    no_words = Why("words_undefined", undefined) if undefined else None
    for length in contexts:
        for metric, column, why in (
            (CONTEXT_CHARACTERS, "characters", lost),
            (CONTEXT_WORDS, "words", lost or no_words),
        ):
            value = None if why else length * tally.total(column) / n_tokens
            status: Status | None = "refused" if lost else None
            yield row(cell, metric, value, status=status, why=why, params={"tokens": length})
