"""A small table of any metrics, languages and tokenizers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokbench.bench.console import Painted
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, number, percent, suggest
from tokbench.bench.results.report import Lookup
from tokbench.reports.mix import order
from tokbench.reports.terminal.layout import ScreenColumn, lay, wrapped
from tokbench.reports.view import Row, View

USUAL = ("tokens", "bytes_per_token", "premium", "program_premium", "lost_byte_share", "rank")
"""Metrics that are shown where none is named."""

HIDDEN = frozenset({"documents", "unit_of_n", "draws"})


def lookup(view: View, asked: Lookup, width: int | None) -> Iterator[Sequence[Painted]]:
    """Yield a table for each metric; `UsageError` for a name that the run does not have."""
    first = True
    for metric in _metrics(view, asked):
        rows = sorted(_chosen(view, asked, metric), key=lambda row: _place(view, row))
        if rows or asked.metrics:
            if not first:
                yield [("", None)]
            first = False
            yield from _table(view, metric, rows, width)


def looked_up(view: View, asked: Lookup) -> list[Row]:
    """Return the rows of the tables of `lookup`, in their order, with every column."""
    return [
        row
        for metric in _metrics(view, asked)
        for row in sorted(_chosen(view, asked, metric), key=lambda row: _place(view, row))
    ]


def _metrics(view: View, asked: Lookup) -> Sequence[str]:
    """Return the metrics that are asked for, or the usual ones, once all names are checked."""
    known = list(dict.fromkeys(row["metric"] for row in view.rows))
    _check("--metric", asked.metrics, known)
    _check("--language", asked.languages, (k for metas in view.corpora.values() for k in metas))
    _check("--tokenizer", asked.tokenizers, view.tokenizers)
    return asked.metrics or [name for name in USUAL if name in known]


def _check(option: str, names: Sequence[str], known: Iterable[str]) -> None:
    known = set(known)
    for name in names:
        if name not in known:
            raise UsageError(f"{option}: no {name!r} in this run{suggest(name, known)}")


def _chosen(view: View, asked: Lookup, metric: str) -> Iterator[Row]:
    for row in view.rows:
        if (
            row["metric"] == metric
            and (not asked.languages or row["language"] in asked.languages)
            and (not asked.tokenizers or row["tokenizer"] in asked.tokenizers)
        ):
            yield row


def _place(view: View, row: Row) -> tuple[Any, ...]:
    names, corpora = order(view), view.ordered_corpora
    return (
        corpora.index(row["corpus"]) if row["corpus"] in corpora else -1,
        row["language"] or "",
        names.index(row["tokenizer"]) if row["tokenizer"] in names else -1,
    )


def _table(
    view: View, metric: str, rows: Sequence[Row], width: int | None
) -> Iterator[Sequence[Painted]]:
    spec = view.run["metrics"].get(metric, {})
    better = {"higher": ", higher is better", "lower": ", lower is better"}
    unit = spec.get("unit", "")
    head = f"{metric} ({unit}{better.get(spec.get('direction', ''), '')})"
    for line in wrapped(head, width):
        yield [(line, "heading")]
    if not rows:
        yield [("no value in this run", None)]
        return
    best = _best(rows, spec.get("direction"))
    styles = [
        "best" if id(row) in best else "unranked" if row["ranked"] is False else None
        for row in rows
    ]
    laid = lay(_columns(view, rows, unit), styles, width)
    yield from laid.lines
    if laid.dropped:
        yield from ([(line, None)] for line in wrapped(_hidden(laid.dropped), width))


def _hidden(dropped: Sequence[str]) -> str:
    return f"Hidden at this width: {', '.join(dropped)}."


def _best(rows: Sequence[Row], direction: str | None) -> set[int]:
    """Return the best value of each language, where several tokenizers can be compared."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["value"] is not None and row["ranked"] is not False:
            place = row["corpus"], row["language"], str(_telling(row))
            found.setdefault(place, []).append(row)
    sign = {"higher": 1, "lower": -1}.get(direction or "", 0)
    groups = [group for group in found.values() if len(group) > 1 and sign]
    return {
        id(row)
        for group in groups
        for row in group
        if sign * row["value"] == max(sign * other["value"] for other in group)
    }


def _telling(row: Row) -> dict[str, Any]:
    return {k: v for k, v in row["params"].items() if k not in HIDDEN and v is not None}


def _columns(view: View, rows: Sequence[Row], unit: str) -> list[ScreenColumn]:
    write = percent if unit == "share" else number
    said = ["; ".join(f"{k} {v}" for k, v in _telling(row).items())[:60] for row in rows]
    columns = [
        ScreenColumn("language", [row["language"] or "all" for row in rows], 0, left=True),
        ScreenColumn("tokenizer", [row["tokenizer"] or "–" for row in rows], 0, left=True),
        ScreenColumn("of", said, 0, left=True),
        ScreenColumn("value", [_value(row, write) for row in rows], 0),
        ScreenColumn("95 % interval", [_interval(row, write) for row in rows], 1),
        ScreenColumn("n", [count(row["n"]) for row in rows], 3),
        ScreenColumn("corpus", [row["corpus"] or "–" for row in rows], 2, left=True),
    ]
    idle = {"of": not any(said), "corpus": len(view.corpora) < 2}
    return [column for column in columns if not idle.get(column.title)]


def _value(row: Row, write: Any) -> str:
    if row["value"] is None:
        return f"{row['status']}: {row['reason']}" if row["reason"] else str(row["status"])
    mark = (
        "" if row["ranked"] is not False else " ‡" if row["reason"] == "trained_on_text" else " †"
    )
    return f"{write(row['value'])}{mark}"


def _interval(row: Row, write: Any) -> str:
    if row["ci_low"] is None or row["ci_high"] is None:
        return "–"
    return f"{write(row['ci_low'])} to {write(row['ci_high'])}"
