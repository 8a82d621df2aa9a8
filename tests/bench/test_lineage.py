"""`tokbench lineage` shows how an entry is made and which entries it only passed through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    trainer = ByteBPETrainer(vocab_size=259, pre_tokenization="gpt2", ties="first_seen")
    trainer.train(["abc abc"], tmp_path)  # ab, abc; then the space goes before it
    (tmp_path / "seen.txt").write_text("abc ab abc", encoding="utf-8")
    (tmp_path / "never.txt").write_text("abc abc", encoding="utf-8")
    return tmp_path


def tokbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["lineage", *arguments])


def told(*arguments: str) -> Any:
    done = tokbench(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)[0]


@pytest.mark.parametrize("file", ["model.json", "tokenizer.json"])
def test_each_merge_is_shown_from_the_bytes_on(folder: Path, file: str) -> None:
    done = tokbench("abc", file, "--file", "never.txt")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[1:4] == [
        "  from a b c",
        "  a + b (merge 0) → ab c  256: 0 times",
        "  ab + c (merge 1) → abc  257: 2 times",
    ]
    assert lines[4].endswith("in never.txt (3 tokens): ab (256)")


def test_an_entry_that_text_ends_in_is_no_mere_step(folder: Path) -> None:
    assert told("abc", "model.json", "--file", "seen.txt")["passed"] == []
    assert told("abc", "model.json", "--file", "never.txt")["passed"] == [256]


def test_an_entry_may_be_named_by_its_id(folder: Path) -> None:
    assert told("#257", "model.json")["shown"] == "abc"


@pytest.mark.parametrize(
    ("token", "message"),
    [("xyz", "'xyz' is not an entry of the vocabulary"), ("#999", "whose highest is 257")],
)
def test_what_is_no_entry_is_said(folder: Path, token: str, message: str) -> None:
    done = tokbench(token, "model.json")
    assert done.exit_code == 3
    assert message in done.stderr
