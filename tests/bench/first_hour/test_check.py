"""`tokbench check`: a verdict, a cost and a place to read on for each finding, and an exit code."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

Tokbench = Callable[..., subprocess.CompletedProcess[str]]

TEXTS = ["the old house by the river", "a stone in the river", "under the old stone"] * 20


def byte_level(alphabet: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole = byte_level(pre_tokenizers.ByteLevel.alphabet())
    whole.save(str(tmp_path / "whole.json"))
    whole.enable_truncation(16)
    whole.save(str(tmp_path / "cut.json"))
    byte_level([]).save(str(tmp_path / "holes.json"))
    (tmp_path / "broken.json").write_text('{"model": {"type": "BPE"', encoding="utf-8")
    return tmp_path


def test_a_sound_tokenizer_passes_and_agrees_with_another_file_of_its_model(
    folder: Path, tokbench: Tokbench
) -> None:
    options = ["--against", "cut.json", "--no-growth", "--json"]
    done = tokbench(folder, "check", "whole.json", *options)
    report = json.loads(done.stdout)
    assert (done.returncode, report["exit_code"], report["verdicts"]["fail"]) == (0, 0, 0)
    said = {check["name"]: check["verdict"] for check in report["checks"]}
    for name in ("bytes", "scripts", "documents", "determinism", "fresh process", "against cut"):
        assert said[name] == "pass", name
    assert sorted(path.name for path in folder.iterdir()) == [
        "broken.json",
        "cut.json",
        "holes.json",
        "whole.json",
    ]


def test_a_tokenizer_that_drops_text_fails_with_the_cost_and_the_page(
    folder: Path, tokbench: Tokbench
) -> None:
    done = tokbench(folder, "check", "holes.json", "--no-growth")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("holes: ")
    assert "fail  bytes" in done.stdout
    assert "costs: text is shortened and nothing in the ids says so" in done.stdout
    assert "read: docs/metrics.md, lost_byte_share" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_file_that_cuts_texts_is_a_warning_and_one_that_cannot_be_loaded_is_code_3(
    folder: Path, tokbench: Tokbench
) -> None:
    done = tokbench(folder, "check", "cut.json", "--json", "--quiet")
    report = json.loads(done.stdout)
    [entries] = [check for check in report["checks"] if check["name"] == "entries"]
    assert (done.returncode, entries["verdict"]) == (0, "warn")
    assert "cuts every text at 16 tokens" in entries["text"]
    assert "long texts" in {check["name"] for check in report["checks"]}
    assert tokbench(folder, "check", "broken.json").returncode == 3
    assert tokbench(folder, "check", "o200k_bse").returncode == 2
