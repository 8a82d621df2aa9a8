"""What lies about in run folders and caches stops nobody."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFIG = {
    "name": "x",
    "corpora": {"s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}},
    "tokenizers": {"b": {"type": "utf8_bytes"}},
    "suites": ["efficiency"],
    "reports": [],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def test_folders_that_are_not_numbered_as_runs_are_passed_over(
    folder: Path, tokbench: Callable[..., Any]
) -> None:
    for name in ("x-²", "x-１", "x-" + "9" * 5000, "x-", "x-two", "x--1"):
        if len(name) < 255:
            (folder / "runs" / name).mkdir(parents=True)
    done = tokbench(folder, "run", "x.yaml")
    assert done.returncode == 0, done.stderr
    assert (folder / "runs" / "x-1" / "run.json").exists()


@pytest.mark.parametrize("plan", ["deep", "list", "fifo", "large", "not UTF-8"])
def test_a_broken_plan_is_left_alone(folder: Path, tokbench: Callable[..., Any], plan: str) -> None:
    at = folder / "runs" / "x-1" / "plan.json"
    at.parent.mkdir(parents=True)
    if plan == "fifo":
        os.mkfifo(at)
    else:
        content = {"deep": b"[" * 50_000, "list": b"[]", "large": b" " * 10**6 + b"{}"}
        at.write_bytes(content.get(plan, b"\xff\xfe{"))
    done = tokbench(folder, "run", "x.yaml", timeout=100)
    assert done.returncode == 0, done.stderr
    assert (folder / "runs" / "x-2" / "run.json").exists()


@pytest.mark.parametrize("damage", ["list", "deep", "other options", "empty", "no tokenizer"])
def test_a_damaged_model_in_the_cache_is_trained_again(
    folder: Path, tokbench: Callable[..., Any], damage: str
) -> None:
    train = {"trainer": "byte_bpe", "corpus": "s", "vocab_size": 260}
    config = {**CONFIG, "tokenizers": {"t": {"train": train}}}
    (folder / "x.yaml").write_text(json.dumps(config), encoding="utf-8")
    variables = {"TOKBENCH_CACHE": str(folder / "cache")}
    assert tokbench(folder, "run", "x.yaml", **variables).returncode == 0
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
    done = tokbench(folder, "run", "x.yaml", "--new", **variables)
    assert done.returncode == 0, done.stderr
    assert json.loads(stored.read_text(encoding="utf-8")) == facts
