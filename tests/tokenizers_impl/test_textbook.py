"""The examples of textbooks come out to the letter through a config, and by the loop written here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.plugins import LoadContext, MergeEvent
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges, textbook_merges
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer, count_pieces
from tokbench.tokenizers_impl.joins import learned_joins, recounted_joins
from tokbench.tokenizers_impl.pretokenize import pre_tokenization
from tokbench.tokenizers_impl.sentencepiece.bpe_trainer import SentencePieceBPETrainer
from tokbench.tokenizers_impl.wordpiece.trainer import CONTINUED

TEXT = (
    "The cat sat on the mat. The cat ate the rat. The dog sat on the log. The dog ate the frog. "
    "Natural language processing is the study of how computers understand and generate human "
    "language. Tokenization is the first step in any NLP pipeline."
)
FORTY = (
    "e␣ at he␣ the␣ an .␣ The␣ at␣ n␣ og st on␣ .␣The␣ ate␣ s␣ er cat␣ sat␣ sat␣on␣ sat␣on␣the␣ "
    "at.␣The␣ ate␣the␣ dog dog␣ ␣l ␣lan ␣lang ␣langu ␣langua ␣languag in ␣i s␣the␣ y␣ and and␣ en "
    "The␣cat␣ The␣cat␣sat␣on␣the␣ The␣cat␣sat␣on␣the␣m"
)
ENCODED = {
    "The cat sat on the mat.": "The␣cat␣sat␣on␣the␣m at .",
    "Natural language processing": "N at u r a l ␣languag e␣ p r o c e s s in g",
    "tokenization pipeline": "t o k en i z at i on␣ p i p e l in e",
    "unhappiness": "u n h a p p in e s s",
}


def loop(pieces: Sequence[tuple[Sequence[str], int]], n_merges: int) -> list[tuple[str, str, int]]:
    """The loop of the textbooks: count left to right, take the first of the most frequent, join."""
    words = [(list(symbols), weight) for symbols, weight in pieces]
    learned = []
    while len(learned) < n_merges:
        counts: dict[tuple[str, str], int] = {}
        for symbols, weight in words:
            for pair in pairwise(symbols):
                counts[pair] = counts.get(pair, 0) + weight
        if not counts:
            break
        best = max(counts, key=lambda pair: counts[pair])
        learned.append((*best, counts[best]))
        words = [(joined(symbols, best), weight) for symbols, weight in words]
    return learned


def joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(symbols):
        both = tuple(symbols[at : at + 2]) == pair
        found.append("".join(pair) if both else symbols[at])
        at += 2 if both else 1
    return found


def events(pieces: Mapping[bytes, int], n: int) -> list[tuple[bytes, bytes, int]]:
    heard: list[MergeEvent] = []
    fast_merges(pieces, n, ties="first_seen", trace=heard.append)
    return [(event.left, event.right, event.count) for event in heard]


def test_weighted_words_merge_as_printed() -> None:
    assert events({b"lower": 5, b"lowest": 2, b"newest": 6}, 6) == [
        (b"w", b"e", 13),
        (b"we", b"s", 8),
        (b"wes", b"t", 8),
        (b"l", b"o", 7),
        (b"n", b"e", 6),
        (b"ne", b"west", 6),
    ]


def test_forty_merges_over_five_sentences_and_what_they_encode(tmp_path: Path) -> None:
    trainer = ByteBPETrainer(
        vocab_size=296, pre_tokenization="none", ties="first_seen", min_frequency=1
    )
    trained = trainer.train([TEXT], tmp_path)
    assert trained.facts["tie_rule"] == "first pair in the order of the text"
    tokenizer = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    entries = tokenizer.vocabulary.token_bytes
    shown = [(entry or b"").decode("utf-8", "replace").replace(" ", "␣") for entry in entries]
    assert " ".join(shown[256:]) == FORTY
    for text, pieces in ENCODED.items():
        (ids,) = tokenizer.encode_batch([text])
        assert " ".join(shown[i] for i in ids) == pieces


def test_ties_by_smallest_stay_the_default_and_give_other_counts(tmp_path: Path) -> None:
    ByteBPETrainer(vocab_size=296, pre_tokenization="none").train([TEXT], tmp_path)
    tokenizer = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    assert [len(ids) for ids in tokenizer.encode_batch(list(ENCODED))] == [7, 17, 17, 10]


@settings(max_examples=150, deadline=None)
@given(text=st.text(alphabet="abc d", min_size=1, max_size=60), n=st.integers(1, 30))
def test_ours_is_the_loop_on_any_text_without_pre_tokenization(text: str, n: int) -> None:
    expected = [
        (left.encode("latin-1"), right.encode("latin-1"), count)
        for left, right, count in ids_apart([(text.encode(), 1)], n)
    ]
    assert events({text.encode(): 1}, n) == expected


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=4), n=st.integers(1, 30))
def test_ours_is_the_loop_on_any_text_with_pre_tokenization(texts: list[str], n: int) -> None:
    rule = pre_tokenization("gpt2")
    if not any(texts):
        return
    pieces = [piece.encode() for text in texts for piece in rule.split(text)]
    expected = [
        (left.encode("latin-1"), right.encode("latin-1"), count)
        for left, right, count in ids_apart([(piece, 1) for piece in pieces], n)
    ]
    counted = count_pieces(texts, rule).pieces
    assert events(counted, n) == expected
    slow = textbook_merges(counted, n, ties="first_seen")
    assert slow == fast_merges(counted, n, ties="first_seen")


def ids_apart(pieces: Sequence[tuple[bytes, int]], n: int) -> list[tuple[str, str, int]]:
    """The same loop where two ways to one string are two tokens, as ids make them."""
    words = [(list(piece), weight) for piece, weight in pieces]
    names = [chr(byte) for byte in range(256)]
    learned = []
    while len(learned) < n:
        counts: dict[tuple[int, int], int] = {}
        for ids, weight in words:
            for pair in pairwise(ids):
                counts[pair] = counts.get(pair, 0) + weight
        if not counts:
            break
        best = max(counts, key=lambda pair: counts[pair])
        learned.append((names[best[0]], names[best[1]], counts[best]))
        for ids, _ in words:
            at = 0
            while at < len(ids) - 1:
                if (ids[at], ids[at + 1]) == best:
                    ids[at : at + 2] = [len(names)]
                at += 1
        names.append(names[best[0]] + names[best[1]])
    return learned


@settings(max_examples=100, deadline=None)
@given(
    words=st.dictionaries(
        st.text(alphabet="abc", min_size=1, max_size=9), st.integers(1, 4), min_size=1, max_size=8
    )
)
def test_over_characters_ours_is_the_loop_too(words: dict[str, int]) -> None:
    ours = [
        (join.left, join.right, join.count)
        for join in learned_joins(words, rule="frequency", min_frequency=1, ties="first_seen")
    ]
    assert ours == loop(list(words.items()), len(ours) + 1)


@settings(max_examples=60, deadline=None)
@given(
    words=st.dictionaries(
        st.text(alphabet="abc", min_size=1, max_size=9), st.integers(1, 4), min_size=1, max_size=8
    )
)
def test_the_likelihood_rule_takes_the_first_of_equal_scores(words: dict[str, int]) -> None:
    fast, slow = (
        list(
            learn(words, rule="likelihood", min_frequency=1, spelling=CONTINUED, ties="first_seen")
        )
        for learn in (learned_joins, recounted_joins)
    )
    assert fast == slow


@pytest.mark.parametrize(("ties", "first"), [("smallest", "aY"), ("first_seen", "bZ")])
def test_the_trainer_over_characters_keeps_the_order_of_the_text(
    ties: str, first: str, tmp_path: Path
) -> None:
    trainer = SentencePieceBPETrainer.model_validate(
        {"vocab_size": 267, "ties": ties, "add_dummy_prefix": False}
    )
    heard: list[MergeEvent] = []
    trainer.train(["bZ aY bZ aY"], tmp_path, trace=heard.append)
    assert heard[0].token.decode() == first


@pytest.mark.real
def test_the_twelve_first_merges_of_a_book_and_its_counts(data: Path) -> None:
    book = (data / "anchors" / "textbook" / "alice_pg11.txt").read_bytes()
    merged = [(left + right, count) for left, right, count in events({book: 1}, 12)]
    assert merged == [
        (b"e ", 4433), (b" t", 3302), (b"\xe2\x80", 3247), (b" a", 2335), (b" th", 2253),
        (b"in", 2011), (b"t ", 1904), (b"er", 1813), (b"d ", 1703), (b"ou", 1554), (b" s", 1467),
        (b" the ", 1270),
    ]  # fmt: skip
