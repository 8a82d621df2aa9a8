"""The report's section on how time grows with length, and on what ended a tokenizer."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, number
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.view import Row, View

STEEP = 1.2
"""Exponents whose whole interval lies above are printed bold: n · log n stays below."""


def growth_section(view: View) -> Iterator[str]:
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
    tokenizers = [name for name in order(view) if any(key[0] == name for key in rows)]
    families = list(dict.fromkeys(family for _, family in rows))
    yield "## Growth with length"
    yield (
        "k in time ≈ c · length^k on adversarial text, with a 95 % interval that says how straight "
        f"the line is; 1 is linear, bold: the interval lies above {STEEP}, a dash: too fast for this clock "
        "to resolve. After a slash: the longest text encoded, where a limit ended the next one."
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
