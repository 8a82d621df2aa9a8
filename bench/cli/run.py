"""Commands that run a config, and those that check it beforehand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import click

from tokbench.bench.cli.shared import AS_JSON, CONFIG, OFFLINE, ROOT, SET, load

if TYPE_CHECKING:
    from tokbench.bench.commands.upkeep.estimate import Forecast
    from tokbench.bench.config.schema import Config


@click.command()
@CONFIG
@SET
@click.option(
    "--output",
    metavar="PATH",
    default="runs",
    show_default=True,
    help="Folder to create the run folder in, or an address of an object store (s3://...).",
)
@click.option("--new", is_flag=True, help="Start a new run, even if an unfinished one exists.")
@click.option(
    "--rerun",
    type=click.Choice(["missing", "failed", "all"]),
    help="Resume the last run of this plan and recompute its missing, failed or all cells.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=0),
    help="Number of workers; 0 runs in this process, without crash isolation.  [default: one per "
    "CPU, at most 4 on one machine]",
)
@click.option(
    "--executor",
    "kind",
    default="local",
    show_default=True,
    metavar="NAME",
    help="Where jobs run: local worker processes, ray, or a plug-in (`tokbench list executors`).",
)
@click.option(
    "--address", help="Address of the executor's cluster, as ray takes it; auto finds it."
)
@OFFLINE
@click.option("--quiet", is_flag=True, help="Print the result only.")
@click.option("-v", "--verbose", is_flag=True, help="Print a line for each cell.")
@click.option("--keep-cells", is_flag=True, help="Keep the run's private files when it is done.")
@ROOT
@click.option(
    "--log-json",
    "log",
    type=click.File("w", encoding="utf-8"),
    help="Write every event of the run to a file, as JSON lines.",
)
def run(
    config: str,
    overrides: tuple[str, ...],
    output: str,
    new: bool,
    rerun: Literal["missing", "failed", "all"] | None,
    jobs: int | None,
    kind: str,
    address: str | None,
    offline: bool,
    quiet: bool,
    verbose: bool,
    keep_cells: bool,
    root: Path | None,
    log: TextIO | None,
) -> None:
    """Run the benchmark of CONFIG and write its reports.

    CONFIG is a YAML file or the name of a ready config (`tokbench list configs`).
    """
    # Threads that wait for work burn CPU time, and no product here is large enough to need them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own pool takes huge pages, which the system has to clear, for tables of a few MB.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from tokbench.bench.environment import Stopwatch
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    watch = Stopwatch()
    watch.start_of_process()
    with watch.section("imports"):
        import pandas  # noqa: F401 - pyarrow imports both at its first array
        import pyarrow.pandas_compat  # noqa: F401

        from tokbench.bench.console import ConsoleProgress, remark, result_painted, width
        from tokbench.bench.results.report import Lookup, screen
        from tokbench.bench.run import runner
        from tokbench.bench.workers.executors import executor, interruptible

        loaded = load(config, overrides, root)
    with (
        interruptible(),
        ConsoleProgress(quiet=quiet, verbose=verbose, log=log) as progress,
        executor(jobs, progress, kind, address) as workers,
    ):
        outcome = runner.run(
            loaded,
            output=output,
            progress=progress,
            watch=watch,
            new=new,
            rerun=rerun,
            executor=workers,
            keep_cells=keep_cells,
        )
    result_painted(screen().show(outcome.results, Lookup(), width()))
    for problem in outcome.problems:
        remark(problem)
    sys.exit(outcome.exit_code)


@click.command()
@CONFIG
@SET
@click.option("--engine", "engines", multiple=True, help="Tokenizer to check (repeatable).")
@click.option(
    "--reference", help="Tokenizer whose ids are the expected ones.  [default: the config's]"
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Folder to keep the run in, with all witnesses.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.")
@OFFLINE
@click.option("--quiet", is_flag=True, help="Print the result only.")
@AS_JSON
def conform(
    config: str,
    overrides: tuple[str, ...],
    engines: tuple[str, ...],
    reference: str | None,
    output: Path | None,
    jobs: int | None,
    offline: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check that engines produce exactly the ids of a reference.

    Compares ids on the config's corpora and on adversarial strings. Exit codes: 0 exact, or exact
    except where the config allows it; 1 wrong; 3 not compared, for example because the vocabularies
    differ in size.
    """
    from tokbench.bench.cache import scratch_folder
    from tokbench.bench.commands import conform
    from tokbench.bench.console import ConsoleProgress, remark, result, result_json
    from tokbench.bench.run import runner
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    asked = conform.narrowed(load(config, overrides), engines, reference)
    with (
        scratch_folder("conform") as folder,
        interruptible(),
        ConsoleProgress(quiet=quiet) as progress,
        executor(jobs, progress) as workers,
    ):
        outcome = runner.run(
            asked,
            output=output or folder,
            progress=progress,
            executor=workers,
        )
        found = conform.verdicts(outcome.results)
    if as_json:
        result_json(conform.to_json(found))
    else:
        result(conform.render(found))
    for problem in outcome.problems:
        remark(problem)
    sys.exit(conform.exit_code(found))


