"""The pictures of `report.md` alone."""

from __future__ import annotations

from collections.abc import Mapping

from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.brief.pictures import pictures
from tokbench.reports.view import view_of


class Svg(ReportPlugin):
    """`figures/*.svg`: a heat map and a chart of premiums for each corpus."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return the pictures by their paths in the run folder."""
        return {picture.path: picture.content for picture in pictures(view_of(results))}
