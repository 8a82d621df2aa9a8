"""Pieces that the sections of a report are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tokbench.bench.markup import escape, number, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import mark_of, marked
from tokbench.reports.view import Row, View

Cell = Callable[[View, str, str, str], str]
"""What a table by language shows for a tokenizer, a corpus and a language."""


def by_language(view: View, corpus: str, names: Sequence[str], cell: Cell) -> str:
    """Return a table of all languages of a corpus, a column for each tokenizer."""
    rows = [
        [escape(language), *(unbroken(cell(view, name, corpus, language)) for name in names)]
        for language in view.languages(corpus)
    ]
    return table(["language", *(marked(view, name, corpus) for name in names)], rows)


def value_of(metric: str, write: Callable[[float | None], str] = number, **params: Any) -> Cell:
    """Return a cell that shows a metric's value; ``refused`` where it is."""

    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        row = view.row(metric, tokenizer, corpus, language, **params)
        if row is not None and row["status"] == "refused":
            return "refused"
        return write(None if row is None else row["value"]) + mark_of(row)

    return cell


def interval_of(metric: str) -> Cell:
    """Return a cell that shows a metric's interval."""

    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        row = view.row(metric, tokenizer, corpus, language)
        if row is None or row["ci_low"] is None:
            return "–"
        return f"{number(row['ci_low'])} to {number(row['ci_high'])}{mark_of(row)}"

    return cell


def with_interval(row: Row | None, digits: int = 2) -> str:
    """Write a value with its interval."""
    if row is None or row["value"] is None:
        return "–"
    text = number(row["value"], digits)
    if row["ci_low"] is None:
        return text
    return f"{text} ({number(row['ci_low'], digits)} to {number(row['ci_high'], digits)})"


def crossed(
    corner: str,
    names: Sequence[str],
    keys: Iterable[Any],
    cell: Callable[[str, Any], str],
    title: Callable[[Any], str] = str,
    heading: Callable[[str], str] = escape,
) -> str:
    """Return a table with a row for each key and a column for each tokenizer.

    Keys without any value are left out; empty where none is left.
    """
    rows = []
    for key in keys:
        cells = [unbroken(cell(name, key)) for name in names]
        if any(one not in ("–", "") for one in cells):
            rows.append([escape(title(key)), *cells])
    return table([corner, *map(heading, names)], rows) if rows else ""


def unbroken(cell: str) -> str:
    """Keep a figure and its unit on one line, where a table has many columns.

    >>> unbroken("12.5 %") == "12.5\u00a0%"
    True
    """
    return cell.replace(" ", "\u00a0")


def folded(title: str, body: str) -> str:
    """Return what is shown only when a reader opens it."""
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def pooled(rows: Iterable[Row]) -> float | None:
    """Return a share or mean over several rows, each weighted by what it is over."""
    known = [row for row in rows if row["value"] is not None and row["n"]]
    n: float = sum(row["n"] for row in known)
    return sum(row["value"] * row["n"] for row in known) / n if n else None


def share_of(part: float, whole: float) -> str:
    """Write a part of a whole in per cent."""
    return percent(part / whole if whole else None)
