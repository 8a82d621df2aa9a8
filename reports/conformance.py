"""Sections of the run report on engines: whether their ids are right, and how their time grows."""

from __future__ import annotations

from collections.abc import Iterator

from bench.conforming import Verdict, verdicts
from bench.markup import count, escape, number
from bench.markup import markdown_table as table
from reports.view import Row, View

WRONG = "✗"
"""Beside the speed of an engine whose ids are not those of its reference."""
WITNESSES = 3
STEEP = 1.2
"""Exponents whose whole interval lies above are printed bold: n · log n stays below."""


def speed_name(view: View, tokenizer: str) -> str:
    """Return an escaped name for tables of speed, with the mark of engines that are not right."""
    wrong = {one.engine for one in verdicts(view.results) if not one.right}
    return f"{escape(tokenizer)} {WRONG}" if tokenizer in wrong else escape(tokenizer)


def mark_explained(view: View) -> Iterator[str]:
    """Say what the mark means, where a tokenizer has it."""
    if not all(one.right for one in verdicts(view.results)):
        yield (
            f"{WRONG} does not give the ids of its reference, or was not compared with it (see "
            "Conformance): its speed is that of other work, and no reason to prefer it."
        )


def conformance(view: View) -> Iterator[str]:
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


def _verdict_cells(one: Verdict) -> list[str]:
    return [
        escape(one.engine),
        escape(one.reference),
        escape(one.verdict) if one.right else f"**{escape(one.verdict)}** {WRONG}",
        count(one.documents),
        count(one.strings),
        count(one.unexpected),
        count(one.allowed),
    ]


def _details(one: Verdict) -> Iterator[str]:
    """Yield the verdict in words and the smallest witnesses."""
    yield f"- {escape(one.engine)}: {escape(one.message)}"
    for witness in one.witnesses[:WITNESSES]:
        yield f"  - {escape(witness)}"


def complexity(view: View) -> Iterator[str]:
    """Yield the section on growth with length; nothing where it was not probed."""
    rows = {
        (row["tokenizer"], row["params"]["family"]): row
        for row in view.rows
        if row["metric"] == "growth_exponent"
    }
    if not rows:
        return
    longest = {
        (row["tokenizer"], row["params"]["family"]): row
        for row in view.rows
        if row["metric"] == "longest_text"
    }
    tokenizers = [name for name in view.tokenizers if any(key[0] == name for key in rows)]
    families = list(dict.fromkeys(family for _, family in rows))
    yield "## Growth with length"
    yield (
        "k in time ≈ c · length^k on adversarial text, with a 95 % interval that says how straight "
        f"the line is; 1 is linear, bold is surely above {STEEP}, a dash is not resolvable by this "
        "clock. After a slash the longest text that was encoded, where something ended the next."
    )
    cells = [
        [
            escape(family),
            *(_growth_cell(rows.get((t, family)), longest.get((t, family))) for t in tokenizers),
        ]
        for family in families
    ]
    yield table(["family", *map(escape, tokenizers)], cells)
    ended = [row for row in longest.values() if row["status"] in ("partial", "failed")]
    if ended:
        yield "\n".join(f"- {escape(row['tokenizer'])}: {escape(row['detail'])}" for row in ended)


def _growth_cell(growth: Row | None, longest: Row | None) -> str:
    if growth is None:
        return "no such text"
    text = "–"
    if growth["value"] is not None:
        text = (
            f"{number(growth['value'])} ({number(growth['ci_low'])} to {number(growth['ci_high'])})"
        )
        text = f"**{text}**" if growth["ci_low"] > STEEP else text
    if longest is not None and longest["status"] != "ok":
        text += f" / {count(longest['value'])}"
    return text