@click.command()
@CONFIG
@SET
@click.option("--estimate", is_flag=True, help="Measure a small part, and say what all will take.")
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    help="With --estimate: number of workers to estimate for.  [default: one per CPU, at most 4]",
)
@ROOT
@OFFLINE
@AS_JSON
def plan(
    config: str,
    overrides: tuple[str, ...],
    estimate: bool,
    cores: int | None,
    root: Path | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Show what a run of CONFIG would measure.

    With --estimate also how much text it reads, and how many seconds, memory and disk it takes;
    the run of the same config then sets what it took beside it, in detail.md.
    Exit code 3 if a file that CONFIG names is missing or of the wrong kind.
    """
    from tokbench.bench.console import message, result, result_json
    from tokbench.bench.run.plan import make_plan
    from tokbench.bench.run.preflight import lacks, told

    loaded = load(config, overrides, root)
    made = make_plan(loaded)
    found = _forecast(loaded, offline, cores) if estimate else None
    if found is not None:
        from tokbench.bench.run.estimates import keep_estimate

        keep_estimate(made, found.to_json())
    if as_json:
        cells = [cell._asdict() for cell in made.cells]
        more = {} if found is None else {"estimate": found.to_json()}
        result_json({"name": made.name, "plan": made.sha256, "cells": cells, **more})
    else:
        result(made.describe())
        if found is not None:
            from tokbench.bench.commands.upkeep.estimate import render

            result(render(found))
    if missing := lacks(loaded):
        message(f"error: {told(loaded, missing)}")
        sys.exit(3)


def _forecast(config: Config, offline: bool, cores: int | None) -> Forecast:
    from tokbench.bench.commands.upkeep.estimate import forecast
    from tokbench.bench.progress import SILENT
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    with interruptible(), executor(None, SILENT) as workers:
        return forecast(config, workers, cores)


@click.command()
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@SET
@OFFLINE
def validate(configs: tuple[str, ...], overrides: tuple[str, ...], offline: bool) -> None:
    """Check CONFIGs and the files that they name.

    Checks that files exist and what their first bytes are, and that the Hub grants access to what
    CONFIG names. Exit codes: 2 for a mistake in CONFIG, or a data set that no run can load; 3 if
    CONFIG is valid and an input is missing or access is denied.
    """
    from tokbench.bench.console import message
    from tokbench.bench.errors import ConfigError
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    worst = 0
    for config in configs:
        try:
            loaded = load(config, overrides)
        except ConfigError as exc:
            message(f"error: {exc.shown}")
            worst = max(worst, exc.exit_code)
        else:
            worst = max(worst, _validated(loaded))
    sys.exit(worst)


def _validated(loaded: Config) -> int:
    """Print what is wrong with a config and its inputs, and return the exit code."""
    from tokbench.bench.commands.pin import unpinned
    from tokbench.bench.commands.validate import problems, remarks
    from tokbench.bench.console import message, remark, result
    from tokbench.bench.run.preflight import lacks, told

    for one in unpinned(loaded):
        message(f"warning: {one}")
    missing = lacks(loaded)
    if missing:
        message(f"error: {told(loaded, missing)}")
    for said in remarks(loaded):
        message(f"warning: {said}")
    found = list(problems(loaded))
    for problem in found:
        remark(f"{'warning' if problem.kind == 'unknown' else 'error'}: {problem.text}")
    kinds = {problem.kind for problem in found}
    if kinds <= {"unknown"} and not missing:
        result(f"{loaded.path}: fine")
    return 2 if "script" in kinds else 3 if "refused" in kinds or missing else 0


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def pin(config: Path) -> None:
    """Pin every Hub revision in CONFIG to its current commit. Comments are kept."""
    from tokbench.bench.commands.pin import pin as pin_config
    from tokbench.bench.console import message, remark, result
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub()
    pinned = pin_config(load(str(config), ()), config)
    for place, commit in pinned.commits.items():
        result(f"{place}: {commit}")
    for problem in pinned.problems:
        remark(problem)
    if not pinned.commits and not pinned.problems:
        message("nothing to pin: every revision is a commit")
    sys.exit(3 if pinned.problems else 0)


@click.command()
@click.argument("of", type=click.Choice(["config", "budget", "budget-result"]), default="config")
def schema(of: str) -> None:
    """Print a JSON schema: of configs, for editors, or of budgets.

    budget-result is the schema of what `tokbench budget --json` prints.
    """
    from tokbench.bench.commands.budget.outcome import outcome_schema
    from tokbench.bench.commands.budget.schema import budget_schema
    from tokbench.bench.commands.listing import config_schema
    from tokbench.bench.console import result_json

    made = {"config": config_schema, "budget": budget_schema, "budget-result": outcome_schema}
    result_json(made[of]())
