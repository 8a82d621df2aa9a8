"""The page on metrics, from each `MetricSpec` alone."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench import plugins
from tokbench.bench.markup import escape
from tokbench.bench.model import MetricSpec
from tokbench.bench.results.costs import COST_METRICS

_DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "none": "neither is better",
}


def all_metrics() -> Iterator[tuple[str, MetricSpec]]:
    """Yield the suite's name and the spec of every metric of every installed suite, and of costs."""
    for name in plugins.names(plugins.SuitePlugin):
        for spec in plugins.find(plugins.SuitePlugin, name).metrics:
            yield name, spec
    for spec in COST_METRICS:
        yield "cost", spec


def metrics() -> str:
    """Return every metric below the heading of its suite, ready for the page."""
    suites: dict[str, list[str]] = {}
    for suite, spec in all_metrics():
        suites.setdefault(suite, []).append(entry(spec))
    blocks = (f"## Suite {name}\n\n" + "\n\n".join(found) for name, found in suites.items())
    return "\n\n".join(blocks)


def entry(spec: MetricSpec) -> str:
    """Return what the page says about one metric.

    >>> spec = MetricSpec(name="x", unit="ratio", direction="lower", definition="A ÷ B.")
    >>> print(entry(spec).splitlines()[2])
    A ÷ B. *Unit: ratio; lower is better.*
    """
    facts = [f"Unit: {escape(spec.unit)}", _DIRECTIONS[spec.direction]]
    facts += ["measured by the clock"] if spec.lane == "noisy" else []
    facts += ["adds up over languages and corpora"] if spec.additive else []
    lines = [
        *_line("Formula", spec.formula),
        *_line("Source", spec.source),
        *_line("Not", spec.not_meant),
        *_line("Trap", spec.trap),
    ]
    head = f"### {spec.name}\n\n{escape(spec.definition)} *{'; '.join(facts)}.*"
    return head + ("\n\n" + "\n".join(lines) if lines else "")


def _line(title: str, text: str) -> list[str]:
    return [f"- {title}: {escape(text)}"] if text else []
