"""The command line without a process of its own."""

from __future__ import annotations

from click.testing import CliRunner, Result

from tokbench.bench.cli import main


def tokbench(*arguments: object) -> Result:
    """Run `tokbench` with arguments, in this process and the working folder."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])
