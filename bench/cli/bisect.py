"""`tokbench bisect`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import click

from tokbench.bench.cli.shared import AS_JSON, CONFIG, OFFLINE, SET, load


@click.command()
@CONFIG
@click.option(
    "--package", required=True, help="Package whose versions are tried, such as tiktoken."
)
@click.option("--good", required=True, metavar="VERSION", help="Version to compare with.")
@click.option("--bad", required=True, metavar="VERSION", help="Later version that differs.")
@click.option(
    "--by",
    type=click.Choice(["ids", "size", "speed"]),
    default="ids",
    show_default=True,
    help="What must differ: ids of any public call, number of tokens, or speed beyond gate.speed.",
)
@click.option(
    "--with",
    "extra",
    multiple=True,
    metavar="REQUIREMENT",
    help="Install this too; repeatable.  [default: numpy for tiktoken]",
)
@click.option("--pre", is_flag=True, help="Try pre-releases too.")
@click.option("--source", is_flag=True, help="Build versions that have no wheel for this Python.")
@click.option(
    "--environments",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that keeps the environments for another bisection.",
)
@OFFLINE
@SET
@AS_JSON
def bisect(
    config: str,
    package: str,
    good: str,
    bad: str,
    by: Literal["ids", "size", "speed"],
    extra: tuple[str, ...],
    pre: bool,
    source: bool,
    environments: Path | None,
    offline: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find the version of a library that changed ids or speed.

    Installs versions between --good and --bad from the package index, each into an environment of
    its own that needs no tokbench, and compares what the library makes of CONFIG's corpora and of
    texts that spell special tokens. Exit codes: 0 found; 3 nothing differs, or a version cannot be
    tried.
    """
    from tokbench.bench.cache import scratch_folder
    from tokbench.bench.commands.bisect.bisection import Bisecting
    from tokbench.bench.commands.bisect.render import render
    from tokbench.bench.commands.bisect.versions import VersionEnvironments
    from tokbench.bench.console import ConsoleProgress, result, result_json
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    set_up_hub(offline=offline)
    loaded = load(config, overrides)
    if not extra and package.lower() == "tiktoken":
        extra = ("numpy",)  # encode_to_numpy requires it, and tiktoken does not
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        scratch = stack.enter_context(scratch_folder("bisect"))
        progress = stack.enter_context(ConsoleProgress())
        workers = stack.enter_context(executor(1, progress))
        folder = environments or scratch / "environments"
        folder.mkdir(parents=True, exist_ok=True)
        made = VersionEnvironments(folder.resolve(), package, extra=extra, source=source)
        models = scratch / "models"
        models.mkdir()
        bisecting = Bisecting(
            config=loaded,
            package=package,
            environments=made,
            folder=models,
            progress=progress,
            executor=workers,
        )
        found = bisecting.run(made.between(good, bad, pre=pre), by)
    if as_json:
        result_json(found.to_json())
    else:
        result(render(found))
    sys.exit(found.exit_code)
