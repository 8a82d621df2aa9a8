"""`tokbench lineage`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE


@click.command()
@click.argument("token")
@click.argument("tokenizers", nargs=-1, required=True, metavar="TOKENIZER...")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="Count entries in this text.  [default: the bundled sentences and programs]",
)
@OFFLINE
@AS_JSON
def lineage(
    token: str, tokenizers: tuple[str, ...], file: Path | None, offline: bool, as_json: bool
) -> None:
    """Show the merges that make TOKEN of a BPE vocabulary.

    TOKEN is the text of an entry, its raw spelling, or # and its id. Entries on the way that no
    text ends in are named. A TOKENIZER is an encoding of tiktoken, a sample, a file or folder, or a
    Hub repository.
    """
    from tokbench.bench.cli.shared import load
    from tokbench.bench.commands import lineage as command
    from tokbench.bench.commands.inspect import read_text
    from tokbench.bench.commands.one_text import chosen
    from tokbench.bench.console import ConsoleProgress, message, remark, result, result_json
    from tokbench.bench.workers.executors import executor
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    loaded, notes = chosen(tokenizers, None, lambda: load("quick", ()))
    for note in notes:
        message(note)
    texts = command.bundled_texts() if file is None else [read_text(None, file)]
    with executor(1, ConsoleProgress(quiet=True)) as worker:
        found, problems = command.making(loaded, token, texts, worker)
    if as_json:
        result_json([one.to_json() for one in found])
    elif found:
        where = "the bundled text" if file is None else str(file)
        result("\n\n".join(command.render(one, where) for one in found))
    for problem in problems:
        remark(problem)
    sys.exit(3 if problems else 0)
