"""SuperBPE and vocabularies that are extended: equal to the textbook, and to `tokenizers`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.bpe_kin.trainers import (
    BARRIERS,
    ExtendedBPETrainer,
    SuperBPETrainer,
    words_within,
)
from tokbench.tokenizers_impl.byte_bpe.formats import load_model
from tokbench.tokenizers_impl.byte_bpe.merges import Learned, Ties, textbook_merges
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer, count_pieces
from tokbench.tokenizers_impl.pretokenize import from_pattern, pre_tokenization

LINES = [
    f"one of the {w} of the sea in {n}\n by the way" for n in range(9) for w in ("end", "ends")
]
OTHER = ["Ende der See", "am Ende der Seen", "Ende gut"] * 5


def learned_by_the_textbook(
    texts: list[str], transition: int, n: int, ties: Ties, most_words: int
) -> list[bytes]:
    counted = count_pieces(texts, from_pattern(BARRIERS))
    words = words_within(counted, pre_tokenization("gpt2"))
    first = textbook_merges(words, transition, min_frequency=2, ties=ties)
    second = textbook_merges(
        counted.pieces, n - len(first), min_frequency=2, ties=ties, given=first,
        most_words=most_words,
    )  # fmt: skip
    return contents([*first, *second])


def contents(merges: list[Learned]) -> list[bytes]:
    known = [bytes([byte]) for byte in range(256)]
    for left, right, _ in merges:
        known.append(known[left] + known[right])
    return known


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="ab 1\n", min_size=1, max_size=40), min_size=1, max_size=4),
    transition=st.integers(0, 8),
    ties=st.sampled_from(["smallest", "first_seen"]),
    most_words=st.integers(1, 3),
)
def test_superbpe_is_the_textbook_in_two_phases(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    transition: int,
    ties: Ties,
    most_words: int,
) -> None:
    folder = tmp_path_factory.mktemp("super")
    trainer = SuperBPETrainer(
        vocab_size=256 + 12, transition=256 + transition, ties=ties, most_words=most_words
    )
    trainer.train(texts, folder)
    entries = load_model(folder / "model.json").token_bytes
    assert entries == learned_by_the_textbook(texts, transition, 12, ties, most_words)


def test_later_entries_hold_several_words_and_barriers_hold(tmp_path: Path) -> None:
    trained = SuperBPETrainer(vocab_size=330, transition=275).train(LINES, tmp_path)
    entries = load_model(tmp_path / "model.json").token_bytes
    assert not any(b" " in (entry or b"")[1:] for entry in entries[:275])
    several = [entry for entry in entries[275:] if entry and len(entry.split()) > 1]
    assert b" of the" in several
    assert trained.facts["over_spaces"] == len(several)
    assert all(len(entry.split()) <= 4 and b"\n" not in entry for entry in several)
    assert not any(any(digit in entry for digit in b"0123456789") for entry in several)


def test_superbpe_gives_the_same_ids_in_tokenizers(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    SuperBPETrainer(vocab_size=330, transition=290, special_tokens=("<s>",)).train(LINES, tmp_path)
    ours = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*LINES, "of the 12345 seas\r\n\nnaïve 今天", "", "  of  the"]:
        assert list(ours.encode_batch([text])[0]) == library.encode(text).ids, text


def test_a_transition_above_the_size_is_refused() -> None:
    with pytest.raises(ValidationError, match="transition 400 is above vocab_size 300"):
        SuperBPETrainer(vocab_size=300, transition=400)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    trainer = ByteBPETrainer(vocab_size=290, special_tokens=["<s>"])
    trainer.train(LINES, tmp_path / "base")
    return tmp_path / "base"


@pytest.mark.parametrize("file", ["model.json", "tokenizer.json", "ranks.tiktoken"])
def test_an_extended_vocabulary_keeps_every_old_id(base: Path, tmp_path: Path, file: str) -> None:
    rule = "gpt2" if file == "ranks.tiktoken" else None
    trainer = ExtendedBPETrainer(file=str(base / file), pre_tokenization=rule, additional_entries=6)
    trained = trainer.train(OTHER, tmp_path / "more")
    old = load_model(base / file, rule=None if rule is None else pre_tokenization(rule))
    new = load_model(tmp_path / "more" / "model.json")
    assert new.token_bytes[: old.n_ids] == old.token_bytes
    assert new.special_tokens == old.special_tokens
    assert b"Ende" in new.token_bytes[old.n_ids :]
    assert (trained.facts["added_entries"], new.n_ids) == (6, old.n_ids + 6)


def test_it_continues_as_the_textbook_would(base: Path, tmp_path: Path) -> None:
    ExtendedBPETrainer(file=str(base / "model.json"), additional_entries=6).train(OTHER, tmp_path)
    old = load_model(base / "model.json")
    number = {id: n for n, id in enumerate((*old.byte_ids, *(m[2] for m in old.merges)))}
    given = [(number[left], number[right], 0) for left, right, _ in old.merges]
    pieces = count_pieces(OTHER, pre_tokenization("gpt2")).pieces
    merges = textbook_merges(pieces, 6, min_frequency=2, given=given)
    assert (
        load_model(tmp_path / "model.json").token_bytes[old.n_ids :]
        == contents([*given, *merges])[256 + len(given) :]
    )


def test_an_extended_vocabulary_gives_the_same_ids_in_tokenizers(
    base: Path, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ExtendedBPETrainer(file=str(base / "model.json"), additional_entries=6).train(OTHER, tmp_path)
    ours = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*LINES, *OTHER, "naïve 今天"]:
        assert list(ours.encode_batch([text])[0]) == library.encode(text).ids
