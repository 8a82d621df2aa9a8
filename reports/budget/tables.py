"""A budget for people: on a terminal, and in Markdown for a summary or a comment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tokbench.bench.commands.budget.outcome import BudgetOutcome, CostlyLines, FileTokens, total
from tokbench.bench.commands.budget.report import BudgetPlugin
from tokbench.bench.markup import count, escape, markdown_table, one_line, plural, table
from tokbench.reports.budget.words import (
    LIMITS,
    about,
    amount,
    growth_percent,
    place,
    signed,
)

MOST_ROWS = 20
"""Rows of a table; GitHub takes 65,536 characters in a comment."""
_LONGEST_NAME = 300


class BudgetText(BudgetPlugin):
    """What `tokbench budget` prints."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `budget.txt`."""

        def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
            return table(header, rows, right=range(left, len(header)))

        return {"budget.txt": "\n\n".join(_blocks(outcome, aligned, one_line, "{}:"))}


class BudgetMarkdown(BudgetPlugin):
    """`budget.md`, for the summary of a job or a comment."""

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return `budget.md`."""

        def marked(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
            cells = [[_cell(cell) for cell in row] for row in rows]
            return markdown_table(header, cells, left=left)

        return {"budget.md": "\n\n".join(_blocks(outcome, marked, escape, "### {}")) + "\n"}


def _cell(text: str) -> str:
    return escape(text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…")


Table = Callable[[Sequence[str], Sequence[Sequence[str]], int], str]


def _blocks(
    outcome: BudgetOutcome, table_of: Table, text: Callable[[str], str], heading: str
) -> Iterator[str]:
    sentence = text(outcome.sentence())
    yield f"**{sentence}**" if heading.startswith("#") else sentence
    for title, (header, rows, left) in _tables(outcome):
        more = f" (the first {MOST_ROWS} of {len(rows):,})" if len(rows) > MOST_ROWS else ""
        yield (
            heading.format(f"{title}{more}")
            + ("\n\n" if heading.startswith("#") else "\n")
            + (table_of(header, rows[:MOST_ROWS], left))
        )
    for title, lines in (("not measured", outcome.problems), ("notes", outcome.notes)):
        if lines:
            shown = [f"- {text(line)}" for line in lines[:MOST_ROWS]]
            if len(lines) > MOST_ROWS:
                shown.append(f"- and {plural(len(lines) - MOST_ROWS, 'more')}")
            yield "\n".join(
                [heading.format(title), "", *shown]
                if heading[0] == "#"
                else [heading.format(title), *shown]
            )


Shown = tuple[Sequence[str], Sequence[Sequence[str]], int]
"""Header, rows, and the columns that are text."""


def _tables(outcome: BudgetOutcome) -> Iterator[tuple[str, Shown]]:
    if outcome.exceeded:
        yield "limits exceeded", _limits(outcome)
    if outcome.lines:
        yield "lines that cost most", _lines(outcome)
    if outcome.moved:
        yield "tokens against the base", _files(outcome.moved)
    yield "all files", _sums(outcome)


def _limits(outcome: BudgetOutcome) -> Shown:
    rows = [
        [about(one), one.tokenizer, LIMITS[one.limit]]
        + [amount(one.limit, value, outcome.currency) for value in (one.value, one.allowed)]
        for one in outcome.exceeded
    ]
    return ["where", "tokenizer", "limit", "measured", "allowed"], rows, 3


def _lines(outcome: BudgetOutcome) -> Shown:
    rows = [
        [place(one), one.tokenizer, *map(count, (one.base_tokens, one.tokens)), _grown(one)]
        for one in outcome.lines
    ]
    return ["lines", "tokenizer", "base", "now", "growth"], rows, 2


def _grown(one: CostlyLines) -> str:
    return signed(None if one.base_tokens is None else one.growth)


def _files(files: Sequence[FileTokens]) -> Shown:
    rows = [[*_facts(one), signed(one.growth), growth_percent(one)] for one in files]
    return ["file", "tokenizer", "status", "base", "now", "growth", "per cent"], rows, 3


def _facts(one: FileTokens) -> list[str]:
    name = f"{one.base_file} → {one.file}" if one.status == "renamed" else one.file
    return [name, one.tokenizer, one.status or "–", count(one.base_tokens), count(one.tokens)]


def _sums(outcome: BudgetOutcome) -> Shown:
    groups = {group for one in outcome.files for group in one.groups}
    rows = []
    for name in [*sorted(groups), None]:
        for key in dict.fromkeys(sorted(one.tokenizer for one in outcome.files)):
            mine = [
                one
                for one in outcome.files
                if one.tokenizer == key and (name is None or name in one.groups)
            ]
            n = sum(one.status != "deleted" for one in mine)
            base = None if outcome.base is None else total(one.base_tokens for one in mine)
            now = total(one.tokens for one in mine)
            growth = None if base is None or now is None else now - base
            rows.append([name or "all", key, f"{n:,}", count(base), count(now), signed(growth)])
    return ["group", "tokenizer", "files", "base", "now", "growth"], rows, 2
