"""docs/ci.md: its workflows follow the published schemas, and what it says of the action is so."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from action.runner import ACTION, load_action
from pages import blocks, sections, table

PAGE = "docs/ci.md"
SCHEMAS = ("github-workflows", "github-workflows", "gitlab-ci", "github-workflows")


def found_in(section: str) -> dict[str, Any]:
    """Return the YAML of a section."""
    (found,) = re.findall(r"^```yml\n(.*?)^```", sections(PAGE)[section], re.M | re.S)
    loaded: dict[str, Any] = YAML(typ="safe").load(found)
    return loaded


@pytest.mark.parametrize(("place", "schema"), list(enumerate(SCHEMAS)))
def test_every_workflow_follows_the_published_schema(
    tmp_path: Path, place: int, schema: str
) -> None:
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("needs check-jsonschema: pip install check-jsonschema")
    found = blocks(PAGE, "yml")
    assert len(found) == len(SCHEMAS)
    file = tmp_path / "workflow.yml"
    file.write_text(found[place])
    arguments = ["--builtin-schema", f"vendor.{schema}", str(file)]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not ACTION.is_file(), reason="needs a checkout")
def test_every_input_of_the_action_is_in_the_table_and_every_use_names_inputs() -> None:
    named = [name for row in table(sections(PAGE)["The action"]) for name in row[0].split(", ")]
    assert sorted(one.strip("`") for one in named) == sorted(load_action()["inputs"])
    for section in ("The action", "Pull requests from forks"):
        (job,) = found_in(section)["jobs"].values()
        assert job["steps"][-1]["with"].keys() <= load_action()["inputs"].keys()


def test_the_workflow_that_comments_checks_nothing_out_and_only_comments() -> None:
    whole = found_in("Pull requests from forks")
    assert whole["permissions"] == {"actions": "read", "pull-requests": "write"}
    used = [step["uses"] for step in whole["jobs"]["comment"]["steps"]]
    assert [name.partition("@")[0] for name in used] == [
        "actions/download-artifact",
        "OWNER/tokbench",
    ]
    assert whole["jobs"]["comment"]["steps"][-1]["with"]["mode"] == "comment"
    assert whole["on"]["workflow_run"]["workflows"] == [found_in("The action")["name"]]


def workflow() -> dict[str, Any]:
    return found_in("A workflow of your own")


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
