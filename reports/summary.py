"""A run on a terminal: what `tokbench run` and `tokbench show` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokbench.bench.console import Painted
from tokbench.bench.results.report import Lookup, ScreenPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.terminal.lookup import looked_up, lookup
from tokbench.reports.terminal.overview import overview, standings_of
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import view_of


class Summary(ScreenPlugin):
    """Verdict sentences and a table by tokenizer for every corpus."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `summary.txt`: all columns, however wide."""
        lines = [*overview(view_of(results), {}, None), *_where(results)]
        return {"summary.txt": "\n".join("".join(t for t, _ in line) for line in lines) + "\n"}

    def show(self, results: Results, asked: Lookup, width: int) -> Iterator[Sequence[Painted]]:
        """Yield the lines of the overview, or of what is asked."""
        view = view_of(results)
        if asked.languages or asked.tokenizers or asked.metrics:
            yield from lookup(view, asked, width)
        else:
            yield from overview(view, asked.focus, width)
            yield from _where(results)

    def data(self, results: Results, asked: Lookup) -> Mapping[str, Any]:
        """Return `values`, rows of the run, where some are asked for; else sentences and standings."""
        view = view_of(results)
        if asked.languages or asked.tokenizers or asked.metrics:
            return {"values": looked_up(view, asked)}
        return {"sentences": verdicts(view), "corpora": standings_of(view, asked.focus)}


def _where(results: Results) -> Iterator[Sequence[Painted]]:
    """Name the first of the run's reports that a reader would open."""
    wanted = results.run["config"]["reports"]
    written = [file for name, file in _FILES.items() if name in wanted]
    if written:
        yield [("", None)]
        yield [(f"report: {results.folder / written[0]}", None)]


_FILES = {"markdown": "report.md", "html": "report.html", "detail": "detail.md"}
