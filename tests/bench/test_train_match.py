"""`tokbench train --match`: the smallest vocabulary close to a reference, or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pages import blocks
from tokbench.bench.cli import main
from tokbench.bench.commands.match import share
from tokbench.bench.errors import UsageError

PAGE = Path(__file__).parents[2] / "docs" / "training.md"

# Merges are ab, abc, abcd and so on, since ties go to the smallest pair: each saves one token a line.
LINES = "abcdefgh\n" * 4
CONFIG = """\
name: mine
corpora:
  text: {source: files, language: en, path: text.txt}
  other: {source: files, language: en, path: other.txt}
tokenizers:
  bytes: {type: utf8_bytes}
  whole: {train: {trainer: byte_bpe, corpus: text, vocab_size: 300}}
  mine: {train: {trainer: byte_bpe, corpus: text, vocab_size: [257, 263]}}
  words: {train: {trainer: words, corpus: text, vocab_size: 3}}
"""

Match = Callable[..., Result]


@pytest.fixture
def match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Match:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "text.txt").write_text(LINES, encoding="utf-8")
    (tmp_path / "other.txt").write_text("xyxyxyxy\n", encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(main, ["train", "c.yaml", *arguments])


def found(done: Result) -> Any:
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("within", "size", "ratio"),
    # whole has one token a line of 8 bytes; after n merges a line has 8 - n tokens
    [("0%", 263, 8.0), ("50%", 262, 4.0), ("0.6", 262, 4.0), ("70%", 261, 8 / 3)],
)
def test_the_smallest_vocabulary_that_is_near_enough(
    match: Match, within: str, size: int, ratio: float
) -> None:
    done = match("--tokenizer", "mine", "--match", "whole", "--within", within, "--json")
    assert done.exit_code == 0, done.output
    got = found(done)
    assert (got["vocab_size"], got["ratio"], got["reference_ratio"]) == (size, ratio, 8)
    assert got["below"] < got["wanted"] <= got["ratio"]


def test_bytes_are_matched_without_a_merge(match: Match) -> None:
    got = found(match("--tokenizer", "mine", "--match", "bytes", "--within", "0", "--json"))
    assert (got["vocab_size"], got["below"]) == (256, None)


def test_where_none_is_near_enough_it_says_how_near_the_largest_comes(match: Match) -> None:
    done = match("--tokenizer", "mine-257", "--match", "whole")
    assert done.exit_code == 1
    assert "no vocabulary up to 257 is close enough" in done.stdout
    assert "it reaches 1.1429, 85.7% below; raise its vocab_size" in done.stdout


def test_where_training_ended_early_more_text_is_asked_for(match: Match) -> None:
    done = match(
        "--tokenizer",
        "mine",
        "--match",
        "whole",
        "--on",
        "text",
        "--set",
        "tokenizers.mine.train.corpus=other",
    )
    assert done.exit_code == 1
    assert "train on more text" in done.stdout


def test_the_text_can_be_another_than_is_trained_on(match: Match) -> None:
    done = match("--tokenizer", "mine", "--match", "whole", "--on", "other", "--json")
    got = found(done)
    assert (got["vocab_size"], got["ratio"], got["trained_on_it"]) == (256, 1, False)


def test_the_vocabulary_that_was_found_is_written(match: Match, tmp_path: Path) -> None:
    done = match("--tokenizer", "mine", "--match", "whole", "--within", "50%", "--output", "out")
    assert "262 is the smallest vocabulary that is close enough" in done.stdout
    facts = json.loads((tmp_path / "out/mine-262/trained.json").read_text(encoding="utf-8"))
    assert facts["vocab_size_reached"] == 262


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokenizer", "words", "--match", "whole"], "words is trained by words, whose smaller"),
        (["--match", "whole"], "searches one `train:` block"),
        (["--tokenizer", "mine", "--match", "hole"], "did you mean 'whole'?"),
        (["--tokenizer", "mine", "--match", "whole", "--on", "txt"], "did you mean 'text'?"),
        (["--tokenizer", "mine", "--match", "whole", "--within", "x"], "write 10% or 0.1"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    match: Match, arguments: list[str], message: str
) -> None:
    done = match(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_share_is_below_one() -> None:
    with pytest.raises(UsageError, match="below 100%"):
        share("100%")


@pytest.mark.skipif(not PAGE.exists(), reason="the pages belong to a checkout")
@pytest.mark.parametrize("more", [[], ["--on", "programs"]])
def test_the_answers_in_the_docs_are_those_of_the_ready_config(more: list[str]) -> None:
    arguments = ["train", "vocabulary_sweep", "--match", "cl100k_base", "--within", "10%"]
    done = CliRunner().invoke(main, [*arguments, *more, "--quiet"])
    assert done.exit_code == len(more) // 2, done.output
    assert done.stdout in blocks("docs/training.md", "text")
