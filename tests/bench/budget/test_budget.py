"""Budgets on a repository made here: limits, growth, renames, and what cannot be counted.

The tokenizer `utf8_bytes` has a token for every byte, so every right value is a length.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from command_line import tokbench
from tokbench.bench.commands.budget.texts import matches

BUDGET: dict[str, Any] = {
    "tokenizers": {"bytes": {"tokenizer": "utf8_bytes", "input_per_million": 2, "context": 1000}},
    "groups": {"prompts": {"files": "prompts/**/*.md", "each": {"tokens": 200}}},
}


def write(path: str, text: str | bytes) -> None:
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text if isinstance(text, bytes) else text.encode())


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit() -> None:
    git("add", "-A")
    git("commit", "-q", "-m", "a commit")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with three files of 100, 200 and 300 bytes, committed; it is the folder here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / ".cache"))
    git("init", "-q", "-b", "main")
    for name, size in {"a": 100, "deep/b": 200, "c": 300}.items():
        write(f"prompts/{name}.md", f"{name[0] * 9}\n" * (size // 10))
    write("tokbench-budget.yaml", json.dumps(BUDGET))
    commit()
    return tmp_path


def checked(*arguments: str, exit_code: int, **changes: Any) -> dict[str, Any]:
    """Return what `tokbench budget --json` prints for a changed budget."""
    if changes:
        write("tokbench-budget.yaml", json.dumps(BUDGET | changes))
    done = tokbench("budget", "--json", *arguments)
    assert done.exit_code == exit_code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit_code"] == exit_code
    return found


def exceeded(found: dict[str, Any]) -> list[tuple[str, str, str, float]]:
    return sorted(
        (one["scope"], one["name"], one["limit"], one["value"])
        for one in found["checks"]
        if not one["passed"]
    )


def group(**limits: Any) -> dict[str, Any]:
    return {"groups": {"prompts": {"files": ["prompts/**/*.md"], **limits}}}


def test_each_file_is_held_against_its_limit(repository: Path) -> None:
    found = checked(exit_code=1)
    assert exceeded(found) == [("file", "prompts/c.md", "tokens", 300)]
    assert {one["file"]: one["tokens"] for one in found["files"]} == {
        "prompts/a.md": 100,
        "prompts/deep/b.md": 200,
        "prompts/c.md": 300,
    }


def test_limits_of_a_group_and_of_everything(repository: Path) -> None:
    whole = {"tokens": 600, "price": 0.0011, "context_used": 0.61}
    found = checked(exit_code=1, **group(whole=whole), total={"context_used": 0.6, "tokens": 599})
    # 600 tokens × 2 ÷ 10⁶ = 0.0012; 600 ÷ 1000 = 0.6, and a value at its limit is within it
    assert exceeded(found) == [("group", "prompts", "price", 0.0012), ("total", "", "tokens", 600)]


def test_a_file_in_two_groups_is_counted_once_in_all(repository: Path) -> None:
    groups = {n: {"files": f} for n, f in {"one": "prompts/*.md", "all": "prompts/**"}.items()}
    found = checked(exit_code=1, groups=groups, total={"tokens": 599})
    assert exceeded(found) == [("total", "", "tokens", 600)]


def test_growth_against_a_commit(repository: Path) -> None:
    write("prompts/a.md", "a" * 151)
    write("prompts/new.md", "new\n")
    git("mv", "prompts/c.md", "prompts/renamed.md")
    Path("prompts/deep/b.md").unlink()
    limits = {"growth_percent": 50, "growth_tokens": 50}
    found = checked(
        "--base", "HEAD", exit_code=1, **group(each=limits, whole={"growth_tokens": -146})
    )
    assert exceeded(found) == [
        ("file", "prompts/a.md", "growth_percent", 51.0),
        ("file", "prompts/a.md", "growth_tokens", 51),
        ("group", "prompts", "growth_tokens", 51 + 4 - 200),
    ]
    rows = [(f["file"], f["status"], f["base_tokens"], f["tokens"]) for f in found["files"]]
    assert rows == [
        ("prompts/a.md", "changed", 100, 151),
        ("prompts/new.md", "new", 0, 4),
        ("prompts/renamed.md", "renamed", 300, 300),
        ("prompts/deep/b.md", "deleted", 200, 0),
    ]
    assert (
        "tokbench-budget.yaml itself differs from the base: read its limits too" in found["notes"]
    )


def test_a_rename_between_two_patterns_matches_both(repository: Path) -> None:
    git("mv", "prompts/a.md", "prompts/z.md")
    files = ["prompts/a.md", "prompts/z.md"]
    groups = {"prompts": {"files": files, "whole": {"growth_tokens": 0}}}
    assert checked("--base", "HEAD", exit_code=0, groups=groups)["problems"] == []


def test_a_budget_in_a_folder_of_the_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "prompts")
    budget = {**BUDGET, "groups": {"all": {"files": "**/*.md", "each": {"growth_tokens": 9}}}}
    write("tokbench-budget.yaml", json.dumps(budget))
    write("deep/b.md", "b" * 210)
    git("mv", "c.md", "deep/c.md")
    found = checked("--base", "HEAD", exit_code=1)
    assert exceeded(found) == [("file", "deep/b.md", "growth_tokens", 10)]
    states = {one["file"]: one["status"] for one in found["files"]}
    assert states == {"a.md": "same", "deep/b.md": "changed", "deep/c.md": "renamed"}


def test_the_base_is_where_the_branch_left(repository: Path) -> None:
    """What main gained meanwhile is not growth of the branch."""
    git("switch", "-q", "-c", "branch")
    write("prompts/a.md", "a" * 120)
    commit()
    git("switch", "-q", "main")
    write("prompts/a.md", "a" * 10)
    commit()
    git("switch", "-q", "branch")
    found = checked("--base", "main", exit_code=0, **group(whole={"growth_tokens": 20}))
    assert [one["value"] for one in found["checks"]] == [20]


def test_lines_that_grew_most_are_named(repository: Path) -> None:
    before = Path("prompts/a.md").read_text()
    write("prompts/a.md", before + "b" * 29 + "\n" + "short\n")
    found = checked("--base", "HEAD", exit_code=1, **group(each={"growth_tokens": 10}))
    assert found["lines"] == [
        {
            "file": "prompts/a.md",
            "tokenizer": "bytes",
            "first": 11,
            "last": 12,
            "tokens": 36,
            "base_tokens": 0,
        }
    ]


def test_without_a_base_the_dearest_paragraphs_are_named(repository: Path) -> None:
    write("prompts/c.md", "x" * 250 + "\n\nshort\n\n" + "y" * 99 + "\n" + "z" * 99)
    found = checked(exit_code=1)
    places = [(one["first"], one["last"], one["tokens"]) for one in found["lines"]]
    assert places == [(1, 1, 251), (5, 6, 199), (3, 3, 6)]


def test_latin_1_costs_its_own_file_and_the_pass(repository: Path) -> None:
    write("prompts/latin.md", "caf\xe9".encode("latin-1"))
    found = checked(exit_code=3, **group(each={"tokens": 300}))
    assert found["problems"] == [
        "prompts/latin.md: is not UTF-8 (byte 4); convert it, or exclude it"
    ]
    assert sum(one["passed"] for one in found["checks"]) == 3
    excluded = {"files": "prompts/**/*.md", "exclude": "**/latin.md", "each": {"tokens": 300}}
    checked(exit_code=0, groups={"prompts": excluded})


def test_binary_files_links_and_repositories_inside_are_left_out(repository: Path) -> None:
    write("prompts/image.md", b"\x89PNG\0")
    Path("prompts/link.md").symlink_to("a.md")
    git("init", "-q", "prompts/inner")
    write("prompts/inner/x.md", "x" * 999)
    found = checked(exit_code=0, groups={"all": {"files": "prompts/**", "each": {"tokens": 300}}})
    assert [note for note in found["notes"] if note.startswith("prompts/")] == [
        "prompts/image.md: is binary",
        "prompts/inner: is a repository of its own",
        "prompts/link.md: is a symbolic link",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"groups": {"a": {"files": ["prompts/*.md", "promtps/*.md"], "each": {"tokens": 999}}}},
            "group a: 'promtps/*.md' matches no file, so nothing of it is limited",
        ),
        ({"groups": {"a": {"files": "prompts/*.md"}}}, "no limit is set, so nothing is gated"),
        (
            {"groups": {"a": {"files": "prompts/*.md", "whole": {"growth_percent": 1}}}},
            "limits on growth need a base: give --base REVISION, or `base:` in the budget",
        ),
    ],
    ids=["no-file", "no-limit", "no-base"],
)
def test_a_gate_that_has_measured_nothing_is_not_green(
    repository: Path, changes: dict[str, Any], said: str
) -> None:
    assert checked(exit_code=3, **changes)["problems"] == [said]


@pytest.mark.parametrize("revision", ["no-such-branch", "--output=x", "HEAD~9"])
def test_a_base_that_is_not_there(repository: Path, revision: str) -> None:
    done = tokbench("budget", f"--base={revision}")
    assert done.exit_code == 3
    assert "--base" in done.output
    assert "Traceback" not in done.output


def test_no_program_of_the_repository_is_run(repository: Path) -> None:
    """Neither a diff driver, nor a monitor, nor a hook."""
    write("driver", "#!/bin/sh\ntouch was-run\n")
    Path("driver").chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.bad.textconv", "diff.bad.command",
                "filter.bad.clean", "filter.bad.smudge"):  # fmt: skip
        git("config", key, "./driver")
    write(".gitattributes", "*.md diff=bad filter=bad\n")
    write("prompts/a.md", "a" * 110)
    checked("--base", "HEAD", exit_code=0, **group(each={"growth_tokens": 10}))
    assert not Path("was-run").exists()


def test_a_pyproject_holds_a_budget_too(repository: Path) -> None:
    Path("tokbench-budget.yaml").unlink()
    table = """
