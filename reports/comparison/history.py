"""Several runs side by side: where values changed, and each chosen metric across runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tokbench.bench.compare.snapshot import Key, Snapshot, Value, snapshot_of
from tokbench.bench.markup import escape
from tokbench.bench.markup import markdown_table as table
from tokbench.bench.markup import table as text_table
from tokbench.bench.model import Place
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.comparison.change_points import (
    HEADER,
    LEFT,
    SPEED_HEADER,
    SPEED_LEFT,
    SPEED_NOTE,
    change_points,
    sentences,
    speed_points,
    timed_runs,
)
from tokbench.reports.comparison.moves import figure

DEFAULT_METRICS = ("bytes_per_token", "premium", "round_trip[class=exact]")

Runs = Sequence[tuple[str, Snapshot]]


class HistoryMarkdown(HistoryPlugin):
    """`history.md`: where values changed, then each metric with a column for each run."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return `history.md`."""
        found = list(zip(names_of(runs), map(snapshot_of, runs), strict=True))
        blocks = ["# History", *_changes(found, runs, metrics), *_made_with(found, runs)]
        for metric in metrics or metrics_of(found):
            blocks += _metric(found, metric)
        return {"history.md": "\n\n".join(blocks) + "\n"}


class HistoryText(HistoryPlugin):
    """`history.txt`: where values changed, for a terminal."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return `history.txt`."""
        found = list(zip(names_of(runs), map(snapshot_of, runs), strict=True))
        points = change_points(found, metrics)
        blocks = ["\n".join(sentences(found, points, metrics))]
        if points:
            rows = [point.cells() for point in points]
            blocks.append(text_table(HEADER, rows, right=range(LEFT, len(HEADER))))
        if timed := timed_runs([name for name, _ in found], runs):
            speed = [point.cells() for point in speed_points(timed)]
            right = range(SPEED_LEFT, len(SPEED_HEADER))
            blocks.append(text_table(SPEED_HEADER, speed, right=right) if speed else _STEADY)
        return {"history.txt": "\n\n".join(blocks) + "\n"}


_STEADY = "No stored ratio of speeds left its noise band."


def _changes(runs: Runs, results: Sequence[Results], metrics: Sequence[str]) -> Iterator[str]:
    """Yield where exact values and stored speeds changed."""
    points = change_points(runs, metrics)
    yield "\n".join(f"- {escape(one)}" for one in sentences(runs, points, metrics))
    if points:
        yield table(HEADER, [list(map(escape, point.cells())) for point in points], left=LEFT)
    timed = timed_runs([name for name, _ in runs], results)
    if timed:
        yield "## Speed"
        found = [list(map(escape, point.cells())) for point in speed_points(timed)]
        yield table(SPEED_HEADER, found, left=SPEED_LEFT) if found else _STEADY
        yield escape(SPEED_NOTE)


def names_of(runs: Sequence[Results]) -> list[str]:
    """Return a name for each run, its folder's too where two are called the same."""
    names = [run.name for run in runs]
    if len(set(names)) == len(names):
        return names
    return [Path(run.folder).as_posix() for run in runs]


def metrics_of(runs: Runs) -> list[str]:
    """Return the metrics that a history shows where none are asked for."""
    known = {key.name for _, snapshot in runs for key in snapshot.values}
    return [name for name in DEFAULT_METRICS if name in known]


def _made_with(runs: Runs, results: Sequence[Results]) -> Iterator[str]:
    libraries = sorted({name for _, snapshot in runs for name in snapshot.versions})
    header = ["run", "started", "python", *libraries]
    rows = []
    for (name, snapshot), run in zip(runs, results, strict=True):
        started = str(run.environment.get("started", "–"))[:10]
        row = [name, started, str(run.environment.get("python", "–"))]
        row += [snapshot.versions.get(library, "–") for library in libraries]
        rows.append([escape(cell) for cell in row])
    yield table(header, rows, left=len(header))


def _metric(runs: Runs, metric: str) -> Iterator[str]:
    yield f"## {escape(metric)}"
    keys = sorted(
        {k for _, s in runs for k in s.values if metric in (k.name, k.metric)}, key=Key.order
    )
    if not keys:
        yield "No run has it."
        return
    labelled = any(key.label for key in keys)
    header = ["tokenizer", "corpus", "language", *(["which"] if labelled else [])]
    rows = []
    for key in keys:
        row = [escape(part or "all") for part in key[:3]]
        row += [escape(key.label or "–")] if labelled else []
        rows.append(row + [escape(cell) for cell in cells(runs, key)])
    yield table([*header, *(escape(name) for name, _ in runs)], rows, left=len(header))
    if any("≠" in cell for row in rows for cell in row):
        yield "≠: measured on other text than in the run before, so not to be compared with it."


def cells(runs: Runs, key: Key) -> Iterator[str]:
    """Yield the value of one key in each run, marked where its text is another one."""
    before: str | None = None
    for _, snapshot in runs:
        facts = snapshot.slices.get(Place(key.corpus or "", key.language or ""))
        text = facts.sha256 if facts else None
        mark = " ≠" if before and text and text != before else ""
        before = text or before
        yield _cell(snapshot.values.get(key), snapshot.why_incomplete(key)) + mark


def _cell(value: Value | None, incomplete: str | None) -> str:
    if value is None:
        return "–"
    shown = figure(value.value)
    return f"{shown} (partial)" if incomplete else shown
