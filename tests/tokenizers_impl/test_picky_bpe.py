"""PickyBPE and trimmed vocabularies: what is dropped, and that ids are defined without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError, TrainingError
from tokbench.bench.model import HasPreTokens
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.byte_bpe.learning import Ties
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, minbpe_example
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer
from tokbench.tokenizers_impl.picky.events import (
    DropEvent,
    EventModel,
    JoinEvent,
    encoded,
    replayed,
)
from tokbench.tokenizers_impl.picky.files import read_events
from tokbench.tokenizers_impl.picky.learning import picky_events, textbook_picky
from tokbench.tokenizers_impl.picky.tokenizer import EventBPE, EventTokenizer
from tokbench.tokenizers_impl.picky.trainers import (
    PickyBPETrainer,
    TrimmedBPETrainer,
    trimmed,
)
from tokbench.tokenizers_impl.pretokenize import pre_tokenization

pieces = st.dictionaries(
    st.text("abc", min_size=1, max_size=12).map(str.encode), st.integers(1, 5), max_size=8
)
LINES = [f"Kentucky is {w} of Kentucky, the lucky {w}" for w in ("one", "two", "end")] * 4


def model_of(contents: tuple[bytes, ...], events: list[JoinEvent | DropEvent]) -> EventModel:
    return EventModel(
        token_bytes=contents, events=tuple(events), pre_tokenization=pre_tokenization("gpt2")
    )


@settings(max_examples=200, deadline=None)
@given(
    pieces=pieces,
    n=st.integers(0, 14),
    threshold=st.sampled_from([0.3, 0.5, 0.6, 0.75, 0.9, 1.0]),
    min_frequency=st.integers(1, 2),
    ties=st.sampled_from(["smallest", "first_seen"]),
    text=st.text("abc", max_size=20).map(str.encode),
)
def test_the_fast_trainer_and_encoder_do_what_the_definitions_say(
    pieces: Pieces, n: int, threshold: float, min_frequency: int, ties: Ties, text: bytes
) -> None:
    defined = textbook_picky(pieces, n, threshold, min_frequency=min_frequency, ties=ties)
    fast = picky_events(pieces, n, threshold, min_frequency=min_frequency, ties=ties)
    assert fast == defined
    model = model_of(*defined)
    for piece in (*pieces, text):
        tokens = encoded(model, piece)
        assert tokens == replayed(model, piece)
        assert not model.dropped.intersection(tokens)
        assert b"".join(model.token_bytes[t] for t in tokens) == piece


def test_a_part_goes_when_nearly_all_of_it_is_in_the_merge() -> None:
    """Joined 9 times, left once: 9 ÷ 10 is above 0.8 and not above 0.9."""
    words = {b"abc": 9, b"ab": 1}
    contents, events = textbook_picky(words, 2, threshold=0.8, min_frequency=2)
    assert events[-1] == DropEvent(256, (97, 98))
    assert list(contents[256:]) == [b"ab", b"abc"]
    _, kept = textbook_picky(words, 2, threshold=0.9, min_frequency=2)
    assert not [event for event in kept if isinstance(event, DropEvent)]


def test_a_place_that_is_free_again_goes_to_another_entry(tmp_path: Path) -> None:
    picky = PickyBPETrainer(vocab_size=264, threshold=0.9).train(LINES, tmp_path / "picky")
    plain = PickyBPETrainer(vocab_size=264, threshold=1).train(LINES, tmp_path / "plain")
    assert picky.vocab_size_reached == plain.vocab_size_reached == 264
    assert (picky.facts["dropped_entries"] > 0, plain.facts["dropped_entries"]) == (True, 0)
    loaded = EventBPE(file="events.json").load(LoadContext(folder=tmp_path / "picky"))
    held = {content for content in loaded.vocabulary.token_bytes if content}
    assert b" Kentucky" in held
    assert b"entuck" not in held


def test_it_is_byte_bpe_where_nothing_is_dropped(tmp_path: Path) -> None:
    PickyBPETrainer(vocab_size=290, threshold=1, special_tokens=("<s>",)).train(LINES, tmp_path)
    ByteBPETrainer(vocab_size=290, special_tokens=["<s>"]).train(LINES, tmp_path)
    ours = EventBPE(file="events.json").load(LoadContext(folder=tmp_path))
    plain = ByteBPE(file="model.json").load(LoadContext(folder=tmp_path))
    assert ours.vocabulary.token_bytes == list(plain.vocabulary.token_bytes)
    for text in [*LINES, "", "unlucky Kentuckians — 今天\n"]:
        assert list(ours.encode_batch([text])[0]) == list(plain.encode_batch([text])[0])


def test_a_file_gives_the_tokenizer_back_with_special_tokens(tmp_path: Path) -> None:
    trainer = PickyBPETrainer(vocab_size=275, special_tokens=("<pad>", "<s>"))
    trainer.train(LINES, tmp_path)
    loaded = EventBPE(file="events.json").load(LoadContext(folder=tmp_path))
    assert isinstance(loaded, HasPreTokens)
    assert loaded.vocabulary.special_ids == {0, 1}
    ids = loaded.encode_batch(LINES)
    assert loaded.decode_batch(ids) == LINES
    assert loaded.decode_batch([[0, 1]]) == ["<pad><s>"]
    again = EventTokenizer(read_events(tmp_path / "events.json"))
    assert again.fingerprint == loaded.fingerprint
    with pytest.raises(TokenizerError, match="id 9999 is not in the vocabulary"):
        loaded.decode_batch([[9999]])


def test_an_entry_that_is_trimmed_falls_into_parts_that_are_there() -> None:
    """aaab is (aa)(ab): without both, it stays; without itself, the two are left."""
    base = minbpe_example()
    without_parts = trimmed(base, {256, 257})
    assert [without_parts.token_bytes[t] for t in encoded(without_parts, b"aaabaa")] == [
        b"aaab", b"a", b"a",
    ]  # fmt: skip
    without_whole = trimmed(base, {258, 257})
    assert [without_whole.token_bytes[t] for t in encoded(without_whole, b"aaab")] == [
        b"aa", b"a", b"b",
    ]  # fmt: skip


def test_what_a_text_does_not_use_is_trimmed_and_its_ids_stay_the_tokens(tmp_path: Path) -> None:
    base = tmp_path / "base"
    ByteBPETrainer(vocab_size=300).train(LINES, base)
    trained = TrimmedBPETrainer(file=str(base / "model.json")).train(LINES, tmp_path)
    before = ByteBPE(file="model.json").load(LoadContext(folder=base))
    after = EventBPE(file="events.json").load(LoadContext(folder=tmp_path))
    assert trained.facts["dropped_entries"] > 0
    assert trained.vocab_size_reached == 279 - trained.facts["dropped_entries"]
    for text in LINES:
        old = [before.vocabulary.token_bytes[int(i)] for i in before.encode_batch([text])[0]]
        assert [after.vocabulary.token_bytes[int(i)] for i in after.encode_batch([text])[0]] == old


def test_entries_that_merging_does_not_reach_are_refused(tmp_path: Path) -> None:
    from tokbench.tokenizers_impl.byte_bpe.formats import write_own_json

    model = minbpe_example()
    with_shortcut = BytePairModel(
        byte_ids=model.byte_ids, merges=model.merges, pre_tokenization=model.pre_tokenization,
        whole_pieces={**{data: i for i, data in model.entries.items()}, b"xyz": 300},
    )  # fmt: skip
    write_own_json(with_shortcut, tmp_path / "m.json")
    with pytest.raises(TrainingError, match="1 entry that only"):
        TrimmedBPETrainer(file=str(tmp_path / "m.json")).train(["a"], tmp_path)


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ('"events": [[97, 98, 999]]', "event 0 names a token that does not exist"),
        ('"events": [[97, 97, 256]]', "event 0 changes the bytes of a text"),
        ('"events": [[256, [97]]]', "event 0 changes the bytes of a text"),
        ('"events": [[1]]', "is not a model of events"),
    ],
)
def test_events_that_cannot_be_carried_out_are_refused(
    tmp_path: Path, spoilt: str, said: str
) -> None:
    (tmp_path / "e.json").write_text(
        '{"format": "tokbench.events.1", "pre_tokenization": "none", "pattern": "", '
        f'"tokenizers_pattern": "", "special_tokens": {{}}, "tokens": ["6162"], {spoilt}}}'
    )
    with pytest.raises(TokenizerError, match=said):
        EventBPE(file="e.json").load(LoadContext(folder=tmp_path))
