"""`tokbench --help` and shell completion."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tokbench.bench.cli import GROUPS, main


def test_every_command_is_in_one_group() -> None:
    grouped = [command.name for commands in GROUPS.values() for command in commands]
    assert sorted(grouped) == sorted(main.commands)
    assert len(grouped) == len(set(grouped))


def test_first_sentences_are_whole_at_80_columns() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    lines = shown.partition("\nMeasure:\n")[2].splitlines()
    entries = [line for line in lines if line.startswith("  ")]
    assert len(entries) == len(main.commands)
    assert not [line for line in entries if not line.endswith((".", "?"))]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_command_and_its_variable(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert "_TOKBENCH_COMPLETE" in done.output
    assert "tokbench" in done.output
