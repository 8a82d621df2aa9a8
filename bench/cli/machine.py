"""Commands that describe the installation: plug-ins, configs, and this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE

if TYPE_CHECKING:
    from tokbench.bench.commands.upkeep.clean import Kind


@click.command(name="list")
@click.argument(
    "what",
    type=click.Choice(
        [
            "tokenizers",
            "trainers",
            "corpora",
            "suites",
            "metrics",
            "reports",
            "segmenters",
            "executors",
            "configs",
        ]
    ),
)
@AS_JSON
def list_(what: str, as_json: bool) -> None:
    """List tokenizers, corpora, suites, metrics and configs."""
    from tokbench.bench.commands.listing import entries, render
    from tokbench.bench.console import result, result_json

    found = entries(what)
    if as_json:
        result_json(found)
    else:
        result(render(found))


@click.command()
@OFFLINE
@AS_JSON
def doctor(offline: bool, as_json: bool) -> None:
    """Check versions, extras, plug-ins, caches and the Hub."""
    from dataclasses import asdict

    from tokbench.bench.commands.doctor import examine
    from tokbench.bench.console import result, result_json
    from tokbench.bench.markup import table

    found = examine(offline=offline)
    if as_json:
        result_json([asdict(one) for one in found])
    else:
        rows = [[one.verdict, one.topic, one.text] for one in found]
        result(table(["verdict", "topic", "what was found"], rows))
    sys.exit(3 if any(one.verdict == "problem" for one in found) else 0)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell's completion script.

    bash: eval "$(tokbench completion bash)" in ~/.bashrc. zsh: the same with zsh in ~/.zshrc.
    fish: tokbench completion fish > ~/.config/fish/completions/tokbench.fish
    """
    from click.shell_completion import get_completion_class

    from tokbench.bench.console import result

    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None  # the choices are click's own
    result(kind(root.command, {}, "tokbench", "_TOKBENCH_COMPLETE").source())


@click.command()
@click.argument("runs", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"))
@click.option(
    "--only",
    "kinds",
    type=click.Choice(["caches", "half-built", "cells"]),
    multiple=True,
    help="Only these; may be given again.",
)
@click.option("--yes", is_flag=True, help="Remove what is listed.")
@AS_JSON
def clean(runs: Path, kinds: tuple[Kind, ...], yes: bool, as_json: bool) -> None:
    """List or remove caches, half-built slices and old cells.

    Without --yes nothing is removed. Caches are made again when they are needed; `cells/` of run
    folders below RUNS only serve --rerun. Results, reports and baselines are never touched.
    """
    from tokbench.bench.commands.upkeep import clean as cleaning
    from tokbench.bench.console import remark, result, result_json

    found = cleaning.removable(runs, kinds or cleaning.KINDS)
    problems = cleaning.remove(found) if yes else []
    if as_json:
        rows = [
            {"path": str(o.path), "kind": o.kind, "what": o.what, "bytes": o.bytes} for o in found
        ]
        result_json({"removed": yes, "entries": rows, "problems": problems})
    else:
        result(cleaning.render(found, removed=yes))
    for problem in problems:
        remark(f"error: {problem}")
    sys.exit(3 if problems else 0)
