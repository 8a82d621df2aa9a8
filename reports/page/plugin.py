"""The report `html`: `report.html` and the figures that `report.md` shows."""

from __future__ import annotations

from collections.abc import Mapping

from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.page.shell import page
from tokbench.reports.view import view_of


class Html(ReportPlugin):
    """`report.html`: the whole run on one page that works offline."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `report.html`."""
        return {"report.html": page(view_of(results))}
