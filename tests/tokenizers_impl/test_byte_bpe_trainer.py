"""Training: equal to the textbook, deterministic by its written rules, honest about what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import LoadContext, MergeEvent
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges, textbook_merges
from tokbench.tokenizers_impl.byte_bpe.model import apply_merges, encode
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE
from tokbench.tokenizers_impl.byte_bpe.trainer import (
    ByteBPETrainer,
    build_model,
    count_pieces,
    first_merges,
)
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, pre_tokenization

WORDS = {b"lower": 5, b"lowest": 2, b"newest": 6}
LINES = [f"a short line with number {i} and the word slower or lower" for i in range(400)]
PIECES = st.dictionaries(
    st.binary(min_size=1, max_size=14).map(lambda b: bytes(97 + c % 3 for c in b)),
    st.integers(1, 5),
    min_size=1,
    max_size=12,
)


def test_the_example_of_minbpe_learns_aa_then_the_smaller_of_two_pairs() -> None:
    assert fast_merges({b"aaabdaaabac": 1}, 3) == [(97, 97, 4), (97, 98, 2), (256, 257, 2)]


def test_the_first_merge_of_lower_lowest_newest() -> None:
    events: list[MergeEvent] = []
    fast_merges(WORDS, 2, trace=events.append)
    first, second = events
    assert (first.left, first.right, first.count) == (b"w", b"e", 13)
    # (s, t) and (we, s) both occur 8 times; "s" is the smaller byte string.
    assert (second.left, second.right, second.count) == (b"s", b"t", 8)


@settings(max_examples=150, deadline=None)
@given(pieces=PIECES, min_frequency=st.integers(1, 4))
def test_the_fast_trainer_learns_what_the_textbook_does(
    pieces: dict[bytes, int], min_frequency: int
) -> None:
    expected = textbook_merges(pieces, 40, min_frequency=min_frequency)
    assert fast_merges(pieces, 40, min_frequency=min_frequency) == expected


@pytest.mark.parametrize("name", PRE_TOKENIZATIONS)
def test_both_trainers_agree_on_text(name: str) -> None:
    pieces = count_pieces(LINES[:40], pre_tokenization(name)).pieces
    assert fast_merges(pieces, 120) == textbook_merges(pieces, 120)


def test_runs_of_one_symbol_count_overlapping_pairs_and_join_from_the_left() -> None:
    merges = fast_merges({b"aaaaa": 1}, 10)
    assert merges == [(97, 97, 4), (256, 97, 1), (256, 257, 1)]
    model = build_model(merges[:1], pre_tokenization("none"))
    assert apply_merges(model, b"aaaaa") == [256, 256, 97]


def test_merges_do_not_depend_on_the_order_of_texts() -> None:
    rule = pre_tokenization("gpt2")
    forwards, backwards = (count_pieces(t, rule).pieces for t in (LINES, LINES[::-1]))
    assert list(forwards) != list(backwards)
    assert fast_merges(forwards, 200) == fast_merges(backwards, 200)


def test_merges_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges\n"
        "from tokbench.tokenizers_impl.byte_bpe.trainer import count_pieces\n"
        "from tokbench.tokenizers_impl.pretokenize import pre_tokenization\n"
        "text = 'low lower lowest newest wider newest\\n'\n"
        "merges = fast_merges(count_pieces([text] * 3, pre_tokenization('gpt2')).pieces, 8)\n"
        "import sys; sys.stdout.write(str(merges))"
    )
    root = str(Path(__file__).resolve().parents[2] / "src")
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(printed) == 1


def test_merges_nest() -> None:
    pieces = count_pieces(LINES, pre_tokenization("gpt2")).pieces
    rule = pre_tokenization("gpt2")
    long, short = (build_model(fast_merges(pieces, n), rule) for n in (100, 30))
    assert first_merges(long, 30) == short


def test_text_of_bytes_never_seen_is_encoded_all_the_same(tmp_path: Path) -> None:
    trained = ByteBPETrainer(vocab_size=300).train(["plain ASCII text only, ASCII text"], tmp_path)
    tokenizer = ByteBPE(**without_type(trained.tokenizer)).load(LoadContext(folder=tmp_path))
    text = "Zürich 東京 𝔘 naïve"
    assert tokenizer.decode_batch(tokenizer.encode_batch([text])) == [text]


def without_type(entry: object) -> dict[str, str]:
    assert isinstance(entry, dict)
    assert entry["type"] == "byte_bpe"
    return {key: value for key, value in entry.items() if key != "type"}


@pytest.mark.parametrize(
    ("vocab_size", "min_frequency", "reached", "note"),
    [
        (50, 2, 258, "the 256 bytes and 2 special tokens are always there"),
        (5000, 500, 259, "no further pair occurs 500 times"),
        (300, 2, 300, None),
    ],
)
def test_the_size_reached_is_recorded(
    vocab_size: int, min_frequency: int, reached: int, note: str | None, tmp_path: Path
) -> None:
    trainer = ByteBPETrainer(
        vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=["<pad>", "<eos>"]
    )
    trained = trainer.train(LINES, tmp_path)
    assert trained.vocab_size_requested == vocab_size
    if min_frequency == 500:
        assert 258 < trained.vocab_size_reached < 5000
    else:
        assert trained.vocab_size_reached == reached
    assert (note is None and not trained.notes) or (note is not None and note in trained.notes[0])


def test_documents_and_bytes_seen_are_recorded(tmp_path: Path) -> None:
    trained = ByteBPETrainer(vocab_size=260).train(["é a", "", "b"], tmp_path)
    assert (trained.documents, trained.bytes) == (3, 5)


def test_three_digit_rules_encode_a_number_in_three_ways(tmp_path: Path) -> None:
    ids = {}
    for name in ("gpt2", "digits_3", "digits_1"):
        text = "1234567 12345678 1000000\n" * 50
        merges = fast_merges(count_pieces([text], pre_tokenization(name)).pieces, 60)
        model = build_model(merges, pre_tokenization(name))
        ids[name] = [model.entries[i] for i in encode(model, "12345678")]
    assert len(ids["gpt2"]) <= 2
    assert ids["digits_3"] == [b"123", b"456", b"78"]
    assert len(ids["digits_1"]) == 8


def test_special_tokens_by_name_and_id(tmp_path: Path) -> None:
    listed = ByteBPETrainer(vocab_size=300, special_tokens=["<pad>", "<eos>", "<unk>"])
    assert listed.special_tokens == {"<pad>": 0, "<eos>": 1, "<unk>": 2}
    chosen = ByteBPETrainer(vocab_size=261, special_tokens={"<end>": 260})  # an id is not a count
    chosen.train(LINES, tmp_path)
    model = json.loads((tmp_path / "model.json").read_text())
    assert model["byte_ids"][:2] == [0, 1]
    assert [merge[2] for merge in model["merges"]] == [256, 257, 258, 259]


@pytest.mark.parametrize(
    "options",
    [
        {"special_tokens": ["<a>", "<a>"]},
        {"special_tokens": {"<a>": 1, "<b>": 1}},
        {"special_tokens": {"<a>": -1}},
        {"special_tokens": [""]},
        {"vocab_size": 0},
        {"min_frequency": 0},
    ],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ByteBPETrainer.model_validate({"vocab_size": 300, **options})


def test_one_string_in_place_of_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="one string, which would be read character by"):
        ByteBPETrainer(vocab_size=300).train("one string", tmp_path)


def test_a_generator_that_has_been_read_is_refused(tmp_path: Path) -> None:
    lines = (line for line in LINES)
    ByteBPETrainer(vocab_size=260).train(lines, tmp_path)
    with pytest.raises(TrainingError, match="nothing to train on: 0 documents"):
        ByteBPETrainer(vocab_size=260).train(lines, tmp_path)


def test_a_missing_document_is_refused_by_its_number(tmp_path: Path) -> None:
    texts: list[str] = ["a", None, "b"]  # type: ignore[list-item]
    with pytest.raises(TrainingError, match=r"document 1 \(counted from 0\) is NoneType"):
        ByteBPETrainer(vocab_size=300).train(texts, tmp_path)


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="lone surrogate"):
        ByteBPETrainer(vocab_size=300).train(["a\ud800"], tmp_path)


def test_trained_files_do_not_change_from_run_to_run(tmp_path: Path) -> None:
    trainer = ByteBPETrainer(vocab_size=400, special_tokens=["<eos>"])
    trainer.train(LINES, tmp_path / "a")
    trainer.train(LINES[::-1], tmp_path / "b")
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
