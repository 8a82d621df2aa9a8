"""`tokbench train --premium`: the vocabulary from which on languages meet their targets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pages import blocks
from tokbench.bench.cli import main
from tokbench.bench.commands.targets import targets, token_curve
from tokbench.bench.errors import UsageError
from tokbench.bench.model import HasMerging
from tokbench.bench.plugins import NestedTrainer, TrainerPlugin, find

PAGE = Path(__file__).parents[2] / "docs" / "training.md"
CONFIG = """\
name: mine
corpora:
  text: {source: files, languages: {en: {file: en.txt}, de: {file: de.txt}}, parallel: true, pivot: en}
  more: {source: files, languages: {en: {file: en.txt}, fr: {file: fr.txt}}, parallel: true, pivot: en}
  flat: {source: files, languages: {en: {file: en.txt}, de: {file: de.txt}}}
tokenizers:
  mine: {train: {trainer: byte_bpe, corpus: text, vocab_size: 300, min_frequency: 1}}
  words: {train: {trainer: words, corpus: text, vocab_size: 3}}
"""
TEXTS = {"en": ["ab"] * 4, "de": ["pqrs"] * 3 + ["pqrs!"], "fr": ["zzzz"] * 4}

Search = Callable[..., Result]


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    for name, lines in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines), encoding="utf-8")
    return lambda *arguments: CliRunner().invoke(
        main, ["train", "c.yaml", "--tokenizer", "mine", *arguments]
    )


def language(done: Result, name: str) -> Any:
    found = json.loads(done.stdout)
    return next(one for one in found["languages"] if one["language"] == name)


def test_a_target_is_reached_lost_and_reached_again(search: Search) -> None:
    """Merges are ab, pq, pqr, pqrs. Tokens of en: 8, then 4; of de: 17, 17, 13, 9, 5."""
    done = search("--premium", "2.2", "--json")
    assert done.exit_code == 0, done.output
    de = language(done, "de")
    # premiums by size from 256: 2.125, 4.25, 3.25, 2.25, 1.25
    assert (de["first"], de["vocab_size"], de["premium"]) == (256, 260, 1.25)
    assert de["byte_premium"] == 17 / 8
    assert json.loads(done.stdout)["vocab_size"] == 260


def test_training_bytes_are_corrected_by_the_byte_premium(search: Search) -> None:
    """Parallel text says the same in both languages, so each has half of what is said."""
    de = language(search("--premium", "2", "--json"), "de")
    assert de["training_share"] == 17 / 25
    assert de["corrected_share"] == pytest.approx(0.5)


def test_balanced_text_counts_as_often_as_it_is_seen(search: Search) -> None:
    options = ["--set", "tokenizers.mine.train.balance=bytes"]
    de = language(search("--premium", "2", "--json", *options), "de")
    assert de["training_share"] == pytest.approx(0.5)
    assert de["corrected_share"] == pytest.approx(8 / 25)


def test_another_corpus_and_a_target_of_one_language(search: Search) -> None:
    done = search("--premium", "9", "--premium", "fr=3", "--on", "more", "--json")
    assert done.exit_code == 1
    fr = language(done, "fr")
    assert (fr["target"], fr["vocab_size"], fr["first"], fr["training_share"]) == (
        3,
        None,
        256,
        None,
    )
    assert json.loads(done.stdout)["vocab_size"] is None


def test_the_answer_in_words_and_the_vocabulary_on_disk(search: Search, tmp_path: Path) -> None:
    done = search("--premium", "2.2", "--output", "out")
    assert "mine: all targets hold from 260 entries on" in done.stdout
    assert "This is the training text" in done.stdout
    assert (tmp_path / "out" / "mine-260" / "trained.json").is_file()
    missed = search("--premium", "0.5")
    assert missed.exit_code == 1
    assert "1 of 1 targets are missed up to 260 entries" in missed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--premium", "x"], "--premium x: write a ratio such as 1.5"),
        (["--premium", "de=0"], "write a ratio such as 1.5"),
        (["--premium", "dee=2"], "did you mean 'de'?"),
        (["--premium", "en=2"], "beside its pivot, en"),
        (["--premium", "2", "--on", "flat"], "requires a parallel corpus with its pivot"),
        (["--premium", "2", "--on", "flats"], "did you mean 'flat'?"),
        (["--premium", "2", "--match", "mine"], "only one of --match, --premium"),
        (["--premium", "2", "--tokenizer", "words"], "searches one `train:` block"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    search: Search, arguments: list[str], message: str
) -> None:
    done = search(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_trainer_without_nesting_is_refused(search: Search) -> None:
    command = ["train", "c.yaml", "--tokenizer", "words", "--premium", "2"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "words is trained by words, whose smaller vocabularies are not" in done.stderr


def test_the_curve_is_that_of_every_size_encoded_anew(tmp_path: Path) -> None:
    """One encoding and the lineages of its tokens, against an encoding for each size."""
    texts = ["abab abab aaaaaaa abcabcabc", "banana bandana", "aaa aaaa ααββ ααβ", "ß ßß"] * 2
    made = find(TrainerPlugin, "byte_bpe").model_validate(
        {"vocab_size": 330, "min_frequency": 1, "special_tokens": ["<s>"]}
    )
    assert isinstance(made, NestedTrainer)
    limit, least = made.train(texts, tmp_path).vocab_size_reached, made.least()
    assert limit > least + 20
    for text in (*texts, "zaban nabba ααα aaaaaaaaaab"):
        whole = made.beginning(tmp_path, limit)
        used = np.bincount(np.array(whole.encode_batch([text])[0], np.int64))
        assert isinstance(whole, HasMerging)
        rules = whole.merging()
        assert rules is not None
        expected = [
            len(made.beginning(tmp_path, size).encode_batch([text])[0])
            for size in range(least, limit + 1)
        ]
        assert token_curve(rules, used, limit - least).tolist() == expected


def test_targets_are_ratios() -> None:
    assert targets(["1.5", "2", "x=1"]) == (2.0, {"x": 1.0})
    for wrong in ("", "inf", "-1", "x="):
        with pytest.raises(UsageError, match="write a ratio"):
            targets([wrong])


@pytest.mark.skipif(not PAGE.exists(), reason="the pages belong to a checkout")
def test_the_answer_in_the_docs_is_that_of_the_ready_config() -> None:
    wanted = ["--premium", "tam_Taml=3", "--premium", "tha_Thai=2", "--premium", "rus_Cyrl=1.5"]
    done = CliRunner().invoke(main, ["train", "vocabulary_sweep", *wanted, "--quiet"])
    assert done.exit_code == 0, done.output
    assert done.stdout in blocks("docs/training.md", "text")
