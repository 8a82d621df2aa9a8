"""`tokbench --help` and shell completion."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from tokbench.bench.cli import GROUPS, main

COMMANDS = main.load_all()  # type: ignore[attr-defined]


def test_every_command_is_in_one_group_with_its_own_first_sentence() -> None:
    listed = {name: one.help for group in GROUPS.values() for name, one in group.items()}
    assert len(listed) == sum(map(len, GROUPS.values()))
    assert listed == {name: one.get_short_help_str(100) for name, one in COMMANDS.items()}
    assert all(name == one.name for name, one in COMMANDS.items())


def test_every_command_that_is_written_is_listed() -> None:
    modules = {one.callback.__module__ for one in COMMANDS.values()}
    found = [vars(sys.modules[module]).values() for module in modules]
    written = {id(one) for values in found for one in values if isinstance(one, click.Command)}
    within = {id(c) for one in COMMANDS.values() for c in getattr(one, "commands", {}).values()}
    assert written - within == {id(one) for one in COMMANDS.values()}


def test_help_imports_no_command() -> None:
    code = "import sys; from tokbench.bench.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {name for name in done.stdout.split() if name.startswith("tokbench.")}
    assert ours <= {
        "tokbench.bench",
        "tokbench.bench.cli",
        "tokbench.bench.console",
        "tokbench.bench.markup",
        "tokbench.bench.progress",
    }


def test_an_unknown_command_is_wrong_usage() -> None:
    done = CliRunner().invoke(main, ["rum"])
    assert done.exit_code == 2
    assert "No such command 'rum'" in done.output


@pytest.mark.parametrize(
    "arguments",
    [["\x1b[31mx\n::error::y"], ["run", "--\x1b[31mx"], ["run", "c", "--jobs", "\x1b\n::error::y"],
     ["list", "\x1b\u202e"], ["run", "c", "\x1b[31mx\n::error::y"], ["--\x1b[31mx"]],
)  # fmt: skip
def test_what_is_wrong_in_a_call_is_shown_without_escape_codes(arguments: list[str]) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    assert not [line for line in done.output.splitlines() if line.startswith("::")]


def test_first_sentences_are_whole_at_80_columns() -> None:
    shown = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    lines = shown.partition("\nMeasure:\n")[2].splitlines()
    entries = [line for line in lines if line.startswith("  ")]
    assert len(entries) == len(COMMANDS)
    assert not [line for line in entries if not line.endswith((".", "?"))]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_the_command_and_its_variable(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert "_TOKBENCH_COMPLETE" in done.output
    assert "tokbench" in done.output
