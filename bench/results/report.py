"""Reports: text written from results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tokbench.bench import plugins
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import what_failed
from tokbench.bench.files import write_whole
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


def render_reports(names: Iterable[str], results: Results) -> dict[str, str]:
    """Return the files of the named reports."""
    files: dict[str, str] = {}
    for name in names:
        files |= plugins.find(ReportPlugin, name)().render(results)
    return files


def write_reports(names: Iterable[str], results: Results, watch: Stopwatch) -> list[str]:
    """Write each report; one that cannot be made costs itself, and the reason is returned."""
    problems = []
    for name in names:
        try:
            with watch.section("imports"):
                report = plugins.find(ReportPlugin, name)
            files = report().render(results)
        except Exception as exc:
            problems.append(f"report {name}: {what_failed(exc)}")
            continue
        for path, text in files.items():
            write_whole(results.folder / path, text)
    return problems
