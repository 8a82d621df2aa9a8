"""What all trainers refuse before they train, and what they say of how they trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import TrainerPlugin, find

TEXTS = ["the lower newest tide came slower", "the older ones 12345"] * 5
ALL = {
    "byte_bpe": (),
    "tokenizers_bpe": (),
    "wordpiece": ("[UNK]",),
    "tokenizers_wordpiece": ("[UNK]",),
    "tokenizers_unigram": ("<unk>",),
    "unigram": ("<unk>",),
    "sentencepiece_bpe": ("<unk>",),
    "spm_bpe": ("<unk>",),
    "spm_unigram": ("<unk>",),
}
"""Trainers that take special tokens, and those that they cannot do without."""
WORDS = {
    "the": "is an ordinary word",
    "": "is empty",
    " ": "is empty",
    "<s>": "is listed twice",
}


def trainer(name: str, **options: Any) -> Any:
    plugin: Any = find(TrainerPlugin, name)
    return plugin(vocab_size=300, **options)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("word", WORDS)
def test_special_tokens_that_do_harm_are_refused_by_all_trainers_alike(
    name: str, word: str
) -> None:
    with pytest.raises(ValidationError, match=WORDS[word]):
        trainer(name, special_tokens=[*ALL[name], "<s>", word])


@pytest.mark.parametrize("name", ALL)
def test_a_trained_model_says_how(name: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"special_tokens": ALL[name]} if ALL[name] else {}
    if name == "tokenizers_unigram":
        options["special_tokens"] = ("<unk>",)
    facts = trainer(name, **options).train(TEXTS, tmp_path).facts
    assert facts["how"].count(";") >= 2


def test_two_rules_of_wordpiece_are_told_apart(tmp_path: Path) -> None:
    how = [
        trainer("wordpiece", rule=rule).train(TEXTS, tmp_path / rule).facts["how"]
        for rule in ("likelihood", "frequency")
    ]
    assert how[0].startswith("pair of highest likelihood (count(ab) ÷ (count(a) · count(b)))")
    assert how[1].startswith("pair of highest frequency (count(ab), as in BPE)")


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("name", ["sentencepiece_bpe", "unigram"])
def test_a_model_that_no_library_loads_is_refused_when_it_is_written(
    name: str, byte_fallback: bool, tmp_path: Path
) -> None:
    pytest.importorskip("google.protobuf")
    one = trainer(name, write_model=True, split_by_class=False, byte_fallback=byte_fallback)
    with pytest.raises(TrainingError, match=r"'[^']*\\x00[^']*' holds a NUL character"):
        one.train(["a\0b a\0b"] * 9, tmp_path)
    assert not (tmp_path / "tokenizer.model").exists()
