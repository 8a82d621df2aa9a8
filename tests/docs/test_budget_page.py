"""docs/budget.md: its commands give a green and a red gate, and what they print is real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import blocks, text_of
from tokbench.bench.commands.budget.outcome import BudgetOutcome
from tokbench.bench.commands.budget.report import BudgetPlugin
from tokbench.bench.commands.budget.schema import TokenLimits, load
from tokbench.bench.plugins import find, names

PAGE = "docs/budget.md"


@pytest.mark.skipif(sys.platform == "win32", reason="the page's shell is POSIX")
def test_the_first_commands_give_a_green_and_a_red_gate(tmp_path: Path) -> None:
    script = blocks(PAGE, "sh")[0]
    start = """set -u
git init -q && git config user.name a && git config user.email a@example.org
mkdir prompts && echo "You are a helpful assistant." > prompts/system.md
"""
    told = script.replace("--base HEAD ", "--base HEAD; echo exit=$? ")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TOKBENCH_CACHE": str(tmp_path / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    (tmp_path / "repository").mkdir()
    done = subprocess.run(
        ["bash", "-c", start + told],
        cwd=tmp_path / "repository",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"exit=(\d+)", done.stdout) == ["0", "1"], done.stderr
    red = done.stdout.split("exit=0")[1].split("\n", 1)[1].split("exit=1")[0]
    assert _masked(red) == _masked(blocks(PAGE, "text")[0])


def _masked(printed: str) -> str:
    return re.sub(r"merge base [0-9a-f]{12}", "merge base", printed).strip()


def test_the_budget_on_the_page_is_valid_and_names_every_limit(tmp_path: Path) -> None:
    (example,) = blocks(PAGE, "yaml")
    (tmp_path / "budget.yaml").write_text(example, encoding="utf-8")
    budget = load(tmp_path / "budget.yaml")
    named = {name for limits in budget.limits() for name, _ in limits.given()}
    described = set(re.findall(r"^\| `(\w+)` \|", text_of(PAGE), re.MULTILINE))
    assert named == described == set(TokenLimits.model_fields)


def test_every_report_is_named() -> None:
    empty = BudgetOutcome(
        budget="",
        base=None,
        base_commit=None,
        currency="",
        files=(),
        checks=(),
        lines=(),
        problems=(),
        notes=(),
    )
    files = {
        file for name in names(BudgetPlugin) for file in find(BudgetPlugin, name)().render(empty)
    }
    assert {file for file in files if f"`{file}`" not in text_of(PAGE)} == {"budget.txt"}
