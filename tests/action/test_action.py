"""The action on a repository: green, red, undecided; one comment; nothing asked for a fork."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from action.conftest import ONE_LESS, NewRunner, git, pull_request, push, rank_file
from command_line import tokbench
from forge_server import ForgeServer
from pages import blocks

CONFIG = {"mode": "compare", "config": "ci.yaml"}


def change_the_tokenizer(checkout: Path) -> None:
    (checkout / "mine.tiktoken").write_text(rank_file(ONE_LESS))


def commit_a_baseline(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit the baseline to the base branch; the pull request does not have it yet."""
    origin = checkout.parent / "origin"
    monkeypatch.chdir(origin)
    assert tokbench("run", "ci.yaml", "--quiet", "--output", "../base-run").exit_code == 0
    assert tokbench("baseline", "save", "../base-run/ci-1", "ci.baseline.json").exit_code == 0
    git(origin, "add", "ci.baseline.json")
    git(origin, "commit", "--quiet", "-m", "baseline")


def test_a_baseline_of_the_base_branch_green_then_red_with_one_comment(
    new_runner: NewRunner, checkout: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_a_baseline(checkout, monkeypatch)
    inputs = CONFIG | {"baseline": "ci.baseline.json", "packages": "."}
    runner = new_runner(pull_request())

    green = runner.run(**inputs)
    assert green.passed, green.log
    assert green.outputs["verdict"] == "pass"
    assert len(forge.ours()) == 1

    change_the_tokenizer(checkout)
    red = runner.run(**inputs)
    assert not red.passed
    assert red.outputs["verdict"] == "fail"
    assert red.done[-1] == "Verdict"
    assert "Name the segments" in red.done
    [comment] = forge.ours()
    report = Path(red.outputs["report"]).read_text()
    assert comment.endswith(report.strip())
    assert "+25.0 %" in report  # 8 tokens, and 10 without the merge that makes "the"
    assert red.summary == report
    artifact = runner.folder / "artifacts" / "tokbench-gate"
    assert (artifact / "report" / "junit.xml").is_file()
    assert (artifact / "runs" / "ci-1" / "measurements.parquet").is_file()
    installed = (checkout.parent / "installed").read_text()
    assert installed.startswith("-P -m pip install")
    assert runner.tokens_seen == ["Comment", "Comment"]


def test_without_a_baseline_the_last_run_of_the_default_branch_is_the_base(
    new_runner: NewRunner, checkout: Path, forge: ForgeServer
) -> None:
    alone = new_runner(pull_request()).run(**CONFIG)
    assert not alone.passed
    assert alone.outputs["verdict"] == "undecided"
    assert "No base" in alone.summary

    first = new_runner(push(), "push", base_ref="", ref_name="main").run(**CONFIG)
    assert first.passed, first.log
    assert first.outputs["verdict"] == "undecided"
    assert first.done[-2:] == ["Keep the next base", "Verdict"]

    assert new_runner(pull_request(), sha="2").run(**CONFIG).outputs["verdict"] == "pass"
    change_the_tokenizer(checkout)
    red = new_runner(pull_request(), sha="3").run(**CONFIG, comment="description")
    assert not red.passed
    assert red.outputs["verdict"] == "fail"
    assert "the" in forge.pulls[7]["body"]
    assert len(forge.ours()) == 1


BUDGET = """
tokenizers: [utf8_bytes]
groups:
  prompts: {files: "*.txt", whole: {growth_percent: 10}}
"""


def test_a_budget_green_then_red_then_without_a_file(
    new_runner: NewRunner, checkout: Path, forge: ForgeServer
) -> None:
    (checkout / "tokbench-budget.yaml").write_text(BUDGET)
    runner = new_runner(pull_request())
    green = runner.run(mode="budget")
    assert green.passed, green.log
    assert green.outputs["verdict"] == "pass"

    (checkout / "en.txt").write_text("the cat\nthe mat\nthe bat\n")  # 24 bytes, 16 before
    red = runner.run(mode="budget", config="tokbench-budget.yaml")
    assert not red.passed
    assert red.outputs["verdict"] == "fail"
    [comment] = forge.ours()
    assert comment.endswith(red.summary.strip())
    assert "50.0" in comment
    assert (runner.folder / "artifacts" / "tokbench-gate" / "report" / "budget.sarif").is_file()

    assert (checkout.parent / "runner/artifacts/tokbench-gate/report.txt").stat().st_size > 100

    (checkout / "tokbench-budget.yaml").write_text(BUDGET.replace("*.txt", "*.md"))
    nothing = runner.run(mode="budget")
    assert not nothing.passed
    assert nothing.outputs["verdict"] == "undecided"


def test_a_fork_is_judged_and_nothing_that_needs_a_token_is_called(
    new_runner: NewRunner, checkout: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second workflow, whose token can write, comments on what the first left."""
    commit_a_baseline(checkout, monkeypatch)
    change_the_tokenizer(checkout)
    runner = new_runner(pull_request(head="contributor/name"))
    red = runner.run(**CONFIG, baseline="ci.baseline.json")
    assert red.outputs["verdict"] == "fail"
    assert runner.tokens_seen == []
    assert forge.requests == []

    left = checkout / "report"
    shutil.copytree(runner.folder / "artifacts" / "tokbench-gate", left)
    run = {
        "event": "pull_request",
        "head_sha": "2",
        "head_branch": "fix",
        "head_repository": {"owner": {"login": "contributor"}},
    }
    second = new_runner(push() | {"workflow_run": run}, "workflow_run", base_ref="")
    outcome = second.run(mode="comment", report="report")
    assert outcome.passed, outcome.log
    assert outcome.done == [
        "Set up Python",
        "Install",
        "Comment on the pull request of another workflow",
    ]
    [comment] = forge.ours()
    assert comment.startswith("<!-- tokbench: gate -->\n```text\n")
    assert "mine" in comment


def test_the_script_of_the_page_gates_in_a_shell(
    new_runner: NewRunner, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_a_baseline(checkout, monkeypatch)
    [script] = blocks("docs/ci.md", "bash")
    environment = new_runner(pull_request()).environment

    def exit_code() -> int:
        return subprocess.run(["bash", "-c", script], cwd=checkout, env=environment).returncode

    assert exit_code() == 0
    change_the_tokenizer(checkout)
    assert exit_code() == 1
    assert (checkout / "comparison" / "junit.xml").is_file()


def test_a_refused_comment_is_a_warning_and_the_verdict_stands(
    new_runner: NewRunner, checkout: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_a_baseline(checkout, monkeypatch)
    forge.pulls.clear()
    green = new_runner(pull_request()).run(**CONFIG, baseline="ci.baseline.json")
    assert green.passed, green.log
    assert "there is no such pull request" in green.log
    assert "::warning title=tokbench::no comment was left" in green.log


@pytest.mark.parametrize(
    "inputs",
    [
        {"mode": "compare", "config": "$(touch stolen); `touch stolen`.yaml"},
        {"mode": "compare", "config": "ci.yaml", "baseline": "x'\"$(touch stolen)"},
        {"mode": "compare", "config": "ci.yaml", "base": "$(touch stolen)"},
        {"mode": "$(touch stolen)"},
    ],
)
def test_an_input_is_never_read_by_the_shell(
    new_runner: NewRunner, checkout: Path, inputs: dict[str, str]
) -> None:
    outcome = new_runner(pull_request()).run(**inputs)
    assert not outcome.passed
    assert not (checkout / "stolen").exists()
