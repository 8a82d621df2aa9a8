"""A comparison for programs: JUnit XML, github-action-benchmark's custom JSON, plain JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import Explanation, Segment
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.compare.verdicts import Verdict
from tokbench.bench.markup import one_line, strict_json
from tokbench.reports.comparison.moves import change, figure, piece


class JUnit(ComparisonPlugin):
    """`junit.xml`: one test case per value, one test suite per tokenizer and corpus."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `junit.xml`."""
        groups: dict[str, list[Verdict]] = {}
        for verdict in comparison.verdicts:
            key = verdict.key
            name = one_line(f"{key.tokenizer or 'all'}.{key.corpus or 'all'}")
            groups.setdefault(name, []).append(verdict)
        root = ElementTree.Element(
            "testsuites", {"name": "tokbench", **_totals(comparison.verdicts)}
        )
        for name, verdicts in groups.items():
            suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_totals(verdicts)})
            for verdict in verdicts:
                _case(suite, name, verdict)
        ElementTree.indent(root, " ")
        text = ElementTree.tostring(root, encoding="unicode")
        return {"junit.xml": f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'}


def _totals(verdicts: Iterable[Verdict]) -> dict[str, str]:
    effects = [(v.effect, v.outcome) for v in verdicts]
    return {
        "tests": str(len(effects)),
        "failures": str(sum(effect == "fails" for effect, _ in effects)),
        "errors": str(sum(effect == "incomplete" for effect, _ in effects)),
        "skipped": str(sum(_is_skipped(*pair) for pair in effects)),
    }


def _is_skipped(effect: str, outcome: str) -> bool:
    """A value that was not compared and does not matter to the gate."""
    return effect == "passes" and outcome in ("new", "missing", "incomparable")


def _case(suite: ElementTree.Element, name: str, verdict: Verdict) -> None:
    key = verdict.key
    place = f"{key.name} {key.language}" if key.language else key.name
    case = ElementTree.SubElement(suite, "testcase", classname=name, name=one_line(place), time="0")
    said = one_line(f"{verdict.outcome}: {figures(verdict)}")
    if verdict.effect == "fails":
        ElementTree.SubElement(case, "failure", type=verdict.outcome, message=said).text = said
    elif verdict.effect == "incomplete":
        ElementTree.SubElement(case, "error", type=verdict.outcome, message=said).text = said
    elif _is_skipped(verdict.effect, verdict.outcome):
        ElementTree.SubElement(case, "skipped", message=said)


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
            name: _dump([_entry(v) for v in comparison.verdicts if _is_plotted(v, direction)])
            for direction, name in files.items()
        }


def _is_plotted(verdict: Verdict, direction: str) -> bool:
    return verdict.direction == direction and isinstance(verdict.candidate, float)


def _entry(verdict: Verdict) -> dict[str, Any]:
    key = verdict.key
    names = [key.tokenizer, key.corpus, key.language, key.name]
    return {
        "name": " / ".join(name for name in names if name),
        "unit": verdict.unit,
        "value": verdict.candidate,
        "extra": f"{verdict.outcome}; base {figure(verdict.base)}",
    }


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
