"""`train --trace` shows what competes, what words become, and the rounds of Unigram."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main

CONFIG = """\
name: c
corpora: {w: {source: files, language: en, path: words.csv, text: word, weight: n}}
tokenizers:
  book: {train: {trainer: byte_bpe, corpus: w, vocab_size: 262, pre_tokenization: none,
                 ties: first_seen}}
  pieces: {train: {trainer: wordpiece, corpus: w, vocab_size: 30, min_frequency: 1}}
  raw: {train: {trainer: sentencepiece_bpe, corpus: w, vocab_size: 280}}
  uni: {train: {trainer: unigram, corpus: w, vocab_size: 269}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "words.csv").write_text("word,n\nlower,5\nlowest,2\nnewest,6\n", encoding="utf-8")
    return tmp_path


def trace(key: str, *options: str) -> Result:
    return CliRunner().invoke(main, ["train", "c.yaml", "--tokenizer", key, "--trace", *options])


def test_the_pairs_that_compete_are_those_of_the_textbook(folder: Path) -> None:
    lines = trace("book", "--pairs", "8").stdout.splitlines()
    assert lines[2].strip() == "of w e 13, e s 8, s t 8, l o 7, o w 7, n e 6, e w 6, e r 5"
    assert lines[4].strip().startswith("of we s 8, s t 8, ")


def test_words_are_shown_after_each_merge_that_changes_them(folder: Path) -> None:
    done = trace("book", "--show", "lower", "--show", "lowest", "--show", "newest")
    shown = [line.strip() for line in done.stdout.splitlines() if ": " in line]
    assert shown[:3] == ["lower: l o we r", "lowest: l o we s t", "newest: n e we s t"]
    assert shown[5:7] == ["lowest: l o west", "newest: n e west"]
    assert "lower: lo we r" in shown


def test_wordpiece_shows_its_scores(folder: Path) -> None:
    lines = trace("pieces", "--pairs", "2", "--show", "lower").stdout.splitlines()
    # r stands 5 times and e 19 times, as ##; n 6 times at the start and e 19 times: 6 / (6 × 19)
    # l o: 7 / (7 × 7) is the highest
    assert "l + ##o" in lines[1]
    assert lines[1].endswith("score 0.143")
    assert lines[2].strip().startswith("of l ##o 7 0.143, ")
    assert lines[3].strip() == "lower: lo ##w ##e ##r"


def test_joins_over_characters_show_pairs_with_their_space(folder: Path) -> None:
    lines = trace("raw", "--pairs", "1", "--show", "newest").stdout.splitlines()
    assert lines[2].strip() == "of w e 13"
    assert lines[3].strip() == "newest: ▁ n e we s t"


def test_unigram_shows_rounds_likelihoods_and_what_goes(folder: Path) -> None:
    lines = [x for x in trace("uni").stdout.splitlines() if x.startswith("round ")]
    assert len(lines) > 1
    assert "pieces, log likelihood -" in lines[0]
    assert "dropped first: " in lines[0]
    assert lines[-1].endswith("none dropped")


def test_pairs_and_words_are_for_a_trace(folder: Path) -> None:
    done = CliRunner().invoke(main, ["train", "c.yaml", "--show", "lower"])
    assert done.exit_code == 2
    assert "--pairs and --show are for --trace" in done.stderr
