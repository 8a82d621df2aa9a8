"""The words baseline: what it knows, what it loses, and that the loss can be counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokbench.bench.errors import TokenizerError, TrainingError
from tokbench.bench.model import HasOffsets, Tokenizer
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.baselines.words import Words, WordsTokenizer, WordsTrainer

TEXTS = ["the cat saw the dog.", "the dog ran!"]


def test_the_most_frequent_words_are_kept_smallest_first_among_equals(tmp_path: Path) -> None:
    trained = WordsTrainer(vocab_size=5).train(TEXTS, tmp_path)
    tokenizer = Words(file="words.json").load(LoadContext(folder=tmp_path))
    assert tokenizer.vocabulary.token_bytes == [None, b"the", b"dog", b"!", b"."]
    assert (trained.vocab_size_reached, trained.documents, trained.bytes) == (5, 2, 32)


def test_unknown_words_are_one_token_however_long() -> None:
    tokenizer = WordsTokenizer(["the"])
    assert tokenizer.encode_batch(["the " + "x" * 99]) == [[1, 0]]
    assert tokenizer.vocabulary.unknown_ids == {0}


def test_offsets_show_how_much_is_lost() -> None:
    text = "the black cat"
    ids, spans = WordsTokenizer(["the", "cat"]).encode_batch_with_offsets([text])
    lost = [text[a:b] for token, (a, b) in zip(ids[0], spans[0], strict=True) if token == 0]
    assert lost == ["black"]


def test_whitespace_and_unknown_words_do_not_come_back() -> None:
    tokenizer = WordsTokenizer(["the", "cat"])
    assert tokenizer.decode_batch(tokenizer.encode_batch(["the\n\ncat  sat"])) == ["the cat [UNK]"]


def test_it_fulfils_the_contract() -> None:
    tokenizer = WordsTokenizer(["a"])
    assert isinstance(tokenizer, Tokenizer)
    assert isinstance(tokenizer, HasOffsets)
    assert tokenizer.encode_batch(["", " "]) == [[], []]


def test_a_small_corpus_gives_a_small_vocabulary_and_says_so(tmp_path: Path) -> None:
    trained = WordsTrainer(vocab_size=1000, min_frequency=2).train(TEXTS, tmp_path)
    assert trained.vocab_size_reached == 3
    assert "of 7 distinct words no others occur 2 times" in trained.notes[0]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one string", "one string, which would be read character by character"),
        ([], "nothing to train on: 0 documents"),
        ([" ", ""], "nothing to train on: 2 documents"),
        (["a", None], r"document 1 \(counted from 0\) is NoneType"),
    ],
)
def test_texts_that_cannot_be_used_are_refused(
    texts: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=message):
        WordsTrainer(vocab_size=10).train(texts, tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [(None, "cannot be read"), (b"x", "not JSON"), (b"{}", "is not a tokbench.words file")],
)
def test_a_file_that_cannot_be_used_says_why(
    data: bytes | None, message: str, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / "w.json").write_bytes(data)
    with pytest.raises(TokenizerError, match=message):
        Words(file="w.json").load(LoadContext(folder=tmp_path))
