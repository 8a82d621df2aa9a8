"""How a tokenizer uses its vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np

from bench.model import Finding, Measurement, MetricSpec
from bench.plugins import CountsSuite
from bench.tally import Cell, Tallies

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
        groups: dict[tuple[str, str], list[Cell]] = {}
        for cell in tallies.counted():
            groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append(cell)
            yield _utilization(tallies, [cell], cell.key.language)
        for cells in groups.values():
            yield _utilization(tallies, cells, None)


def _utilization(tallies: Tallies, cells: Sequence[Cell], language: str | None) -> Measurement:
    """Measure what several cells of one tokenizer and corpus have seen together."""
    tokenizer, corpus, _ = cells[0].key
    facts = tallies.tokenizers[tokenizer]
    distinct = np.unique(np.concatenate([cell.tally.histogram_ids for cell in cells]))
    n_tokens = sum(int(cell.tally.histogram_counts.sum()) for cell in cells)
    partial = next((cell for cell in cells if cell.status == "partial"), None)
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
        status="partial" if partial else "ok",
        detail=(partial and partial.detail)
        or (None if entries else "the vocabulary has no entries that are not special"),
    )
