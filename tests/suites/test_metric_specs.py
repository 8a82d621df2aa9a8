"""Each metric says what it is, how it is computed, and what it must not be taken for."""

from __future__ import annotations

import pytest

from tokbench.bench.commands.pages.metric_page import all_metrics, metrics
from tokbench.bench.markup import escape
from tokbench.bench.model import MetricSpec

BUILT_IN = {f"{suite}/{spec.name}": spec for suite, spec in all_metrics()}
"""All of this environment: those of tokbench's own suites, and of costs."""


@pytest.mark.parametrize("spec", BUILT_IN.values(), ids=BUILT_IN)
def test_a_metric_has_everything_its_page_needs(spec: MetricSpec) -> None:
    for name in ("definition", "formula", "source", "not_meant", "trap"):
        text = getattr(spec, name)
        assert text, f"{spec.name} lacks {name}"
        assert name == "formula" or text.rstrip().endswith((".", "!")), text


def test_no_two_metrics_share_a_name() -> None:
    names = [spec.name for spec in BUILT_IN.values()]
    assert len(names) == len(set(names))


def test_every_metric_is_on_the_page_below_its_suite() -> None:
    page = metrics()
    for place, spec in BUILT_IN.items():
        _, _, below = page.partition(f"## Suite {place.partition('/')[0]}\n")
        assert f"### {spec.name}\n\n{escape(spec.definition)}" in below.partition("\n## ")[0]
