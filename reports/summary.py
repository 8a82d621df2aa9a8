"""A run on a terminal: what `tokbench run` and `tokbench show` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.console import Painted
from tokbench.bench.results.report import Lookup, ScreenPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.terminal.lookup import lookup
from tokbench.reports.terminal.overview import overview
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


def _where(results: Results) -> Iterator[Sequence[Painted]]:
    yield [("", None)]
    yield [(f"report: {results.folder / 'report.md'}", None)]
