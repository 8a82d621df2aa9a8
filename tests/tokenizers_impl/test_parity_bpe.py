"""Parity-aware BPE: equal to its definition, for whose turn it is and what is joined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.bpe_kin.parity import (
    LanguageText,
    Turns,
    parity_merges,
    textbook_parity,
)
from tokbench.tokenizers_impl.bpe_kin.parity_trainer import ParityBPETrainer
from tokbench.tokenizers_impl.byte_bpe.learning import Ties
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE

pieces = st.dictionaries(st.text("abc", min_size=1, max_size=9).map(str.encode), st.integers(1, 4))


@dataclass
class ByLanguage:
    """Texts by language, as the slices of a corpus give them."""

    texts: dict[str, list[str]]

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        return ((text, weight) for text, weight, _ in self.labelled())

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        for language, texts in self.texts.items():
            for text in texts:
                yield text, 1, language


def texts_of(learned: list[Pieces], measured: list[Pieces] | None = None) -> list[LanguageText]:
    return [
        LanguageText(pieces=a, measured=b, units=1)
        for a, b in zip(learned, measured or learned, strict=True)
    ]


@settings(max_examples=150, deadline=None)
@given(
    learned=st.lists(pieces, min_size=2, max_size=3),
    other=st.none() | st.lists(pieces, min_size=3, max_size=3),
    n_global=st.integers(0, 3),
    window=st.integers(0, 5),
    min_frequency=st.integers(1, 2),
    ties=st.sampled_from(["smallest", "first_seen"]),
)
def test_the_fast_trainer_learns_what_the_definition_says(
    learned: list[Pieces],
    other: list[Pieces] | None,
    n_global: int,
    window: int,
    min_frequency: int,
    ties: Ties,
) -> None:
    texts = texts_of(learned, None if other is None else other[: len(learned)])
    units = [1.0] * len(texts)
    defined = textbook_parity(
        texts, 10, Turns(units=units, window=window, share=1.0),
        global_merges=n_global, min_frequency=min_frequency, ties=ties,
    )  # fmt: skip
    fast, _ = parity_merges(
        {str(i): text for i, text in enumerate(texts)}, 10,
        Turns(units=units, window=window, share=1.0),
        global_merges=n_global, min_frequency=min_frequency, ties=ties,
    )  # fmt: skip
    assert fast == defined


def test_merges_go_to_the_language_with_more_tokens_where_plain_bpe_serves_the_frequent() -> None:
    rich, poor = {b"ab": 100}, {b"cdcdcd": 40}  # 200 tokens against 240
    [first, *_], chosen = parity_merges(
        {"rich": texts_of([rich])[0], "poor": texts_of([poor])[0]}, 1, Turns(units=[1, 1])
    )
    assert first == (ord("c"), ord("d"), 120)
    assert chosen == {"rich": 0, "poor": 1}
    merges, chosen = parity_merges(
        {"rich": texts_of([rich])[0], "poor": texts_of([poor])[0]}, 2, Turns(units=[1, 1])
    )
    assert merges[1] == (ord("a"), ord("b"), 100)  # 200 against 120 now
    assert chosen == {"rich": 1, "poor": 1}


def test_tokens_may_be_compared_per_byte() -> None:
    texts = {
        "long": LanguageText(pieces={b"abab": 5}, measured={b"abab": 5}, units=20),
        "short": LanguageText(pieces={b"cd": 3}, measured={b"cd": 3}, units=5),
    }
    merges, _ = parity_merges(texts, 1, Turns(units=[20, 5]))
    assert merges == [(ord("c"), ord("d"), 3)]  # 6 ÷ 5 tokens against 20 ÷ 20


def test_with_global_merges_alone_it_is_plain_bpe() -> None:
    learned: list[Pieces] = [{b"lower": 5, b"lowest": 2}, {b"newest": 6}]
    texts = {str(i): text for i, text in enumerate(texts_of(learned))}
    merges, _ = parity_merges(texts, 6, Turns(units=[1, 1]), global_merges=6)
    assert merges == fast_merges({b"lower": 5, b"lowest": 2, b"newest": 6}, 6)


def test_a_window_keeps_one_language_from_taking_every_step() -> None:
    turns = Turns(units=[1, 1, 1], window=6, share=1.0)
    taken = [turns.next([90, 5, 4], [0, 1, 2]) for _ in range(12)]
    assert {name: taken.count(name) for name in (0, 1, 2)} == {0: 6, 1: 5, 2: 1}


SENTENCES = {
    "en": ["the cat sat on the mat", "the dog sat on the log"] * 3,
    "el": ["η γάτα κάθισε στο χαλί", "ο σκύλος κάθισε στο κούτσουρο"] * 3,
}


def test_it_is_saved_as_plain_bpe_with_the_ids_of_tokenizers(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    trainer = ParityBPETrainer(vocab_size=300, special_tokens=("<s>",))
    trained = trainer.train(ByLanguage(SENTENCES), tmp_path)
    assert trained.facts["merges_by_language"]["el"] > trained.facts["merges_by_language"]["en"]
    assert (trained.vocab_size_reached, trained.documents) == (300, 12)
    ours = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in [*SENTENCES["en"], *SENTENCES["el"], "naïve 今天\r\n  12345"]:
        assert list(ours.encode_batch([text])[0]) == library.encode(text).ids


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        (["a", "b"], {}, "no languages"),
        (ByLanguage({"en": ["a"]}), {}, "two languages or more; the text has en"),
        (ByLanguage({"a": ["a"], "b": ["b", "c"]}), {}, "a has 1 document and b 2"),
        (ByLanguage({"a": ["a"], "b": ["b"]}), {"held_out": 5}, "nothing to measure a on"),
    ],
)
def test_text_that_parity_cannot_be_measured_on_is_refused(
    tmp_path: Path, texts: list[str], options: dict[str, int], said: str
) -> None:
    with pytest.raises(TrainingError, match=said):
        ParityBPETrainer(vocab_size=300, **options).train(texts, tmp_path)


def test_documents_that_are_held_out_are_not_learned_from(tmp_path: Path) -> None:
    texts = {"a": ["xyxyxy xyxy", "pqpqpq pqpq"], "b": ["uvuvuv uvuv", "rsrsrs rsrs"]}
    ParityBPETrainer(vocab_size=280, held_out=2).train(ByLanguage(texts), tmp_path)
    vocabulary = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path)).vocabulary
    assert {b"xy", b"uv"} < set(vocabulary.token_bytes)
    assert not {b"pq", b"rs"} & set(vocabulary.token_bytes)
