"""A budget for programs: plain JSON, JUnit XML, benchmark formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokbench.bench.commands.budget.outcome import BudgetOutcome, LimitCheck
from tokbench.bench.commands.budget.report import BudgetPlugin
from tokbench.bench.markup import strict_json
from tokbench.reports.budget.words import about, figures
from tokbench.reports.ci_formats import JUnitCase, Plotted, bencher, benchmark_json, junit


class BudgetJson(BudgetPlugin):
    """`budget.json`, as `tokbench schema budget` describes it."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `budget.json`."""
        return {"budget.json": strict_json(outcome.to_json()) + "\n"}


class BudgetJUnit(BudgetPlugin):
    """`junit.xml`: one test case per limit, one test suite per tokenizer."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `junit.xml`; what could not be measured is an error of its own."""
        suites: dict[str, list[JUnitCase]] = {}
        for one in outcome.checks:
            suites.setdefault(one.tokenizer, []).append(_case(one, outcome.currency))
        for problem in outcome.problems:
            case = JUnitCase(name=problem, ending="error", type="not measured", said=problem)
            suites.setdefault("budget", []).append(case)
        return {"junit.xml": junit(suites)}


def _case(one: LimitCheck, currency: str) -> JUnitCase:
    ending = "error" if one.value is None else "passed" if one.passed else "failure"
    return JUnitCase(
        name=f"{about(one)} {one.limit}",
        ending=ending,  # type: ignore[arg-type]
        type="over budget" if one.value is not None else "not measured",
        said=figures(one, currency),
    )


class BudgetBenchmarkJson(BudgetPlugin):
    """Tokens by file for github-action-benchmark (`customSmallerIsBetter`)."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `benchmark-smaller-is-better.json`."""
        return {"benchmark-smaller-is-better.json": benchmark_json(_plotted(outcome))}


class BudgetBencher(BudgetPlugin):
    """Tokens by file in Bencher Metric Format."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `bencher.json`."""
        return {"bencher.json": bencher(_plotted(outcome))}


def _plotted(outcome: BudgetOutcome) -> Iterator[Plotted]:
    for one in sorted(outcome.files, key=lambda file: (file.tokenizer, file.file)):
        if one.tokens is not None and one.status != "deleted":
            yield Plotted(
                names=(one.tokenizer, one.file),
                measure="tokens",
                unit="tokens",
                value=one.tokens,
                extra=one.status or "",
            )
