"""Commands that say at once what a tokenizer is good for, without a config."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE


@click.command()
@click.argument("tokenizer")
@click.option("--against", metavar="OTHER", help="Another file of the same model: same ids?")
@click.option("--no-growth", is_flag=True, help="Take no times on long texts.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.")
@click.option("--quiet", is_flag=True, help="Print the result only.")
@OFFLINE
@AS_JSON
def check(
    tokenizer: str,
    against: str | None,
    no_growth: bool,
    jobs: int | None,
    quiet: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """Report the health of TOKENIZER: pass, warn or fail.

    TOKENIZER is an encoding of tiktoken, a sample, a file or folder, or a Hub repository. A warning
    is a property that costs something, a fail is a fault. Exit codes: 0 all pass or warn, 1 a fail,
    3 it cannot be loaded.
    """
    from tempfile import TemporaryDirectory

    from tokbench.bench.commands.check.examine import config_for, report_of
    from tokbench.bench.commands.check.render import render
    from tokbench.bench.console import ConsoleProgress, remark, result, result_json, width
    from tokbench.bench.run import runner
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    config = config_for(tokenizer, against, growth=not no_growth)
    with (
        TemporaryDirectory(prefix="tokbench-check-") as folder,
        interruptible(),
        ConsoleProgress(quiet=quiet or not sys.stderr.isatty()) as progress,
        executor(jobs, progress) as workers,
    ):
        outcome = runner.run(config, output=Path(folder), progress=progress, executor=workers)
        report = report_of(config, outcome.results)
    for problem in report.problems:
        remark(f"error: {problem}")
    if as_json:
        result_json(report.to_json())
    elif report.checks:
        result(render(report, width()))
    sys.exit(report.exit_code)


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "-t", "--tokenizer", "tokenizers", multiple=True, required=True, help="May be given again."
)
@click.option(
    "--language",
    "named",
    multiple=True,
    metavar="CODE=FILE",
    help="A file and its language, if the file name does not contain the language.",
)
@click.option("--parallel", is_flag=True, help="The files are translations, the first the pivot.")
@click.option("--jobs", type=click.IntRange(min=0), help="Worker processes.")
@click.option("--quiet", is_flag=True, help="Print the result only.")
@OFFLINE
@AS_JSON
def size(
    files: tuple[str, ...],
    tokenizers: tuple[str, ...],
    named: tuple[str, ...],
    parallel: bool,
    jobs: int | None,
    quiet: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """Count the tokens of FILEs: bytes per token and premiums.

    The language is taken from the end of a file's name (news.en.txt) or by --language en=news.txt.
    With --parallel each line or row is a translation of the same line of the first file, and
    premiums are relative to it. Nothing is written.
    """
    from tempfile import TemporaryDirectory

    from tokbench.bench.commands.fresh import size as sizing
    from tokbench.bench.console import ConsoleProgress, remark, result, result_json
    from tokbench.bench.run import runner
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    given = sizing.files_of(files, named)
    config = sizing.config_for(given, tokenizers, parallel=parallel)
    with (
        TemporaryDirectory(prefix="tokbench-size-") as folder,
        interruptible(),
        ConsoleProgress(quiet=quiet or not sys.stderr.isatty()) as progress,
        executor(jobs, progress) as workers,
    ):
        outcome = runner.run(config, output=Path(folder), progress=progress, executor=workers)
        sizes = sizing.sizes_of(given, config, outcome.results)
    if as_json:
        result_json(sizing.to_json(sizes))
    else:
        result(sizing.render(sizes, parallel=parallel))
    for problem in outcome.problems:
        remark(problem)
    sys.exit(outcome.exit_code)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--name", help="Name of the run.  [default: the folder's]")
@click.option(
    "-t", "--tokenizer", "tokenizers", multiple=True, help="Measure this one too; may be repeated."
)
@click.option(
    "--language",
    "named",
    multiple=True,
    metavar="CODE=FILE",
    help="Text to use, not what is found.",
)
@click.option("--parallel", is_flag=True, help="The languages of a corpus are translations.")
@click.option("--pivot", help="Language that premiums are relative to.")
@click.option("--output", type=click.Path(path_type=Path), help="File.  [default: tokbench.yaml]")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@OFFLINE
def init(
    folder: Path,
    name: str | None,
    tokenizers: tuple[str, ...],
    named: tuple[str, ...],
    parallel: bool,
    pivot: str | None,
    output: Path | None,
    force: bool,
    offline: bool,
) -> None:
    """Write a commented config for the files in FOLDER.

    Text files (txt, jsonl, csv, parquet, programs), tokenizer files and language codes in names
    (news.en.txt, sw/a.jsonl) are found; nothing is asked. - as --output prints the config.
    """
    from tokbench.bench.commands.fresh import init as drafting
    from tokbench.bench.console import message, result
    from tokbench.bench.markup import plural
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    made = drafting.draft(
        folder, name=name, tokenizers=tokenizers, named=named, parallel=parallel, pivot=pivot
    )
    for note in made.notes:
        message(note)
    if output == Path("-"):
        result(made.text)
        return
    path = output or folder / drafting.NAME
    drafting.write(made.text, path, force=force)
    result(
        f"{path}: {plural(len(made.config.run.corpora), 'corpus', 'corpora')}, "
        f"{plural(len(made.config.tokenizers), 'tokenizer')}"
    )
    message(f"next: tokbench validate {path}, then tokbench run {path}")
