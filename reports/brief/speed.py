"""What `report.md` says about speed: one table, and how far the machine let it be measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tokbench.bench.markup import escape, number, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import mark_of
from tokbench.reports.mix import order
from tokbench.reports.sections.conformance import mark_explained, speed_name
from tokbench.reports.tables import unbroken
from tokbench.reports.view import ONE_BATCH, Row, View

MOST_COLUMNS = 6
RATES = ("encode_throughput", "decode_throughput")


class TimedText(NamedTuple):
    """A column of the table: what was done with which text."""

    phase: str
    corpus: str
    language: str | None


def speed_section(view: View) -> Iterator[str]:
    """Yield the table and its sentences; nothing where nothing was timed in one batch."""
    columns, more = _columns(view)[:MOST_COLUMNS], _columns(view)[MOST_COLUMNS:]
    timed = [row for row in view.timed_rows if row["metric"] in RATES and row["value"] is not None]
    if not timed:
        return
    yield "## Speed"
    yield noise(timed)
    if not columns:
        yield "`detail.md` has the kinds of calls that were timed."
        return
    pinned = {r["params"]["reference"] for c in columns for r in _ratios(view, c)}
    against = (
        f"× {', '.join(sorted(map(escape, pinned)))}, timed in the same rounds" if pinned else ""
    )
    yield (
        f"All documents in one call, one thread, repeated text. {against}: 2.00 is twice as fast; "
        "in brackets MB/s on this machine. ≈: not resolvable; ?: unsteady."
    )
    names = [name for name in order(view) if any(_rate(view, name, c) for c in columns)]
    rows = [[speed_name(view, n), *(_cell(view, n, c) for c in columns)] for n in names]
    yield table(["tokenizer", *(_title(view, c) for c in columns)], rows)
    if more:
        yield f"`detail.md` has {plural(len(more), 'more timed text')}."
    yield from mark_explained(view)


def noise(timed: list[Row]) -> str:
    """Say in one sentence how many speeds are uncertain.

    >>> noise([{"detail": None}] * 3)
    'The machine was quiet; uncertain speeds: 0 of 3.'
    """
    n = uncertain(timed)
    return (
        f"The machine was {'noisy' if n else 'quiet'}; uncertain speeds: {n:,} of {len(timed):,}."
    )


def uncertain(timed: list[Row]) -> int:
    """Return how many speeds were unsteady, drifting or too short."""
    return sum(row["detail"] is not None for row in timed)


def _columns(view: View) -> list[TimedText]:
    found: dict[TimedText, None] = {}
    for row in view.timed_rows:
        params = row["params"]
        shape = {name: params.get(name) for name in ONE_BATCH}
        if row["metric"] in RATES and row["value"] is not None and shape == ONE_BATCH:
            found[TimedText(params["phase"], row["corpus"], row["language"])] = None
    corpora = view.ordered_corpora
    return sorted(
        found, key=lambda c: (c.language or "", corpora.index(c.corpus), c.phase != "encode")
    )


def _rate(view: View, name: str, column: TimedText) -> Row | None:
    metric = f"{column.phase}_throughput"
    return view.row(metric, name, column.corpus, column.language, phase=column.phase, **ONE_BATCH)


def _ratio(view: View, name: str, column: TimedText) -> Row | None:
    where = name, column.corpus, column.language
    row = view.row("relative_speed", *where, phase=column.phase, **ONE_BATCH)
    return row if row is not None and row["value"] is not None else None


def _ratios(view: View, column: TimedText) -> Iterator[Row]:
    for name in view.tokenizers:
        if (row := _ratio(view, name, column)) is not None:
            yield row


def _cell(view: View, name: str, column: TimedText) -> str:
    rate, ratio = _rate(view, name, column), _ratio(view, name, column)
    if rate is None or rate["value"] is None:
        return "–"
    doubt = " ?" if rate["detail"] else ""
    mark = mark_of(rate)
    if ratio is None:
        is_pinned = any(r["params"]["reference"] == name for r in _ratios(view, column))
        first = "pinned" if is_pinned else "–"
        return unbroken(f"{first} ({number(rate['value'], 1)}{doubt}){mark}")
    unsure = "≈ " if ratio["params"]["verdict"] == "not resolvable" else ""
    return unbroken(f"{unsure}{number(ratio['value'])} ({number(rate['value'], 1)}{doubt}){mark}")


def _title(view: View, column: TimedText) -> str:
    where = " ".join(filter(None, (column.corpus, column.language)))
    return unbroken(escape(f"{column.phase} {where}"))
