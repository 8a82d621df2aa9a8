"""`tokbench size`: tokens, bytes per token and premiums of files, as a run would give them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.commands.fresh.text_files import look_at

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "news.en.txt").write_text("ab\nabcd\n", encoding="utf-8")
    (tmp_path / "news.el.txt").write_text("αβ\nαβγδ\n", encoding="utf-8")
    (tmp_path / "one.py").write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def test_parallel_files_have_premiums_against_the_first(folder: Path, tokbench: Tokbench) -> None:
    command = ["size", "news.en.txt", "news.el.txt", "-t", "utf8_bytes", "--parallel", "--json"]
    done = tokbench(folder, *command, "--jobs", "0")
    assert done.returncode == 0, done.stderr
    english, greek = json.loads(done.stdout)
    assert (english["language"], english["tokens"], english["premium"]) == ("en", 6, 1.0)
    assert (greek["language"], greek["tokens"], greek["premium"]) == ("el", 12, 2.0)
    assert greek["premium_interval"] == [2.0, 2.0]
    assert not (folder / "runs").exists()


def test_other_files_have_no_premium_and_code_is_told_by_its_suffix(
    folder: Path, tokbench: Tokbench
) -> None:
    command = ["size", "one.py", "-t", "characters", "--language", "fr=news.en.txt", "--jobs", "0"]
    done = tokbench(folder, *command)
    assert done.returncode == 0, done.stderr
    header, code, named, *_ = done.stdout.splitlines()
    assert header.split() == ["file", "language", "tokenizer", "n", "tokens", "bytes/token"]
    assert code.split() == ["one.py", "python", "characters", "1", "6", "1.00"]
    assert named.split()[:5] == ["news.en.txt", "fr", "characters", "2", "6"]


def test_files_that_are_not_parallel_get_the_refusal_of_a_run(
    folder: Path, tokbench: Tokbench
) -> None:
    (folder / "news.el.txt").write_text("αβ\n", encoding="utf-8")
    command = [
        "size",
        "news.en.txt",
        "news.el.txt",
        "-t",
        "utf8_bytes",
        "--parallel",
        "--jobs",
        "0",
    ]
    done = tokbench(folder, *command)
    assert "missing_ids" not in done.stdout
    assert "with --parallel line n" in done.stdout
    assert "–" in done.stdout.splitlines()[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.txt", "-t", "gpt2"], "gone.txt: the file does not exist"),
        (["one.py", "-t", "gpt2", "--parallel"], "--parallel needs two files or more"),
        (["--language", "news.en.txt", "-t", "gpt2"], "write LANGUAGE=FILE"),
        (["-t", "gpt2"], "give a FILE"),
        (
            ["news.en.txt", "--language", "en=one.py", "-t", "gpt2", "--parallel"],
            "two files are en",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_with_what_to_do(
    folder: Path, tokbench: Tokbench, arguments: list[str], said: str
) -> None:
    done = tokbench(folder, "size", *arguments)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_table_without_a_column_of_text_names_its_columns(tmp_path: Path) -> None:
    from tokbench.bench.errors import UsageError

    (tmp_path / "x.jsonl").write_text('{"src": "a", "n": 1}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="there are: src, n"):
        look_at(tmp_path / "x.jsonl", "x.jsonl")
