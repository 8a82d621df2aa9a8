"""Reports: text written from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokbench.bench.plugins import REPORTS, Plugin
from tokbench.bench.results.run_folder import Results


class ReportPlugin(Plugin):
    """Options of one kind of report."""

    group = REPORTS

    def render(self, results: Results) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError


class HistoryPlugin(Plugin):
    """Options of one kind of report on several runs."""

    group = "tokbench.histories"

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return the text of each file to write; no metrics means those it finds best."""
        raise NotImplementedError
