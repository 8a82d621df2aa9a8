"""Commands that show what tokenizers do with one text."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE, SET, load

if TYPE_CHECKING:
    from tokbench.bench.commands.inspect import Inspection
    from tokbench.bench.config.schema import Config
    from tokbench.bench.workers.executors import Executor


_CONFIG = click.option("--config", help="Config to take tokenizers from, by key.")
_TOKENIZER = click.option(
    "-t", "--tokenizer", "wanted", multiple=True, help="Tokenizer to use (repeatable)."
)


@click.command()
@click.argument("arguments", nargs=-1, metavar="TEXT [TOKENIZER]...")
@_CONFIG
@_TOKENIZER
@click.option("--file", "file", type=click.Path(path_type=Path), help="Read the text from a file.")
@click.option("--pieces", is_flag=True, help="Show each token's id, raw spelling and bytes.")
@click.option("--lineage", is_flag=True, help="Show the merges that produced each token.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "markdown", "html", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@OFFLINE
@SET
def inspect(
    arguments: tuple[str, ...],
    config: str | None,
    wanted: tuple[str, ...],
    file: Path | None,
    pieces: bool,
    lineage: bool,
    shape: str,
    offline: bool,
    overrides: tuple[str, ...],
) -> None:
    """Show how tokenizers split TEXT: tokens, ids, bytes.

    A TOKENIZER is an encoding of tiktoken, a sample, a file or folder, or a Hub repository; without
    one, those of --config or of the config `quick`. With --file, all arguments are tokenizers.
    """
    from tokbench.bench.commands.inspect import MOST_PIECES, inspect, read_text

    text = arguments[0] if arguments and file is None else None
    names = (*(arguments if file is not None else arguments[1:]), *wanted)
    content = read_text(text, file)
    loaded = _chosen(names, config, overrides, offline=offline)
    with _worker(loaded, content) as worker:
        most = None if shape == "json" else MOST_PIECES
        views, problems = inspect(loaded, content, (), executor=worker, lineage=lineage, most=most)
    if views or shape == "json":
        _print_views(views, shape, pieces=pieces)
    _end(problems)


def _chosen(
    names: tuple[str, ...], config: str | None, overrides: tuple[str, ...], *, offline: bool
) -> Config:
    """Return a config of the named tokenizers, and print how ambiguous names were resolved."""
    from tokbench.bench.commands.one_text import chosen
    from tokbench.bench.console import message
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    given = load(config or "quick", overrides) if config or overrides else None
    loaded, notes = chosen(names, given, lambda: load("quick", ()))
    for note in notes:
        message(note)
    return loaded


SHORT = 10_000
"""Longest text, in characters, that verified encodings encode in this process."""


@contextmanager
def _worker(config: Config, text: str) -> Iterator[Executor]:
    """Yield an executor with a worker process; this process if no third-party file is loaded.

    An encoding of tiktoken is verified by its SHA-256, and another process costs a second.
    """
    from tokbench.bench.config.schema import TrainEntry
    from tokbench.bench.console import ConsoleProgress, message
    from tokbench.bench.workers.executors import executor

    safe = len(text) <= SHORT and all(
        not isinstance(entry, TrainEntry) and getattr(entry, "encoding", None) is not None
        for entry in config.tokenizers.values()
    )
    if not safe and sys.stderr.isatty():
        message(f"loading {', '.join(config.tokenizers)}")
    with executor(0 if safe else 1, ConsoleProgress(quiet=True)) as worker:
        yield worker


def _print_views(views: list[Inspection], shape: str, *, pieces: bool) -> None:
    from tokbench.bench.commands import inspect_text
    from tokbench.bench.console import result, result_json, result_painted, width

    if shape == "json":
        result_json([view.to_json() for view in views])
    elif shape == "text":
        result_painted(inspect_text.lines(views, width=width(), pieces=pieces))
    else:
        render = inspect_text.markdown if shape == "markdown" else inspect_text.page
        result(render(views))


def _end(problems: Sequence[str]) -> None:
    from tokbench.bench.console import remark

    for problem in problems:
        remark(problem)
    sys.exit(3 if problems else 0)


@click.command()
@click.argument("text")
@click.argument("tokenizers", nargs=-1, metavar="[TOKENIZER]...")
@_CONFIG
@_TOKENIZER
@click.option("--translation", help="The same text in the pivot language (a text or a file).")
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    help="YAML file with prices and context sizes of models.",
)
@click.option(
    "--prompt",
    "as_prompt",
    is_flag=True,
    help="Print a prompt that asks a language model to explain the result.",
)
@AS_JSON
@OFFLINE
@SET
def which(
    text: str,
    tokenizers: tuple[str, ...],
    config: str | None,
    wanted: tuple[str, ...],
    translation: str | None,
    costs: Path | None,
    as_prompt: bool,
    as_json: bool,
    offline: bool,
    overrides: tuple[str, ...],
) -> None:
    """Rank tokenizers by how well they encode TEXT.

    TEXT may name a file; - reads standard input. A TOKENIZER is an encoding of tiktoken, a sample,
    a file or folder, or a Hub repository; without one, those of --config or of the config `quick`.
    """
    from tokbench.bench.commands import which as finding
    from tokbench.bench.config.schema import load_options
    from tokbench.bench.console import message, result, result_json, width
    from tokbench.bench.results.costs import CostModel

    if as_json and as_prompt:
        raise click.UsageError("give either --json or --prompt")
    content, file = finding.text_or_file(text)
    if file is not None:
        message(f"reading the file {file}")
    loaded = _chosen((*tokenizers, *wanted), config, overrides, offline=offline)
    with _worker(loaded, content) as worker:
        analysis = finding.analyse(
            loaded,
            content,
            translation=None if translation is None else finding.text_or_file(translation)[0],
            costs=None if costs is None else load_options(costs, CostModel),
            executor=worker,
        )
    if as_json:
        result_json(analysis.to_json())
    elif as_prompt:
        result(finding.prompt(analysis, content))
    else:
        result(finding.render(analysis, width=width()))
    _end(analysis.problems)
