"""What the health suite counts."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

CHECKS = MetricSpec(
    name="health_checks",
    unit="checks",
    direction="none",
    definition="Checks of a tokenizer's health that came to a verdict; the verdict (pass, warn, "
    "fail) is in params, the findings say which checks and why.",
    formula="|{check : its verdict is that of params}|",
    source="tokbench.",
    not_meant="A score. A tokenizer with one fail may serve better than one with none.",
    trap="Comparing the numbers of two tokenizers: a check that does not apply is not counted.",
)
