"""Several runs side by side: each chosen metric across runs, with what each run was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tokbench.bench.compare.snapshot import Key, Snapshot, Value, snapshot_of
from tokbench.bench.markup import escape
from tokbench.bench.markup import markdown_table as table
from tokbench.bench.model import Place
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.comparison.moves import figure

DEFAULT_METRICS = ("bytes_per_token", "premium", "round_trip[class=exact]")

Runs = Sequence[tuple[str, Snapshot]]


class HistoryMarkdown(HistoryPlugin):
    """`history.md`: a table for each metric, tokenizer and corpus; a column for each run."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return `history.md`."""
        found = list(zip(names_of(runs), map(snapshot_of, runs), strict=True))
        blocks = ["# History", *_made_with(found, runs)]
        for metric in metrics or metrics_of(found):
            blocks += _metric(found, metric)
        return {"history.md": "\n\n".join(blocks) + "\n"}


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
