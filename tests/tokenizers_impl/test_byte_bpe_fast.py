"""The fast encoder gives the ids of the readable one, whatever comes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl import hash_table, merging
from tokbench.tokenizers_impl.byte_bpe import fast
from tokbench.tokenizers_impl.byte_bpe.fast import FastEncoder
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, encode, replay_merges
from tokbench.tokenizers_impl.byte_bpe.rank_files import model_from_ranks, ranks_of
from tokbench.tokenizers_impl.byte_bpe.trainer import build_model, count_pieces
from tokbench.tokenizers_impl.hash_table import Bools, Words
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, pre_tokenization

TEXT = (
    "The lowest tide came slower than the newest of the older ones; aaaaa aaaa aaa aa a.\n"
    "    if (x == 12345) { return 'naïve'; }\n\n今天天气很好,今天我们去河边走走。 नमस्ते दुनिया 🙂🙂🙂\n"
) * 4
ALPHABET = st.sampled_from(list("aaaab th  \n\n.'1é今天नम🙂\u0301"))
TEXTS = st.lists(st.text(ALPHABET, max_size=60), min_size=1, max_size=4)


def model_of(name: str, n_merges: int = 150) -> BytePairModel:
    rule = pre_tokenization(name)
    return build_model(fast_merges(count_pieces([TEXT], rule).pieces, n_merges), rule)


MODELS = {name: model_of(name) for name in PRE_TOKENIZATIONS}
# With the shortcut, and with an entry that merging never makes.
MODELS["shortcut"] = model_from_ranks(
    {**ranks_of(MODELS["gpt2"]), b" thth": 1000}, rule=pre_tokenization("gpt2")
)


@pytest.fixture(autouse=True)
def _always_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_FEW_CHARACTERS", 0)
    monkeypatch.setattr(merging, "FEW", 0)


def ids_of(encoder: FastEncoder, texts: list[str]) -> list[list[int]]:
    return [np.asarray(ids).tolist() for ids in encoder.encode_batch(texts)]


@pytest.mark.parametrize("name", MODELS)
def test_it_gives_the_ids_of_the_readable_encoder(name: str) -> None:
    texts = [TEXT, "", TEXT[::-1], "a" * 300, "今天" * 200, "a\0b\0", "\0", "x", "thth thth"]
    encoder = FastEncoder(MODELS[name])
    expected = [encode(MODELS[name], text) for text in texts]
    assert ids_of(encoder, texts) == expected
    assert ids_of(encoder, texts) == expected  # now from the table


@settings(max_examples=150, deadline=None)
@given(texts=TEXTS, chunk=st.sampled_from([1, 7, 1 << 16]), name=st.sampled_from(list(MODELS)))
def test_it_gives_the_ids_of_the_readable_encoder_for_any_text(
    texts: list[str], chunk: int, name: str
) -> None:
    model = MODELS[name]
    encoder = FastEncoder(model, chunk=chunk, max_known=100)
    for _ in range(2):
        assert ids_of(encoder, texts) == [encode(model, text) for text in texts]


@pytest.mark.parametrize("name", MODELS)
def test_short_batches_give_the_same_ids(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "_FEW_CHARACTERS", 1 << 30)
    encoder = FastEncoder(MODELS[name], max_known=10)
    for text in (TEXT, TEXT[::-1], "thth thth", ""):
        assert ids_of(encoder, [text]) == [encode(MODELS[name], text)]


def test_pieces_that_hash_alike_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hash that is always the same, everything is slower and nothing is different."""

    def constant(*key: Words) -> Words:
        return np.zeros_like(key[0])

    monkeypatch.setattr(hash_table, "mixed", constant)
    for model in MODELS.values():
        encoder = FastEncoder(model)
        for texts in ([TEXT[:200], TEXT[80:230][::-1]], [TEXT[40:240]]):
            assert ids_of(encoder, texts) == [encode(model, text) for text in texts]


def test_seams_that_hash_alike_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def always(self: object, words: Words) -> Bools:
        return np.ones(len(words), np.bool_)

    monkeypatch.setattr(hash_table.HashFilter, "may_hold", always)
    for model in MODELS.values():
        assert ids_of(FastEncoder(model), [TEXT]) == [encode(model, TEXT)]


def test_nothing_gives_nothing() -> None:
    encoder = FastEncoder(MODELS["gpt2"])
    assert ids_of(encoder, []) == []
    assert ids_of(encoder, ["", ""]) == [[], []]


def test_a_long_piece_does_not_take_quadratic_time() -> None:
    model = build_model([(97, 97, 2), (256, 256, 2), (257, 98, 1)], pre_tokenization("none"))
    text = "a" * 100_003 + "b" + "a" * 7  # quadratic merging would take minutes
    assert ids_of(FastEncoder(model), [text]) == [replay_merges(model, text.encode())]


def test_a_lone_surrogate_is_refused_with_the_text_it_is_in() -> None:
    with pytest.raises(TokenizerError, match=r"text 1 of the batch holds a lone surrogate"):
        FastEncoder(MODELS["gpt2"]).encode_batch(["a", "b\udc80"])


@pytest.mark.parametrize("few", [1, 3, 1000])
@pytest.mark.parametrize("most_cells", [1, 300])
def test_it_does_not_matter_which_pieces_are_merged_together(
    few: int, most_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "FEW", few)
    monkeypatch.setattr(merging, "MOST_CELLS", most_cells)
    model = MODELS["gpt2"]
    texts = [TEXT[i:] + "thaaaa" * i for i in range(0, 60, 7)]
    assert ids_of(FastEncoder(model), texts) == [encode(model, text) for text in texts]