[tool.tokbench.budget]
tokenizers = ["utf8_bytes"]
[tool.tokbench.budget.groups.prompts]
files = ["prompts/*.md"]
each = {tokens = 250}
"""
    write("pyproject.toml", table)
    assert exceeded(checked(exit_code=1)) == [("file", "prompts/c.md", "tokens", 300)]
    write("pyproject.toml", table.replace("tokens", "token"))
    done = tokbench("budget")
    assert done.exit_code == 2
    assert "pyproject.toml [tool.tokbench.budget]: groups.prompts.each.token" in done.output


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tokenizers": ["no_such"]}, "unknown tokenizer 'no_such'"),
        ({"groups": {"a": {"files": "../x.md"}}}, "write a path below the budget's folder"),
        ({"groups": {"a": {"files": "/etc/*"}}}, "write a path below the budget's folder"),
        (
            {"tokenizers": ["utf8_bytes"], "total": {"price": 1}},
            "a limit 'price' needs a tokenizer with 'input_per_million'",
        ),
        ({"groups": {"a": {"files": "x", "each": {"tokens": "9"}}}}, "groups.a.each.tokens"),
    ],
)
def test_mistakes_are_told(repository: Path, changes: dict[str, Any], said: str) -> None:
    write("tokbench-budget.yaml", json.dumps(BUDGET | changes))
    done = tokbench("budget")
    assert done.exit_code == 2
    assert said in done.output


def test_no_budget_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done: Result = tokbench("budget")
    assert done.exit_code == 2
    assert "write tokbench-budget.yaml" in done.output


def test_names_that_git_quotes(repository: Path) -> None:
    name = 'prompts/a "b"\t東京::error::.md'
    write(name, "x" * 50)
    commit()
    write(name, "x" * 70)
    found = checked("--base", "HEAD", exit_code=1, **group(each={"growth_tokens": 19}))
    assert exceeded(found) == [("file", name, "growth_tokens", 20)]
    done = tokbench("budget", "--base", "HEAD")
    assert not any(line.startswith("::error") for line in done.output.splitlines())


def test_only_the_dot_finds_hidden_files() -> None:
    assert matches((".github", "p.md"), (".github", "*.md"))
    assert not matches((".github", "p.md"), ("**", "*.md"))
    assert matches(("p.md",), ("**", "*.md"))
    assert not matches(("a", "p.md"), ("*.md",))
