"""Incremental decoding shows text early and never shows what is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.count.incremental import IncrementalDecoder, decode_stream
from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.byte_bpe.model import minbpe_example
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPETokenizer

BYTES = [bytes([b]) for b in range(256)]


@pytest.mark.parametrize("text", ["é🙂x", "東京 naïve", "plain"])
def test_a_character_is_shown_when_its_last_byte_has_come(text: str) -> None:
    parts = list(decode_stream(ByteBPETokenizer(minbpe_example()), text.encode()))
    assert parts == list(text)


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_valid_text_never_gives_a_replacement_character(text: str) -> None:
    decoder = IncrementalDecoder(BYTES, errors="replace")
    shown = [decoder.push(byte) for byte in text.encode()]
    assert "".join(shown) == text
    assert decoder.finish() == ""


@given(data=st.binary())
def test_any_bytes_give_what_decoding_them_at_once_gives(data: bytes) -> None:
    decoder = IncrementalDecoder(BYTES, errors="replace")
    shown = "".join(map(decoder.push, data)) + decoder.finish()
    assert shown == data.decode("utf-8", "replace")


def test_an_unfinished_character_is_replaced_only_at_the_end() -> None:
    decoder = IncrementalDecoder(BYTES, errors="replace")
    assert [decoder.push(byte) for byte in "a🙂".encode()[:-1]] == ["a", "", "", ""]
    assert decoder.pending == "🙂".encode()[:-1]
    assert decoder.finish() == "\ufffd"


def test_an_unfinished_character_is_an_error_when_strict() -> None:
    decoder = IncrementalDecoder(BYTES)
    decoder.push(0xC3)
    with pytest.raises(TokenizerError, match="do not spell valid UTF-8"):
        decoder.finish()


def test_the_space_that_a_model_adds_is_dropped_once() -> None:
    decoder = IncrementalDecoder([None, b" a", b" b"], prefix_space=True)
    assert [decoder.push(i) for i in (0, 1, 2)] == ["", "a", " b"]


def test_ids_without_content_add_nothing() -> None:
    decoder = IncrementalDecoder([b"\xc3", None, b"\xa9"])
    assert [decoder.push(i) for i in (0, 1, 2)] == ["", "", "é"]


@pytest.mark.parametrize("token", [-1, 2])
def test_an_unknown_id_is_refused(token: int) -> None:
    with pytest.raises(TokenizerError, match="is not in the vocabulary"):
        IncrementalDecoder([b"a", b"b"]).push(token)
