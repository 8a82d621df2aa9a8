"""Two tokenizers declared to be one vocabulary, compared id by id.

Documents whose ids agree are known from the tallies' hashes; only those that differ are encoded
again. For each the first divergence is explained, by the change of the text that makes both
agree, and the shortest text of each explanation is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator

from tokbench.bench.count.tally import CellKey
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.run.probe import Examination, TokenizerSuite
from tokbench.suites.ids.comparing import Differences, LoadedPair, Pair, suspects, witnesses
from tokbench.suites.witnesses.fuzz import fuzz
from tokbench.suites.witnesses.specs import AGREEMENT, UNEXPECTED


class Differential(TokenizerSuite):
    """Compare pairs of tokenizers over every corpus of the run and over seeded hard strings."""

    pairs: tuple[Pair, ...] = Field(
        min_length=1,
        description="Pairs of tokenizers, such as `[{first: qwen_ranks, second: qwen_json, "
        "expected: [nfc]}]`.",
    )
    fuzz: int = Field(
        100, ge=0, le=100_000, description="Seeded strings of each category; 0 for none."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (AGREEMENT, UNEXPECTED)

    @field_validator("pairs")
    @classmethod
    def _once(cls, pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
        seen = Counter((pair.first, pair.second, pair.id_offset) for pair in pairs)
        for (first, second, offset), n in seen.items():
            if n > 1:
                raise ValueError(
                    f"{first} and {second} are listed {n} times with id_offset {offset}; keep one"
                )
        return pairs

    def together(self, tokenizers: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the pairs, whatever else the run has; those of the same two are asked at once."""
        groups = {frozenset((p.first, p.second)): (p.first, p.second) for p in self.pairs}
        return list(groups.values())

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return how far each pair agrees, and a smallest text for each kind of difference."""
        for pair in self.pairs:
            if {pair.first, pair.second} == set(examination.tokenizers):
                comparison = LoadedPair.of(pair, examination)
                yield from _corpora(examination, comparison)
                if self.fuzz:
                    yield from _fuzz(comparison, examination.seed, self.fuzz)


def _corpora(examination: Examination, comparison: LoadedPair) -> Iterator[Measurement | Finding]:
    for cell in examination.tallies.counted():
        pair, key = comparison.pair, cell.key
        other = examination.tallies.cells.get(CellKey(pair.second, key.corpus, key.language))
        if key.tokenizer != pair.first or other is None or not other.tally.n:
            continue
        rows, n = suspects(cell, other, pair)
        found = Differences()
        ids = examination.tallies.facts(key).document_ids
        for mine, texts in examination.documents(key.corpus, key.language, rows):
            found.look_at(comparison, texts, [ids[row] for row in mine.tolist()])
        yield from _measurements(comparison, found, n, key)
        yield from witnesses(comparison, found, "differential", key)


def _fuzz(comparison: LoadedPair, seed: int, n: int) -> Iterator[Measurement | Finding]:
    texts = fuzz(seed, n, comparison.spellings)
    found = Differences()
    found.look_at(comparison, [t.text for t in texts], [f"fuzz:{t.category}" for t in texts])
    yield from _measurements(comparison, found, len(texts), None)
    yield from witnesses(comparison, found, "differential", None)


def _measurements(
    comparison: LoadedPair, found: Differences, n: int, key: CellKey | None
) -> Iterator[Measurement]:
    pair = comparison.pair
    of: dict[str, Any] = {"first": pair.first, "second": pair.second}
    if pair.id_offset:  # two pairs may differ in it alone
        of["id_offset"] = pair.id_offset
    where = {} if key else {"input": "fuzz", "unit_of_n": "strings"}
    counted = {"differing": found.differing, "reasons": dict(sorted(found.reasons.items()))}
    for metric, value, params in (
        (AGREEMENT, (n - found.differing) / n if n else None, {**of, **where, **counted}),
        (UNEXPECTED, float(found.unexpected), {**of, **where}),
    ):
        yield Measurement(
            metric=metric,
            tokenizer=pair.first,
            corpus=key.corpus if key else None,
            language=key.language if key else None,
            value=value,
            n=n,
            params=params,
            reason=None if n else "no_documents",
        )
