"""docs/gate.md: its commands exist, its config is valid."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from pages import blocks, names_in, sections, text_of
from tokbench.bench.cli import main
from tokbench.bench.compare.verdicts import OUTCOMES
from tokbench.bench.config.schema import load_config

PAGE = "docs/gate.md"


@pytest.mark.parametrize("page", [PAGE, "docs/ci.md"])
def test_every_command_on_the_page_exists_with_its_options(page: str) -> None:
    for line in re.findall(
        r"^.*?\btokbench ((?:run|compare|baseline|report) .*)$", text_of(page), re.M
    ):
        words = re.split(r"[`#|]", line)[0].split()
        command: click.Command = main.load_all()[words[0]]
        if isinstance(command, click.Group):
            command = command.commands[words[1]]
        known = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_the_config_on_the_page_is_valid(tmp_path: Path) -> None:
    (example,) = [
        block for block in blocks(PAGE, "yaml") if "gate:" in block and "jobs" not in block
    ]
    (tmp_path / "ci.yaml").write_text(example, encoding="utf-8")
    assert load_config(tmp_path / "ci.yaml").run.gate.rules[0].tolerance == 0.001


def test_every_verdict_is_described() -> None:
    named = {name for line in sections(PAGE)["Verdicts"].splitlines() for name in names_in(line)}
    assert set(OUTCOMES) <= named
