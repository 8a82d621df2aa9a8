"""Each metric says what it is, how it is computed, and what it must not be taken for."""

from __future__ import annotations

import pytest

from bench.costing import COST_METRICS
from bench.metric_pages import all_metrics, pages
from bench.model import MetricSpec
from suites.efficiency import Efficiency
from suites.information import Information
from suites.multilingual import Multilingual
from suites.throughput import Throughput

WHOLE = [
    *Efficiency.metrics,
    *Multilingual.metrics,
    *Information.metrics,
    *Throughput.metrics,
    *COST_METRICS,
]


@pytest.mark.parametrize("spec", WHOLE, ids=lambda spec: spec.name)
def test_a_metric_has_everything_its_page_needs(spec: MetricSpec) -> None:
    for text in (spec.definition, spec.formula, spec.source, spec.not_meant, spec.trap):
        assert text


def test_no_two_metrics_share_a_name() -> None:
    names = [spec.name for _, spec in all_metrics()]
    assert len(names) == len(set(names))


def test_every_metric_has_a_page_and_the_list_links_to_it() -> None:
    made = pages()
    for _, spec in all_metrics():
        assert spec.definition in made[f"{spec.name}.md"]
        assert f"[{spec.name}]({spec.name}.md)" in made["README.md"]
