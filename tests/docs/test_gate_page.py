"""docs/gate.md: the workflow is valid, its commands exist, its config is valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from ruamel.yaml import YAML

from pages import blocks, names_in, sections, text_of
from tokbench.bench.cli import main
from tokbench.bench.compare.verdicts import OUTCOMES
from tokbench.bench.config.schema import load_config

PAGE = "docs/gate.md"


def workflow() -> dict[str, Any]:
    (found,) = blocks(PAGE, "yml")
    loaded: dict[str, Any] = YAML(typ="safe").load(found)
    return loaded


def test_the_workflow_restores_runs_compares_sums_up_and_keeps() -> None:
    steps = workflow()["jobs"]["gate"]["steps"]
    used = [str(step.get("uses", step.get("run", ""))) for step in steps]
    order = ["checkout", "cache/restore", "tokbench run", "tokbench compare", "GITHUB_STEP_SUMMARY"]
    order += ["upload-artifact", "cache/save"]
    places = [next(i for i, text in enumerate(used) if word in text) for word in order]
    assert places == sorted(places)


def test_the_workflow_compares_no_run_that_a_pull_request_brought() -> None:
    """Every folder that a later step reads is removed between the checkout and the first of them."""
    steps = workflow()["jobs"]["gate"]["steps"]
    used = [str(step.get("uses", step.get("run", ""))) for step in steps]
    (at,) = [i for i, text in enumerate(used) if text.startswith("rm -rf runs")]
    assert "checkout" in used[0]
    assert not any(
        word in text for text in used[:at] for word in ("tokbench run", "compare", "restore")
    )
    read = set(
        re.findall(r"(?<![/\w-])(runs|base|comparison|segments)\b", " ".join(used[at + 1 :]))
    )
    assert read <= set(used[at].split()[2:])


def test_every_command_on_the_page_exists_with_its_options() -> None:
    for line in re.findall(
        r"^.*?\btokbench ((?:run|compare|baseline|report) .*)$", text_of(PAGE), re.M
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
