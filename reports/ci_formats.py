"""Formats that CI services read: JUnit XML, github-action-benchmark's JSON, Bencher's BMF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from tokbench.bench.markup import one_line, strict_json

Ending = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True, kw_only=True)
class JUnitCase:
    """One value that was judged."""

    name: str
    ending: Ending
    type: str
    """The outcome in one word."""
    said: str


def junit(suites: Mapping[str, Sequence[JUnitCase]]) -> str:
    """Return JUnit XML: one test suite per name."""
    every = [case for cases in suites.values() for case in cases]
    root = ElementTree.Element("testsuites", {"name": "tokbench", **_totals(every)})
    for name, cases in suites.items():
        name = one_line(name)
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_totals(cases)})
        for case in cases:
            _add(suite, name, case)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add(suite: ElementTree.Element, name: str, case: JUnitCase) -> None:
    said = one_line(case.said)
    place = ElementTree.SubElement(
        suite, "testcase", classname=name, name=one_line(case.name), time="0"
    )
    if case.ending == "skipped":
        ElementTree.SubElement(place, "skipped", message=said)
    elif case.ending != "passed":
        ElementTree.SubElement(place, case.ending, type=case.type, message=said).text = said


def _totals(cases: Iterable[JUnitCase]) -> dict[str, str]:
    endings = [case.ending for case in cases]
    return {
        "tests": str(len(endings)),
        "failures": str(endings.count("failure")),
        "errors": str(endings.count("error")),
        "skipped": str(endings.count("skipped")),
    }


@dataclass(frozen=True, kw_only=True)
class Plotted:
    """One value of a series."""

    names: tuple[str | None, ...]
    """What it is of, from the widest to the narrowest; None where there is none."""
    measure: str
    unit: str
    value: float
    extra: str = ""

    @property
    def place(self) -> str:
        """The names that there are, on one line."""
        return one_line(" / ".join(name for name in self.names if name))


def benchmark_json(values: Iterable[Plotted]) -> str:
    """Return what github-action-benchmark reads as a custom benchmark."""
    entries = [
        {
            "name": f"{one.place} / {one.measure}" if one.place else one.measure,
            "unit": one.unit,
            "value": one.value,
            "extra": one.extra,
        }
        for one in values
    ]
    return strict_json(entries) + "\n"


def bencher(values: Iterable[Plotted]) -> str:
    """Return Bencher Metric Format: value by benchmark and measure."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for one in values:
        measures = found.setdefault(one.place or "all", {})
        measures[one.measure.replace("_", "-")] = {"value": one.value}
    return strict_json(found) + "\n"
