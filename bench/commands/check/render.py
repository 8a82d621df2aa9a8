"""The health report as text: a line for each check, what it costs and where to read on below it."""

from __future__ import annotations

import textwrap

from tokbench.bench.commands.check.examine import HealthCheck, HealthReport
from tokbench.bench.markup import one_line, plural

NAME_WIDTH = 24


def render(report: HealthReport, width: int) -> str:
    """Return the report in lines of at most `width` columns; fails come first, then warnings."""
    order = {"fail": 0, "warn": 1, "pass": 2}
    checks = sorted(report.checks, key=lambda check: order[check.verdict])
    counts = ", ".join(f"{report.count(v)} {v}" for v in order)
    head = f"{report.tokenizer}: {plural(len(checks), 'check')}: {counts}"
    return "\n".join([head, "", *(_lines(check, width) for check in checks)])


def _lines(check: HealthCheck, width: int) -> str:
    said = [_wrapped(f"{check.verdict}  {check.name:{NAME_WIDTH}}", check.text, width)]
    if check.cost:
        said.append(_wrapped("      costs: ", check.cost, width))
    if check.page:
        said.append(_wrapped("      read: ", check.page, width))
    return "\n".join(said)


def _wrapped(start: str, text: str, width: int) -> str:
    return textwrap.fill(
        one_line(text),
        width=max(width, 40),
        initial_indent=start,
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
