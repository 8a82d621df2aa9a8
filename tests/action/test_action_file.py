"""`action.yml` as a file: valid, pinned, without a way from an input into a shell."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from typing import Any

import pytest

from action.runner import ACTION, load_action

pytestmark = pytest.mark.skipif(not ACTION.is_file(), reason="needs a checkout")


def steps() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load_action()["runs"]["steps"]
    return found


def test_it_follows_the_published_schema() -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("needs check-jsonschema: pip install check-jsonschema")
    command = ["--builtin-schema", "vendor.github-actions", str(ACTION)]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_expression_stands_in_a_shell() -> None:
    assert [step["name"] for step in steps() if "${{" in step.get("run", "")] == []


def test_every_action_of_others_is_pinned_by_a_hash_with_its_version() -> None:
    lines = [line for line in ACTION.read_text().splitlines() if "uses:" in line]
    assert len(lines) == len([step for step in steps() if "uses" in step]) > 0
    for line in lines:
        assert re.fullmatch(r" +uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


def test_only_the_steps_that_comment_hold_the_token() -> None:
    holders = [step["name"] for step in steps() if "inputs.token" in str(step)]
    assert holders == ["Comment", "Comment on the pull request of another workflow"]
    assert "github.token" not in str(steps())


def test_every_input_is_used_and_described() -> None:
    text = ACTION.read_text()
    for name, one in load_action()["inputs"].items():
        assert one["description"]
        assert f"inputs.{name}" in text.partition("\nruns:")[2]
