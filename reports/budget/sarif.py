"""A budget as SARIF 2.1.0: annotations on the files and lines that are over a limit.

The format is OASIS's Static Analysis Results Interchange Format, version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from tokbench.bench.commands.budget.outcome import BudgetOutcome, CostlyLines, LimitCheck
from tokbench.bench.commands.budget.report import BudgetPlugin
from tokbench.bench.markup import one_line, strict_json
from tokbench.reports.budget.words import LIMITS, about, figures, signed

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Sarif(BudgetPlugin):
    """`budget.sarif`: one result for each limit that is exceeded."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `budget.sarif`."""
        driver = {
            "name": "tokbench budget",
            "version": version("tokbench"),
            "rules": [_rule(name, text) for name, text in LIMITS.items()],
        }
        notifications = [
            {"level": "error", "message": {"text": one_line(text)}} for text in outcome.problems
        ]
        run = {
            "tool": {"driver": driver},
            "invocations": [
                {
                    "executionSuccessful": not outcome.problems,
                    "toolExecutionNotifications": notifications,
                }
            ],
            "results": [_result(one, outcome) for one in outcome.exceeded],
        }
        return {
            "budget.sarif": strict_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
            + "\n"
        }


def _rule(name: str, text: str) -> dict[str, Any]:
    return {"id": name, "shortDescription": {"text": f"Limit on the {text}."}}


def _result(one: LimitCheck, outcome: BudgetOutcome) -> dict[str, Any]:
    said = f"{about(one)}: {figures(one, outcome.currency)} ({one.tokenizer})"
    return {
        "ruleId": one.limit,
        "level": "error",
        "message": {"text": one_line(said)},
        "locations": list(_locations(one, outcome)),
        "partialFingerprints": {"tokbenchLimit/v1": f"{one.scope}/{one.name}/{one.tokenizer}"},
    }


def _locations(one: LimitCheck, outcome: BudgetOutcome) -> Iterator[dict[str, Any]]:
    """Yield the place of a limit: its file, with its dearest lines; else the budget."""
    if one.scope != "file":
        yield _location(outcome.budget, None)
        return
    mine = [p for p in outcome.lines if p.file == one.name and p.tokenizer == one.tokenizer]
    yield _location(one.name, mine[0] if mine else None)


def _location(file: str, lines: CostlyLines | None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "artifactLocation": {"uri": quote(file.encode(errors="surrogateescape"))}
    }
    if lines is not None:
        last = max(lines.first, lines.last)
        place["region"] = {"startLine": lines.first, "endLine": last}
        said = f"{lines.tokens:,} tokens here ({signed(lines.growth)})"
        return {"physicalLocation": place, "message": {"text": said}}
    return {"physicalLocation": place}
