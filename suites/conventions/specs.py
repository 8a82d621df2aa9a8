"""What the suite conventions measures."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

PUBLISHED_PARITY = MetricSpec(
    name="published_parity",
    unit="ratio",
    direction="none",
    definition="Tokens of the language ÷ tokens of the pivot by the convention of a publication, "
    "which params record: special tokens that the model adds to a text counted or left out, the "
    "mean over documents of their ratios or the ratio of totals. It has no rank and no gate looks "
    "at it.",
    formula="mean over documents of (tokens(language) + s) ÷ (tokens(pivot) + s), or Σ ÷ Σ; s is "
    "the number of special tokens",
    source="Altıntaş et al., TokSuite: Measuring the Impact of Tokenizer Choice on Language Model "
    "Behavior, arXiv 2512.20757; there on lines of FLORES-200 dev.",
    not_meant="What a language pays: that is `premium`. A mean of ratios gives short documents the "
    "weight of long ones, and special tokens draw every ratio towards 1.",
    trap="Comparing it with premiums, or with figures of another convention: the second digit "
    "differs.",
)
