"""`tokbench train --differences`: two vocabularies, and which matches a reference segmentation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main

CONFIG = """\
name: mine
corpora:
  text: {source: files, language: en, path: text.txt}
tokenizers:
  none: {train: {trainer: byte_bpe, corpus: text, vocab_size: 256}}
  some: {train: {trainer: byte_bpe, corpus: text, vocab_size: 258}}
  words:
    train: {trainer: wordpiece, corpus: text, vocab_size: 99, min_frequency: 1, rule: frequency}
"""

Differ = Callable[..., Result]


@pytest.fixture
def differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Differ:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "text.txt").write_text("abc abc abc abc\n", encoding="utf-8")
    (tmp_path / "parts.txt").write_text("ab c\n", encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(
        main, ["train", "c.yaml", "--differences", *arguments]
    )


def both(first: str, second: str) -> list[str]:
    return ["--tokenizer", first, "--tokenizer", second]


def test_the_contents_that_only_one_has_are_listed(differ: Differ) -> None:
    done = differ(*both("none", "some"), "--json")
    assert done.exit_code == 0, done.output
    none, some = json.loads(done.stdout)
    # the merges are ab, abc: (a, b) and (b, c) both occur four times
    assert (none["entries"], none["alone"]) == (256, [])
    assert (some["entries"], some["alone"]) == (258, [b"ab".hex(), b"abc".hex()])
    assert (none["mean_bytes"], some["mean_bytes"]) == (1, (256 + 2 + 3) / 258)


def test_cuts_are_held_against_the_users(differ: Differ) -> None:
    done = differ(*both("none", "some"), "--segmentation", "parts.txt", "--json")
    none, some = json.loads(done.stdout)
    assert (none["precision"], none["recall"]) == (0.5, 1)  # cuts a, b, c: one of two is right
    assert (some["precision"], some["recall"]) == (None, 0)  # abc is one token


def test_wordpiece_is_compared_by_content_without_its_marks(differ: Differ) -> None:
    done = differ(*both("some", "words"), "--segmentation", "parts.txt")
    assert done.exit_code == 0, done.output
    assert "only in words, in order of learning: bc\n" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "compares two tokenizers, but there are 3"),
        ([*both("none", "some"), "--segmentation", "gone.txt"], "gone.txt: cannot be read"),
        ([*both("none", "some"), "--segmentation", "text.csv"], "contains no segmented word"),
        ([*both("none", "some"), "--trace"], "--trace excludes --json"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    differ: Differ, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "text.csv").write_text("abc\n", encoding="utf-8")
    done = differ(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
