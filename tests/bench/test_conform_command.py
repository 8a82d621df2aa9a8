"""`tokbench conform`: one table, the smallest witnesses, and an exit code for a gate."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Tokbench = Callable[..., subprocess.CompletedProcess[str]]

CONFIG = {
    "name": "engines",
    "corpora": {"texts": {"source": "files", "path": "texts.txt", "language": "en"}},
    "tokenizers": {
        "reference": {"type": "toy_pieces", "pieces": ["the", "th", "e"]},
        "same": {"type": "toy_pieces", "pieces": ["the", "th", "e"]},
        "splits": {"type": "toy_pieces", "pieces": ["tho", "th", "e"]},
    },
    "suites": {
        "efficiency": {},
        "conformance": {
            "engines": {"same": "reference"},
            "fuzz": 0,
            "longest_run": 1,
            "code_points": False,
        },
    },
}


@pytest.fixture
def folder(tmp_path: Path, toys: None) -> Path:
    (tmp_path / "engines.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "texts.txt").write_text("a cat\nthe cat\n", encoding="utf-8")
    return tmp_path


def test_an_engine_of_the_command_line_is_wrong_with_a_witness(
    folder: Path, tokbench: Tokbench
) -> None:
    options = ["--engine", "splits", "--reference", "reference", "--quiet"]
    done = tokbench(folder, "conform", "engines.yaml", *options)
    assert done.returncode == 1, done.stderr
    table, splits = done.stdout.split("\n\n")
    assert table.splitlines()[1].split() == ["splits", "reference", "wrong"]
    assert splits.startswith("splits: wrong: on 5 texts (5 other) not the ids of reference")
    assert "differ on 'the' (U+0074 U+0068 U+0065) from token 0 on (258 259 and 257)" in splits
    assert not (folder / "runs").exists()


def test_the_engines_of_the_config_are_told_as_json_and_the_run_is_kept_where_asked(
    folder: Path, tokbench: Tokbench
) -> None:
    done = tokbench(folder, "conform", "engines.yaml", "--json", "--output", "kept", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)
    assert (found["engine"], found["verdict"], found["unexpected"]) == ("same", "exact", 0)
    assert found["documents"] == 2
    run = json.loads((folder / "kept" / "engines-1" / "run.json").read_text(encoding="utf-8"))
    assert set(run["tokenizers"]) == {"same", "reference"}
    assert {cell["tokenizer"] for cell in run["cells"]} == {"same", "reference"}
