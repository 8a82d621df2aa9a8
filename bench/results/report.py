"""Reports: text written from results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tokbench.bench import plugins
from tokbench.bench.console import Painted
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import what_failed
from tokbench.bench.files import write_inside
from tokbench.bench.guard import contained
from tokbench.bench.plugins import Plugin, ReportOptions
from tokbench.bench.results.run_folder import Results


class ReportPlugin(ReportOptions):
    """One kind of report, with its options."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError


class Lookup(NamedTuple):
    """What a table on a terminal is about; nothing chosen is the table by tokenizer."""

    languages: Sequence[str] = ()
    tokenizers: Sequence[str] = ()
    metrics: Sequence[str] = ()
    focus: Mapping[str, float] = {}
    """Shares of languages, in place of the config's."""


class ScreenPlugin(ReportPlugin):
    """A report that is also shown on a terminal."""

    def show(self, results: Results, asked: Lookup, width: int) -> Iterator[Sequence[Painted]]:
        """Yield lines of at most `width` columns; `UsageError` for a name that is not in the run."""
        raise NotImplementedError

    def data(self, results: Results, asked: Lookup) -> Mapping[str, Any]:
        """Return what `show` would draw as values for JSON, unrounded; errors as `show`."""
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
        files |= plugins.without_options(ReportPlugin, name).render(results)
    return files


def screen() -> ScreenPlugin:
    """Return the report that is shown on a terminal, `summary`."""
    found = plugins.without_options(ReportPlugin, "summary")
    assert isinstance(found, ScreenPlugin)
    return found


def write_reports(
    wanted: Mapping[str, Mapping[str, Any]], results: Results, watch: Stopwatch
) -> list[str]:
    """Write each report with its options; one that fails costs itself, and the reason is returned."""
    problems = []
    for name, options in wanted.items():
        try:
            with watch.section("imports"):
                report = plugins.find(ReportPlugin, name)
            with contained():
                files = report.model_validate(options).render(results)
        except Exception as exc:
            problems.append(f"report {name}: {what_failed(exc)}")
            continue
        for path, text in files.items():
            write_inside(results.folder, path, text)
    return problems
