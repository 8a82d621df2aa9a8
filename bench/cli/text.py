"""Commands that show what tokenizers do with one text."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tokbench.bench.cli.shared import AS_JSON, SET, load


@click.command()
@click.argument("text", required=False)
@click.option("--config", default="quick", show_default=True, help="Where the tokenizers are from.")
@click.option("--tokenizer", "wanted", multiple=True, help="Only these; may be given again.")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Read the text from a file.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@SET
def inspect(
    text: str | None,
    config: str,
    wanted: tuple[str, ...],
    file: Path | None,
    shape: str,
    overrides: tuple[str, ...],
) -> None:
    """Show how tokenizers split TEXT: tokens, ids, bytes."""
    from tokbench.bench.commands import inspect
    from tokbench.bench.console import ConsoleProgress, message, result, result_json
    from tokbench.bench.workers.executors import executor

    content = inspect.read_text(text, file)
    loaded = load(config, overrides)
    with executor(1, ConsoleProgress(quiet=True)) as worker:
        views, problems = inspect.inspect(loaded, content, wanted, executor=worker)
    if shape == "json":
        result_json([view.to_json() for view in views])
    else:
        result(inspect.render(content, views, markdown=shape == "markdown"))
    for problem in problems:
        message(problem)
    sys.exit(3 if problems else 0)


@click.command()
@click.argument("text")
@click.option("--config", default="quick", show_default=True, help="Where the tokenizers are from.")
@click.option("--tokenizer", "wanted", multiple=True, help="Only these; may be given again.")
@click.option("--translation", help="The same text in the pivot language (a text or a file).")
@click.option("--costs", type=click.Path(path_type=Path), help="YAML file with prices, contexts.")
@click.option("--prompt", "as_prompt", is_flag=True, help="Print a prompt for a language model.")
@AS_JSON
@SET
def which(
    text: str,
    config: str,
    wanted: tuple[str, ...],
    translation: str | None,
    costs: Path | None,
    as_prompt: bool,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Rank tokenizers by how well they encode TEXT.

    TEXT may name a file; - reads standard input.
    """
    from tokbench.bench.commands import which as finding
    from tokbench.bench.config.schema import load_options
    from tokbench.bench.console import ConsoleProgress, message, result, result_json
    from tokbench.bench.results.costs import CostModel
    from tokbench.bench.workers.executors import executor

    if as_json and as_prompt:
        raise click.UsageError("give either --json or --prompt")
    content, file = finding.text_or_file(text)
    if file is not None:
        message(f"reading the file {file}")
    with executor(1, ConsoleProgress(quiet=True)) as worker:
        analysis = finding.analyse(
            load(config, overrides),
            content,
            translation=None if translation is None else finding.text_or_file(translation)[0],
            costs=None if costs is None else load_options(costs, CostModel),
            wanted=wanted,
            executor=worker,
        )
    if as_json:
        result_json(analysis.to_json())
    elif as_prompt:
        result(finding.prompt(analysis, content))
    else:
        result(finding.render(analysis))
    for problem in analysis.problems:
        message(problem)
    sys.exit(3 if analysis.problems else 0)
