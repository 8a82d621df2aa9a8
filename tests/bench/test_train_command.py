"""`tokbench train`: what it tells, what it writes, and what it leaves when it is interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main
from tokbench.tokenizers_impl.byte_bpe import trainer

CONFIG = """\
name: mine
corpora:
  text: {source: files, language: en, path: text.txt}
tokenizers:
  bytes: {type: utf8_bytes}
  mine: {train: {trainer: byte_bpe, corpus: text, vocab_size: 258, pre_tokenization: none}}
  words: {train: {trainer: words, corpus: text, vocab_size: 3}}
  pieces:
    train: {trainer: wordpiece, corpus: text, vocab_size: 20, min_frequency: 1,
            special_tokens: ["[UNK]"]}
  raw:
    train: {trainer: sentencepiece_bpe, corpus: text, vocab_size: 300}
  sweep: {train: {trainer: byte_bpe, corpus: text, vocab_size: [256, 257, 300]}}
"""

Tokbench = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "text.txt").write_text("aaabdaaabac\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def train(folder: Path) -> Tokbench:
    return lambda *arguments: CliRunner().invoke(main, ["train", "c.yaml", *arguments])


def told(done: Result) -> Any:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_sizes_text_hash_and_determinism_are_told(train: Tokbench) -> None:
    done = train("--tokenizer", "mine")
    assert done.exit_code == 0, done.output
    assert "mine: byte_bpe on text, trained now" in done.stdout
    assert "258 requested, 258 reached" in done.stdout
    assert "1 documents, 11 bytes, 0 lines skipped" in done.stdout
    assert "deterministic  yes" in done.stdout
    assert len(told(train("--tokenizer", "mine", "--json"))[0]["files"]["model.json"]) == 64


def test_a_model_trained_before_is_taken_from_the_cache(train: Tokbench) -> None:
    first, second = (told(train("--tokenizer", "mine", "--json")) for _ in range(2))
    assert (first[0].pop("from_cache"), second[0].pop("from_cache")) == (False, True)
    assert first == second


def test_the_files_are_written_below_the_key(train: Tokbench, folder: Path) -> None:
    assert train("--tokenizer", "mine", "--tokenizer", "words", "--output", "out").exit_code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["mine", "words"]
    files = {path.name for path in (folder / "out/mine").iterdir()}
    assert files >= {"model.json", "tokenizer.json", "ranks.tiktoken", "trained.json"}


def test_without_a_key_every_train_block_is_trained(train: Tokbench) -> None:
    keys = [one["key"] for one in told(train("--json"))]
    assert keys == ["mine", "words", "pieces", "raw", "sweep-256", "sweep-257", "sweep-300"]


def test_the_key_of_a_sweep_stands_for_all_its_sizes(train: Tokbench) -> None:
    sizes = {
        x["key"]: x["vocab_size_reached"] for x in told(train("--tokenizer", "sweep", "--json"))
    }
    assert sizes == {"sweep-256": 256, "sweep-257": 257, "sweep-300": 259}


def test_each_merge_is_printed_with_rank_count_and_bytes(train: Tokbench) -> None:
    lines = train("--tokenizer", "mine", "--trace").stdout.splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["0", "4", "a", "+", "a", "61", "61"],
        ["1", "2", "a", "+", "b", "61", "62"],
    ]


@pytest.mark.parametrize(("key", "first"), [("pieces", "0 1 ##b + ##d"), ("raw", "0 4 a + a")])
def test_trainers_over_characters_tell_their_joins_too(
    train: Tokbench, key: str, first: str
) -> None:
    lines = train("--tokenizer", key, "--trace").stdout.splitlines()
    assert " ".join(lines[1].split()).startswith(first)


def test_a_model_from_the_cache_is_trained_again_to_be_traced(train: Tokbench) -> None:
    assert train("--tokenizer", "mine").exit_code == 0
    assert "trained now" in train("--tokenizer", "mine", "--trace").stdout


def test_a_trainer_without_merges_says_which_have_some(train: Tokbench) -> None:
    done = train("--tokenizer", "words", "--trace")
    assert done.exit_code == 2
    assert (
        "words is trained by words, which cannot report merges; these trainers can: byte_bpe"
    ) in (done.stderr)


@pytest.mark.parametrize(
    ("key", "message"), [("bytes", "has no `train:` block"), ("mne", "did you mean 'mine'?")]
)
def test_a_key_that_cannot_be_trained_is_refused(train: Tokbench, key: str, message: str) -> None:
    done = train("--tokenizer", key)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_folder_that_holds_something_else_is_left_alone(train: Tokbench, folder: Path) -> None:
    (folder / "out/mine").mkdir(parents=True)
    (folder / "out/mine/thesis.txt").write_text("mine", encoding="utf-8")
    done = train("--tokenizer", "mine", "--output", "out")
    assert done.exit_code == 2
    assert "is not a trained model" in done.stderr
    assert [path.name for path in (folder / "out/mine").iterdir()] == ["thesis.txt"]


def test_an_interrupted_training_says_so_and_leaves_no_half_model(
    train: Tokbench, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer, "_write_all", interrupted)
    done = train("--tokenizer", "words", "--tokenizer", "mine", "--output", "out")
    assert done.exit_code == 130
    assert "interrupted while mine was being trained; no file of it was written" in done.stderr
    assert "finished: words" in done.stderr
    assert "words: words on text, trained now" in done.stdout
    assert [path.name for path in (folder / "out").iterdir()] == ["words"]
    assert len(list((folder / "cache/models").iterdir())) == 1


def test_corpus_and_tokenizer_can_be_given_as_options(folder: Path) -> None:
    corpus = f"corpora.notes={{source: files, language: de, path: {folder / 'text.txt'}}}"
    block = "tokenizers.own={train: {trainer: byte_bpe, corpus: notes, vocab_size: 258}}"
    arguments = ["train", "quick", "--tokenizer", "own", "--set", corpus, "--set", block, "--json"]
    [own] = told(CliRunner().invoke(main, arguments))
    assert (own["key"], own["vocab_size_reached"], own["documents"]) == ("own", 258, 1)


def test_lines_that_a_trainer_left_out_are_told(train: Tokbench, folder: Path) -> None:
    (folder / "text.txt").write_text("abab\n" * 20 + "a" * 99 + "\n", encoding="utf-8")
    block = "tokenizers.spm={train: {trainer: spm_bpe, corpus: text, vocab_size: 10, max_sentence_length: 50}}"
    done = train("--tokenizer", "spm", "--set", block)
    assert done.exit_code == 0, done.output
    assert "21 documents, 179 bytes, 1 lines skipped" in done.stdout
