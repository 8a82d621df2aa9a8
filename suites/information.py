"""How a tokenizer uses its vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from bench.model import Finding, IntArray, Measurement, MetricSpec
from bench.plugins import CountsSuite
from bench.tally import Tallies

VOCABULARY_UTILIZATION = MetricSpec(
    name="vocabulary_utilization",
    unit="share",
    direction="none",
    definition="Distinct ids seen ÷ non-special entries. It grows with the amount of text: "
    "compare at equal numbers of tokens (see params).",
)


class Information(CountsSuite):
    """Vocabulary utilization by language, and over all languages of a corpus."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (VOCABULARY_UTILIZATION,)

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the share of entries seen in every cell and in each corpus."""
        seen: dict[tuple[str, str], list[IntArray]] = {}
        tokens: dict[tuple[str, str], int] = {}
        for cell in tallies.counted():
            key = cell.key.tokenizer, cell.key.corpus
            seen.setdefault(key, []).append(cell.tally.histogram_ids)
            n_tokens = int(cell.tally.histogram_counts.sum())
            tokens[key] = tokens.get(key, 0) + n_tokens
            yield _utilization(tallies, *key, cell.key.language, cell.tally.histogram_ids, n_tokens)
        for (tokenizer, corpus), ids in seen.items():
            distinct = np.unique(np.concatenate(ids))
            yield _utilization(
                tallies, tokenizer, corpus, None, distinct, tokens[tokenizer, corpus]
            )


def _utilization(
    tallies: Tallies,
    tokenizer: str,
    corpus: str,
    language: str | None,
    distinct: IntArray,
    n_tokens: int,
) -> Measurement:
    facts = tallies.tokenizers[tokenizer]
    entries = facts.n_entries - facts.n_special
    special = np.isin(distinct, np.array(facts.special_ids, np.int64)) if facts.special_ids else 0
    n_seen = len(distinct) - int(np.sum(special))
    return Measurement(
        metric=VOCABULARY_UTILIZATION,
        suite="information",
        tokenizer=tokenizer,
        corpus=corpus,
        language=language,
        value=n_seen / entries if entries else None,
        n=n_tokens,
        params={"unit_of_n": "tokens", "seen": n_seen, "entries": entries},
        detail=None if entries else "the vocabulary has no entries that are not special",
    )
