"""Commands that describe the installation: plug-ins, configs, and this machine."""

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
