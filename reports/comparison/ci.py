"""A comparison for programs: JUnit XML, benchmark formats, plain JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import Explanation, Segment
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.compare.verdicts import Verdict
from tokbench.bench.markup import strict_json
from tokbench.reports.ci_formats import (
    Ending,
    JUnitCase,
    Plotted,
    bencher,
    benchmark_json,
    junit,
)
from tokbench.reports.comparison.moves import change, figure, piece


class JUnit(ComparisonPlugin):
    """`junit.xml`: one test case per value, one test suite per tokenizer and corpus."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `junit.xml`."""
        groups: dict[str, list[JUnitCase]] = {}
        for verdict in comparison.verdicts:
            key = verdict.key
            name = f"{key.tokenizer or 'all'}.{key.corpus or 'all'}"
            groups.setdefault(name, []).append(_case(verdict))
        return {"junit.xml": junit(groups)}


def _case(verdict: Verdict) -> JUnitCase:
    key = verdict.key
    return JUnitCase(
        name=f"{key.name} {key.language}" if key.language else key.name,
        ending=_ending(verdict),
        type=verdict.outcome,
        said=f"{verdict.outcome}: {figures(verdict)}",
    )


def _ending(verdict: Verdict) -> Ending:
    if verdict.effect == "fails":
        return "failure"
    if verdict.effect == "incomplete":
        return "error"
    # a value that was not compared and does not matter to the gate
    return "skipped" if verdict.outcome in ("new", "missing", "incomparable") else "passed"


def figures(verdict: Verdict) -> str:
    """Write a verdict's figures and reason in one line."""
    moved = f"{figure(verdict.base)} → {figure(verdict.candidate)}"
    size = change(verdict)
    sized = f"{moved} {verdict.unit}, {size}" if size != "–" else f"{moved} {verdict.unit}"
    return f"{sized}: {verdict.reason}" if verdict.reason else sized


class BenchmarkJson(ComparisonPlugin):
    """The candidate's values for github-action-benchmark, one file for each direction."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return the files for `customSmallerIsBetter` and `customBiggerIsBetter`."""
        files = {
            "lower": "benchmark-smaller-is-better.json",
            "higher": "benchmark-bigger-is-better.json",
        }
        return {
            name: benchmark_json(_plotted(comparison, direction))
            for direction, name in files.items()
        }


class Bencher(ComparisonPlugin):
    """The candidate's values in Bencher Metric Format."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `bencher.json`."""
        return {"bencher.json": bencher(_plotted(comparison, "lower", "higher"))}


def _plotted(comparison: Comparison, *directions: str) -> Iterator[Plotted]:
    for verdict in comparison.verdicts:
        key, value = verdict.key, verdict.candidate
        if verdict.direction in directions and isinstance(value, float):
            yield Plotted(
                names=(key.tokenizer, key.corpus, key.language),
                measure=key.name,
                unit=verdict.unit,
                value=value,
                extra=f"{verdict.outcome}; base {figure(verdict.base)}",
            )


class ComparisonJson(ComparisonPlugin):
    """`comparison.json`: verdicts that are not same, and the explanation."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison.json`."""
        return {
            "comparison.json": _dump(
                {
                    "base": comparison.base.name,
                    "candidate": comparison.candidate.name,
                    "exit_code": comparison.exit_code,
                    "sentence": comparison.sentence(),
                    "counts": dict(comparison.counts),
                    "let_pass": dict(comparison.let_pass),
                    "rules_from": comparison.rules_from,
                    "on_rules": comparison.on_rules,
                    "mismatches": comparison.mismatches,
                    "notes": comparison.notes,
                    "verdicts": [_verdict(v) for v in comparison.moved],
                    "explanations": [_explanation(e) for e in comparison.explanations],
                    "unexplained": comparison.unexplained,
                }
            )
        }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    plain = asdict(verdict)
    return {**verdict.key._asdict(), **{k: v for k, v in plain.items() if k != "key"}}


def _explanation(explanation: Explanation) -> dict[str, Any]:
    plain = asdict(explanation)
    plain["change"] = explanation.change
    plain["by"] = {
        name: [{**asdict(part), "change": part.change} for part in parts]
        for name, parts in explanation.by.items()
    }
    plain["top"] = [_segment(segment) for segment in explanation.top]
    plain["top_documents"] = [document._asdict() for document in explanation.top_documents]
    return plain


def _segment(segment: Segment) -> dict[str, Any]:
    def read(parts: tuple[bytes | None, ...]) -> list[str | None]:
        return [None if part is None else piece(part) for part in parts]

    plain = {**asdict(segment), "change": segment.change}
    return {**plain, "base": read(segment.base), "candidate": read(segment.candidate)}


def _dump(value: Any) -> str:
    return strict_json(value) + "\n"
