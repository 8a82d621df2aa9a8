"""The gate on the tokens of files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE

if TYPE_CHECKING:
    from tokbench.bench.commands.budget.texts import Content
    from tokbench.bench.workers.executors import Executor


@click.command()
@click.argument("budget", required=False, type=click.Path(path_type=Path))
@click.option(
    "--base", metavar="REVISION", help="Compare with the merge base of REVISION and HEAD."
)
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write all reports to.")
@OFFLINE
@AS_JSON
def budget(
    budget: Path | None, base: str | None, output: Path | None, offline: bool, as_json: bool
) -> None:
    """Check the tokens of files against the limits in BUDGET.

    BUDGET is a YAML file, or a pyproject.toml with [tool.tokbench.budget]; by default
    tokbench-budget.yaml or pyproject.toml here. Exit codes: 0 within the limits; 1 over one; 3 not
    all could be measured, or nothing was.
    """
    from tokbench.bench import plugins
    from tokbench.bench.commands.budget import schema
    from tokbench.bench.commands.budget.check import check_budget
    from tokbench.bench.commands.budget.report import BudgetPlugin
    from tokbench.bench.console import result
    from tokbench.bench.files import write_whole
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    path = schema.find(budget)
    outcome = check_budget(schema.load(path), path, base, _executor)
    for name in plugins.names(BudgetPlugin) if output is not None else ():
        for file, text in plugins.find(BudgetPlugin, name)().render(outcome).items():
            write_whole(Path(output or "") / file, text)
    shown = plugins.find(BudgetPlugin, "json" if as_json else "text")
    for text in shown().render(outcome).values():
        result(text)
    sys.exit(outcome.exit_code)


@contextmanager
def _executor(contents: Sequence[Content]) -> Iterator[Executor]:
    """Yield a worker process where there is something to encode, else this process."""
    from tokbench.bench.console import ConsoleProgress
    from tokbench.bench.workers.executors import executor

    with executor(1 if contents else 0, ConsoleProgress(quiet=True)) as worker:
        yield worker
