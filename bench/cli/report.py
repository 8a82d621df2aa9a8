"""Commands on finished runs and published figures."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.bench.cli.shared import AS_JSON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "name",
    default="markdown",
    show_default=True,
    help="Kind of report: markdown, html, detail, csv, json, latex, svg, cost or sweep; of several "
    "runs markdown, html or text. `tokbench list reports` has those of plug-ins too.",
)
@click.option(
    "--metric", "metrics", multiple=True, help="Only these metrics, in a history of several runs."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Folder to write the history of several runs to.",
)
@click.option(
    "--options",
    type=click.Path(path_type=Path),
    help="YAML file with the report's options, such as the prices of a cost report.",
)
@click.option("--open", "show", is_flag=True, help="Open the page that was written.")
def report(
    runs: tuple[Path, ...],
    name: str,
    metrics: tuple[str, ...],
    output: Path | None,
    options: Path | None,
    show: bool,
) -> None:
    """Write the reports of a run again, or a history of runs.

    Reports read only the run folder: neither tokenizers nor corpora are needed.
    """
    from tokbench.bench import plugins
    from tokbench.bench.config.schema import load_options
    from tokbench.bench.console import result
    from tokbench.bench.files import write_inside
    from tokbench.bench.results.report import HistoryPlugin, ReportPlugin
    from tokbench.bench.results.run_folder import load_results

    if len(runs) > 1:
        history = plugins.find(HistoryPlugin, name)()
        found = [load_results(folder) for folder in runs]
        with showing(*runs):
            files = history.render(found, metrics)
        _deliver(files, output)
        _open(files, output, show)
        return
    if options is None:
        plugin = plugins.without_options(ReportPlugin, name)
    else:
        plugin = load_options(options, plugins.find(ReportPlugin, name))
    results = load_results(runs[0])
    with showing(runs[0]):
        files = plugin.render(results)
    for file, text in files.items():
        write_inside(runs[0], file, text)
        result(str(runs[0] / file))
    _open(files, runs[0], show)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--language", "languages", multiple=True, help="Only this language; repeatable.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Only this tokenizer; repeatable.")
@click.option("--metric", "metrics", multiple=True, help="Only this metric; repeatable.")
@click.option(
    "--focus",
    multiple=True,
    metavar="LANGUAGE=SHARE",
    help="Rank tokenizers for a mix of languages, such as hin_Deva=0.6; repeatable.",
)
@AS_JSON
def show(
    run: Path,
    languages: tuple[str, ...],
    tokenizers: tuple[str, ...],
    metrics: tuple[str, ...],
    focus: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the tables of a run, or the values you name.

    Without options: the table by tokenizer. With --language, --tokenizer or --metric: values with
    their intervals. The table fits the terminal: columns that do not fit are named below it.
    """
    from tokbench.bench.console import result_json, result_painted, width
    from tokbench.bench.results.report import Lookup, screen
    from tokbench.bench.results.run_folder import load_results

    shares = dict(map(_share, focus))
    if shares and (languages or tokenizers or metrics):
        raise click.UsageError("--focus ranks all tokenizers: use it without the other options")
    results = load_results(run)
    asked = Lookup(languages, tokenizers, metrics, shares)
    with showing(run):
        if as_json:
            result_json(screen().data(results, asked))
            return
        lines = list(screen().show(results, asked, width()))
    result_painted(lines)


def _share(text: str) -> tuple[str, float]:
    """Read ``LANGUAGE=SHARE``."""
    language, _, share = text.rpartition("=")
    try:
        value = float(share)
    except ValueError:
        value = 0.0
    if not language or not 0 < value < float("inf"):
        raise click.BadParameter(
            f"{text!r} is not LANGUAGE=SHARE with a share above 0, such as hin_Deva=0.6",
            param_hint="--focus",
        )
    return language, value


@contextmanager
def showing(*runs: Path) -> Iterator[None]:
    """Name the runs in which a report meets a value that no run contains.

    An edited `run.json` can be sealed again, and reports look deeper into it than the check of its
    shape does.
    """
    from tokbench.bench.errors import ResultsError, named

    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as exc:
        raise ResultsError(
            f"{', '.join(map(str, runs))}: cannot be shown ({named(exc)}): run.json was edited, or "
            "the report has a bug"
        ) from exc


def _deliver(files: Mapping[str, str], output: Path | None) -> None:
    """Print files, or write them to a folder and print their paths."""
    from tokbench.bench.console import result
    from tokbench.bench.files import write_whole

    for file, text in files.items():
        if output is None:
            result(text)
        else:
            write_whole(output / file, text)
            result(str(output / file))


def _open(files: Mapping[str, str], folder: Path | None, show: bool) -> None:
    """Open the page among some files, as the desktop does."""
    from tokbench.bench.errors import UsageError

    if not show:
        return
    page = next((file for file in files if file.endswith(".html")), None)
    if page is None or folder is None:
        raise UsageError("--open needs a report that is a page in a folder: --format html")
    click.launch(str(folder / page))


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder with the corpora, tokenizers and tables behind the published figures.",
)
@AS_JSON
def anchors(names: tuple[str, ...], data: Path, as_json: bool) -> None:
    """Derive published figures from a data folder.

    Checks the anchors NAMES, by default all. Exit code 1 if a figure differs from the published
    one.
    """
    from tokbench.bench.commands import anchors
    from tokbench.bench.console import message, result, result_json

    outcomes = anchors.run(names, data, progress=message)
    if as_json:
        result_json([outcome.to_json() for outcome in outcomes])
    else:
        result(anchors.render(outcomes))
    sys.exit(anchors.exit_code(outcomes))
