"""Every format of a budget: read by a parser of the format, or held against its schema."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from command_line import tokbench
from tokbench.bench.commands.budget.outcome import (
    BudgetOutcome,
    CostlyLines,
    FileTokens,
    LimitCheck,
    outcome_schema,
)
from tokbench.bench.commands.budget.report import BudgetPlugin
from tokbench.bench.commands.budget.schema import budget_schema
from tokbench.bench.plugins import find, names

HOSTILE = "a|b\n::error::</script><img src=x>‮`.md"


def file_tokens(file: str, tokens: int, base_tokens: int) -> FileTokens:
    return FileTokens(
        file=file,
        base_file=file,
        groups=("prompts",),
        tokenizer="bytes",
        status="changed",
        tokens=tokens,
        base_tokens=base_tokens,
        reason=None,
    )


@pytest.fixture
def outcome() -> BudgetOutcome:
    """One file that is over, and one with a hostile name that grew."""
    over = LimitCheck(
        scope="file",
        name="a b.md",
        tokenizer="bytes",
        limit="tokens",
        allowed=100,
        value=120,
        passed=False,
    )
    return BudgetOutcome(
        budget="tokbench-budget.yaml",
        base="origin/main",
        base_commit="0" * 40,
        currency="USD",
        files=(file_tokens("a b.md", 120, 100), file_tokens(HOSTILE, 51, 50)),
        checks=(
            over,
            over.model_copy(update={"name": HOSTILE, "value": 51.0, "passed": True}),
            over.model_copy(update={"name": "c.md", "value": None}),
        ),
        lines=(
            CostlyLines(
                file="a b.md", tokenizer="bytes", first=3, last=4, tokens=20, base_tokens=0
            ),
        ),
        problems=("c.md: is not UTF-8 (byte 4); convert it, or exclude it",),
        notes=(f"{HOSTILE}: is binary",),
    )


def rendered(name: str, outcome: BudgetOutcome) -> str:
    (text,) = find(BudgetPlugin, name)().render(outcome).values()
    return text


def test_json_is_as_its_schema_says(outcome: BudgetOutcome) -> None:
    schema = outcome_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(rendered("json", outcome))
    jsonschema.validate(found, schema)
    assert found["exit_code"] == 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found | {"files": [{"file": "a"}]}, schema)


@pytest.mark.parametrize(
    ("changes", "is_valid"),
    [
        ({}, True),
        ({"tokenizers": {"a": "gpt2", "b": {"tokenizer": "gpt2", "context": 5}}}, True),
        ({"groups": {"a": {"files": ["x"], "whole": {"growth_percent": 2.5}}}}, True),
        ({"tokenizers": {"a": {"price": 1}}}, False),
        ({"groups": {"a": {"files": "x", "each": {"token": 1}}}}, False),
    ],
)
def test_budgets_are_as_their_schema_says(changes: dict[str, object], is_valid: bool) -> None:
    budget = {"tokenizers": ["gpt2"], "groups": {"a": {"files": "x", "each": {"tokens": 1}}}}
    schema = budget_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert jsonschema.Draft202012Validator(schema).is_valid(budget | changes) is is_valid


def test_junit_has_a_case_for_each_limit(outcome: BudgetOutcome) -> None:
    root = ElementTree.fromstring(rendered("junit", outcome))
    assert root.attrib | {"name": ""} == {
        "name": "",
        "tests": "4",
        "failures": "1",
        "errors": "2",
        "skipped": "0",
    }
    (failure,) = root.iter("failure")
    assert failure.text == "tokens 120, allowed 100"


def test_sarif_points_at_the_lines(outcome: BudgetOutcome) -> None:
    log = json.loads(rendered("sarif", outcome))
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    (place,) = result["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.md"},
        "region": {"startLine": 3, "endLine": 4},
    }
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False


def test_benchmark_formats_hold_every_file(outcome: BudgetOutcome) -> None:
    custom = json.loads(rendered("benchmark", outcome))
    assert [one["value"] for one in custom] == [120, 51]
    assert custom[0]["name"] == "bytes / a b.md / tokens"
    assert {"name", "unit", "value", "extra"} == set(custom[0])
    bmf = json.loads(rendered("bencher", outcome))
    assert bmf["bytes / a b.md"] == {"tokens": {"value": 120}}
    assert len(bmf) == 2


def test_hostile_names_are_inert(outcome: BudgetOutcome) -> None:
    for name in names(BudgetPlugin):
        text = rendered(name, outcome)
        assert not any(line.startswith("::") for line in text.splitlines()), name
        assert "‮" not in text or name in ("json", "benchmark", "bencher"), name
    markdown = rendered("markdown", outcome)
    assert "<img" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| a")]
    assert {line.count(" | ") for line in rows} == {6, 5, 4}


def test_output_writes_every_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("abc", encoding="utf-8")
    (tmp_path / "tokbench-budget.yaml").write_text(
        "tokenizers: [utf8_bytes]\ngroups: {a: {files: '*.md', each: {tokens: 3}}}\n",
        encoding="utf-8",
    )
    done = tokbench("budget", "--output", "out")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "bencher.json",
        "benchmark-smaller-is-better.json",
        "budget.json",
        "budget.md",
        "budget.sarif",
        "budget.txt",
        "junit.xml",
    }
    assert (tmp_path / "out" / "budget.txt").read_text(encoding="utf-8") == done.stdout.rstrip("\n")
