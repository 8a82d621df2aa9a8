"""Commands that tell what there is: plug-ins, configs, and this machine."""

from __future__ import annotations

import sys

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE


@click.command(name="list")
@click.argument(
    "what",
    type=click.Choice(
        ["tokenizers", "trainers", "corpora", "suites", "metrics", "reports", "configs"]
    ),
)
@AS_JSON
def list_(what: str, as_json: bool) -> None:
    """List what a config can name, and the ready configs."""
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
    """Look at versions, extras, plug-ins, caches, the Hub and shadowed packages."""
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
