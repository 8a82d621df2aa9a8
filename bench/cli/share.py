"""Commands that let results travel."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tokbench.bench.cli.shared import AS_JSON

OUTPUT = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder to write to.",
)


@click.group()
def export() -> None:
    """Export runs: a data set repository, or a static site."""


@export.command()
@click.argument("run", type=click.Path(path_type=Path))
@OUTPUT
@click.option(
    "--license",
    "license_id",
    default="unknown",
    show_default=True,
    metavar="ID",
    help="Licence of the results, as the Hub writes it, such as cc-by-4.0.",
)
@click.option(
    "--citation",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with your BibTeX entry, for the card.",
)
@click.option(
    "--texts",
    is_flag=True,
    help="Export the stored documents and what findings quote. Check the licence of the corpora.",
)
def hub(run: Path, output: Path, license_id: str, citation: Path | None, texts: bool) -> None:
    """Write the run folder RUN as a data set repository.

    Each table is a config: datasets.load_dataset(OUTPUT, "measurements"). No text of a corpus is
    exported unless --texts is given. Nothing is uploaded.
    """
    from tokbench.bench.commands.sharing.hub import HubExport
    from tokbench.bench.console import message, result
    from tokbench.bench.files import read_bounded
    from tokbench.bench.results.run_folder import load_results

    cited = None
    if citation is not None:
        cited = read_bounded(citation, 1 << 20).decode("utf-8", "replace")
    made = HubExport(license_id=license_id, citation=cited, texts=texts)
    for path in made.write(load_results(run), output):
        result(str(path))
    if license_id == "unknown":
        message("the card says license: unknown; name one with --license")


@export.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@OUTPUT
def site(runs: tuple[Path, ...], output: Path) -> None:
    """Write run folders as a static site.

    It has an index, the page of each run and a leaderboard with filters. The pages work from the folder and from any static host, and load nothing from elsewhere. The
    page of a run shows the texts that the run has stored.
    """
    from tokbench.bench import plugins
    from tokbench.bench.cli.report import showing
    from tokbench.bench.console import result
    from tokbench.bench.files import write_whole
    from tokbench.bench.results.report import HistoryPlugin
    from tokbench.bench.results.run_folder import load_results

    found = [load_results(run) for run in runs]
    with showing(*runs):
        pages = plugins.find(HistoryPlugin, "site")().render(found, ())
    for name, text in pages.items():
        write_whole(output / name, text)
        result(str(output / name))


@click.group()
def leaderboard() -> None:
    """Collect the values of many runs in one table."""


@leaderboard.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Parquet file to add to; made if it does not exist.",
)
@AS_JSON
def add(run: Path, path: Path, as_json: bool) -> None:
    """Add the exact values of the run folder RUN to a table.

    A cell is a tokenizer by fingerprint, a text by hash, a language, a metric and its params. If
    one that is there has another value, the run is refused. Exit codes: 0 added, or all there; 1
    refused.
    """
    from tokbench.bench.commands.sharing import leaderboard
    from tokbench.bench.console import result, result_json
    from tokbench.bench.results.run_folder import load_results

    update = leaderboard.add(load_results(run), path)
    if as_json:
        result_json(update.to_json())
    else:
        result(f"{path}: {update.in_words()}")
    sys.exit(update.exit_code)
