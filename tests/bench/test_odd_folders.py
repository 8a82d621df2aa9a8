"""What lies about in run folders and caches stops nobody."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import tokbench as in_this_process

CONFIG = {
    "name": "x",
    "corpora": {"s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}},
    "tokenizers": {"b": {"type": "utf8_bytes"}},
    "suites": ["efficiency"],
    "reports": [],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def run(*options: str) -> None:
    done = in_this_process("run", "x.yaml", "--jobs", "0", *options)
    assert done.exit_code == 0, done.output


def test_folders_that_are_not_numbered_as_runs_are_passed_over(folder: Path) -> None:
    for name in ("x-²", "x-１", "x-" + "9" * 5000, "x-", "x-two", "x--1"):
        if len(name) < 255:
            (folder / "runs" / name).mkdir(parents=True)
    run()
    assert (folder / "runs" / "x-1" / "run.json").exists()


@pytest.mark.parametrize("plan", ["deep", "list", "large", "not UTF-8"])
def test_a_broken_plan_is_left_alone(folder: Path, plan: str) -> None:
    at = folder / "runs" / "x-1" / "plan.json"
    at.parent.mkdir(parents=True)
    content = {"deep": b"[" * 50_000, "list": b"[]", "large": b" " * 10**6 + b"{}"}
    at.write_bytes(content.get(plan, b"\xff\xfe{"))
    run()
    assert (folder / "runs" / "x-2" / "run.json").exists()


def test_nothing_is_written_through_a_link_in_a_run_folder(folder: Path) -> None:
    """An unfinished run whose `documents` is a link to another folder is not gone on with."""
    run("--keep-cells")
    first, outside = folder / "runs" / "x-1", folder / "outside"
    plan = json.loads((first / "plan.json").read_text())
    (first / "plan.json").write_text(json.dumps({**plan, "finished": False}))
    shutil.rmtree(first / "documents")
    outside.mkdir()
    (first / "documents").symlink_to(outside)
    run()
    assert list(outside.iterdir()) == []
    assert (folder / "runs" / "x-2" / "run.json").exists()


def test_reports_are_not_written_through_a_link_in_a_run_folder(folder: Path) -> None:
    run()
    first, outside = folder / "runs" / "x-1", folder / "outside"
    outside.mkdir()
    (first / "figures").symlink_to(outside)
    done = in_this_process("report", first, "--format", "svg")
    assert done.exit_code == 3
    assert "figures: is a symbolic link, which files are not written through" in done.output
    assert list(outside.iterdir()) == []


def test_a_plan_that_is_a_pipe_is_left_alone(folder: Path, tokbench: Callable[..., Any]) -> None:
    at = folder / "runs" / "x-1" / "plan.json"
    at.parent.mkdir(parents=True)
    os.mkfifo(at)
    done = tokbench(folder, "run", "x.yaml", timeout=100)  # who opens it waits forever
    assert done.returncode == 0, done.stderr
    assert (folder / "runs" / "x-2" / "run.json").exists()


@pytest.mark.parametrize("damage", ["list", "deep", "other options", "empty", "no tokenizer"])
def test_a_damaged_model_in_the_cache_is_trained_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    train = {"trainer": "byte_bpe", "corpus": "s", "vocab_size": 260}
    config = {**CONFIG, "tokenizers": {"t": {"train": train}}}
    (folder / "x.yaml").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.setenv("TOKBENCH_CACHE", str(folder / "cache"))
    run()
    (stored,) = (folder / "cache" / "models").glob("*/trained.json")
    whole = stored.read_text(encoding="utf-8")
    facts = json.loads(whole)
    stored.write_text(
        {
            "list": "[]",
            "deep": "[" * 100_000,
            "empty": "",
            "other options": json.dumps({**facts, "notes": ["somebody else's"]}),
            "no tokenizer": json.dumps({k: v for k, v in facts.items() if k != "tokenizer"}),
        }[damage],
        encoding="utf-8",
    )
    run("--new")
    assert json.loads(stored.read_text(encoding="utf-8")) == facts
