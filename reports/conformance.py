"""Sections of the run report on engines: whether their ids are right, and how their time grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.markup import count, escape, number
from bench.markup import markdown_table as table
from reports.view import Row, View

WRONG = "✗"
"""Beside the speed of an engine whose ids are not those of its reference."""
WITNESSES = 3
STEEP = 1.2
"""Exponents whose whole interval lies above are printed bold: n · log n stays below."""


def verdicts_on_engines(view: View) -> dict[str, Row]:
    """Return what the suite `conformance` says of each engine, by tokenizer."""
    return {
        row["tokenizer"]: row
        for row in view.findings
        if row["suite"] == "conformance" and "verdict" in row["data"]
    }


def speed_name(view: View, tokenizer: str) -> str:
    """Return an escaped name for tables of speed, with the mark of engines that are not right."""
    said = verdicts_on_engines(view).get(tokenizer)
    wrong = said is not None and said["data"]["verdict"] in ("wrong", "not compared")
    return f"{escape(tokenizer)} {WRONG}" if wrong else escape(tokenizer)


def mark_explained(view: View) -> Iterator[str]:
    """Say what the mark means, where a tokenizer has it."""
    names = [name for name in view.tokenizers if WRONG in speed_name(view, name)]
    if names:
        yield (
            f"{WRONG} does not give the ids of its reference, or was not compared with it (see "
            "Conformance): its speed is that of other work, and no reason to prefer it."
        )


def conformance(view: View) -> Iterator[str]:
    """Yield the section on engines held against references; nothing where there is none."""
    said = verdicts_on_engines(view)
    if not said:
        return
    yield "## Conformance"
    yield (
        "Engines held against a reference, id by id, on the documents of this run and on "
        "adversarial strings. Exact says that no text asked showed a difference. A round trip "
        "proves nothing: wrong ids can decode to the right text."
    )
    rows = [_verdict_cells(name, said[name]) for name in _in_order(view, said)]
    header = ["engine", "reference", "verdict", "documents", "strings", "not allowed", "allowed"]
    yield table(header, rows, left=3)
    lines = [line for name in _in_order(view, said) for line in _witness_lines(view, said[name])]
    if lines:
        yield "\n".join(lines)


def _in_order(view: View, said: dict[str, Row]) -> list[str]:
    """Return the engines in the order of the config, those that it does not have last."""
    order = [*view.run["config"]["tokenizers"], *sorted(said)]
    return sorted(said, key=order.index)


def _verdict_cells(name: str, row: Row) -> list[str]:
    data = row["data"]
    differing = data.get("differing", {})
    unexpected = data.get("unexpected")
    allowed = None if unexpected is None else max(0, sum(differing.values()) - unexpected)
    verdict = data["verdict"]
    return [
        escape(name),
        escape(data["reference"]),
        f"**{verdict}** {WRONG}" if verdict in ("wrong", "not compared") else escape(verdict),
        count(data.get("documents")),
        count(data.get("strings")),
        count(unexpected),
        count(allowed),
    ]


def _witness_lines(view: View, said: Row) -> Iterator[str]:
    """Yield the verdict in words and the smallest witnesses, where an engine is not right."""
    if said["data"]["verdict"] not in ("wrong", "not compared"):
        return
    yield f"- {escape(said['tokenizer'])}: {escape(said['message'])}"
    witnesses = [
        row
        for row in view.findings
        if row["suite"] == "conformance"
        and row["kind"] == "witness"
        and row["tokenizer"] == said["tokenizer"]
        and not row["data"]["expected"]
    ]
    witnesses.sort(key=lambda row: (len(row["data"]["text"]), row["data"]["text"]))
    for row in _distinct(witnesses)[:WITNESSES]:
        yield f"  - {escape(row['message'])}"


def _distinct(witnesses: Sequence[Row]) -> list[Row]:
    return list({row["data"]["text"]: row for row in reversed(witnesses)}.values())[::-1]


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
