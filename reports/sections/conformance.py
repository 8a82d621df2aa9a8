"""The report's section on engines held against references, and their mark beside every speed."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.commands.conform import EngineVerdict, verdicts
from tokbench.bench.markup import count, escape
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.view import View

WRONG = "✗"
"""Beside the speed of an engine whose ids are not those of its reference."""
WITNESSES = 3


def not_right(view: View) -> set[str]:
    """Return the engines that are wrong or could not be compared."""
    return {one.engine for one in verdicts(view.results) if not one.right}


def speed_name(view: View, tokenizer: str) -> str:
    """Return an escaped name for tables of speed, with the mark of engines that are not right."""
    return f"{escape(tokenizer)} {WRONG}" if tokenizer in not_right(view) else escape(tokenizer)


def mark_explained(view: View) -> Iterator[str]:
    """Say what the mark means, where a tokenizer has it."""
    if not_right(view):
        yield (
            f"{WRONG} gives other ids than its reference, or was not compared with it (see "
            "Conformance in detail.md): it does other work, so its speed is not comparable."
        )


def conformance_section(view: View) -> Iterator[str]:
    """Yield the section on engines held against references; nothing where there is none."""
    said = verdicts(view.results)
    if not said:
        return
    yield "## Conformance"
    yield (
        "Engines held against a reference, id by id, on the documents of this run and on "
        "adversarial strings. Exact says that no text asked showed a difference. A round trip "
        "proves nothing: wrong ids can decode to the right text."
    )
    header = ["engine", "reference", "verdict", "documents", "strings", "not allowed", "allowed"]
    yield table(header, map(_verdict_cells, said), left=3)
    lines = [line for one in said if not one.right for line in _details(one)]
    if lines:
        yield "\n".join(lines)


def conformance_failures(view: View) -> Iterator[str]:
    """Yield a line for each engine that is wrong or could not be compared."""
    for one in verdicts(view.results):
        if not one.right:
            where = f"{escape(one.engine)} against {escape(one.reference)}"
            yield f"{where}: **{escape(one.verdict)}**: {escape(one.message)}"


def _verdict_cells(one: EngineVerdict) -> list[str]:
    return [
        escape(one.engine),
        escape(one.reference),
        escape(one.verdict) if one.right else f"**{escape(one.verdict)}** {WRONG}",
        count(one.documents),
        count(one.strings),
        count(one.unexpected),
        count(one.allowed),
    ]


def _details(one: EngineVerdict) -> Iterator[str]:
    """Yield the verdict in words and the smallest witnesses."""
    yield f"- {escape(one.engine)}: {escape(one.message)}"
    for witness in one.witnesses[:WITNESSES]:
        yield f"  - {escape(witness)}"
