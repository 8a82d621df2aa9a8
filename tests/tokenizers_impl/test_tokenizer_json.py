"""What follows from a tokenizer.json alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tokbench.tokenizers_impl import byte_alphabet
from tokbench.tokenizers_impl.adapters import tokenizer_json
from tokbench.tokenizers_impl.adapters.huggingface import build

ALPHABET = {character: i for i, character in enumerate(byte_alphabet.BYTE_OF)}
BYTE_PIECES = {f"<0x{b:02X}>": b for b in range(256)}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PREPEND = {"type": "Prepend", "prepend": "▁"}


def spec(
    *, model: dict[str, Any], added: tuple[dict[str, Any], ...] = (), **parts: Any
) -> dict[str, Any]:
    return {"added_tokens": list(added), "model": model, **parts}


def bpe(vocab: dict[str, int], **options: Any) -> dict[str, Any]:
    return {"type": "BPE", "vocab": vocab, "merges": [], **options}


def added(i: int, content: str, special: bool = False, **options: Any) -> dict[str, Any]:
    off = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": i, "content": content, "special": special, **off, **options}


def steps(*each: dict[str, Any], inner: str) -> dict[str, Any]:
    return {"type": "Sequence", inner: list(each)}


def split(behavior: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": " "}, "behavior": behavior, "invert": False}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


@pytest.mark.parametrize(
    ("parts", "losses"),
    [
        ({"pre_tokenizer": BYTE_LEVEL}, []),
        ({"pre_tokenizer": BYTE_LEVEL, "normalizer": steps(inner="normalizers")}, []),
        ({"pre_tokenizer": steps(split("Isolated"), BYTE_LEVEL, inner="pretokenizers")}, []),
        (
            {"pre_tokenizer": steps(split("Removed"), BYTE_LEVEL, inner="pretokenizers")},
            ["the pre-tokenizer Split removes what is between its pieces"],
        ),
        (
            {"pre_tokenizer": BYTE_LEVEL, "normalizer": {"type": "NFKC"}},
            ["the normalizer NFKC changes text"],
        ),
        (
            {
                "pre_tokenizer": steps(
                    split("Isolated"),
                    {**BYTE_LEVEL, "add_prefix_space": True},
                    inner="pretokenizers",
                )
            },
            ["the pre-tokenizer ByteLevel puts a space before every piece"],
        ),
        (
            {"pre_tokenizer": {"type": "Whitespace"}},
            [
                "the pre-tokenizer Whitespace drops spaces",
                "the BPE model writes text without a piece as an unknown token",
            ],
        ),
    ],
)
def test_losses_of_byte_level_files_are_named(parts: dict[str, Any], losses: list[str]) -> None:
    assert tokenizer_json.losses(spec(model=bpe(ALPHABET), **parts)) == losses


def test_byte_fallback_is_exact_when_every_byte_has_a_piece() -> None:
    normalizer = steps(PREPEND, REPLACE, inner="normalizers")
    whole = spec(model=bpe(BYTE_PIECES, byte_fallback=True), normalizer=normalizer)
    assert tokenizer_json.losses(whole) == []
    assert tokenizer_json.prefix_space(whole)
    lacking = {piece: i for piece, i in BYTE_PIECES.items() if i != 10}
    part = spec(model=bpe(lacking, byte_fallback=True), normalizer=normalizer)
    assert tokenizer_json.losses(part) == ["the model has pieces for 255 of the 256 bytes only"]


@pytest.mark.parametrize(
    ("pre_tokenizer", "adds"),
    [
        ({"type": "ByteLevel"}, True),
        ({"type": "ByteLevel", "add_prefix_space": False}, False),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}, True),
        ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"}, False),
        ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": True}, True),
        ({"type": "Metaspace", "replacement": "▁"}, True),
        ({"type": "BertPreTokenizer"}, False),
        (None, False),
    ],
)
def test_the_prefix_space_is_read_in_old_and_new_files(
    pre_tokenizer: dict[str, Any] | None, adds: bool
) -> None:
    found = tokenizer_json.prefix_space(spec(model=bpe({}), pre_tokenizer=pre_tokenizer))
    assert found is adds


def test_bytes_of_byte_level_pieces_and_added_tokens() -> None:
    tokens = (added(256, "日 ▁"), added(258, "<s>", special=True))
    file = spec(model=bpe(ALPHABET), added=tokens, pre_tokenizer=BYTE_LEVEL)
    v = tokenizer_json.vocabulary(file, match_special=False)
    assert sorted(b for b in v.token_bytes[:256] if b) == [bytes([b]) for b in range(256)]
    assert v.token_bytes[256:] == ["日 ▁".encode(), None, None]
    assert (v.special_ids, v.hole_ids, v.n_entries) == ({258}, {257}, 258)
    matched = tokenizer_json.vocabulary(file, match_special=True)
    assert matched.token_bytes[258] == b"<s>"


def test_bytes_of_pieces_with_marks() -> None:
    pieces = {"<unk>": 0, "<0x0A>": 1, "▁the": 2, "▁▁": 3}
    model = bpe(pieces, byte_fallback=True, unk_token="<unk>")
    file = spec(model=model, normalizer=REPLACE, added=(added(3, "▁▁"), added(4, "<▁>")))
    v = tokenizer_json.vocabulary(file, match_special=False)
    assert v.token_bytes == [None, b"\n", b" the", b"  ", "<▁>".encode()]
    assert (v.unknown_ids, v.byte_fallback_ids) == ({0}, {1})


def test_marks_of_words_stand_for_nothing() -> None:
    wordpiece = {
        "type": "WordPiece",
        "vocab": {"[UNK]": 0, "##ing": 1, "##": 2, "play": 3},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    v = tokenizer_json.vocabulary(spec(model=wordpiece), match_special=False)
    assert v.token_bytes == [None, b"ing", b"##", b"play"]
    suffixed = bpe({"ing</w>": 0, "in": 1}, end_of_word_suffix="</w>")
    v = tokenizer_json.vocabulary(spec(model=suffixed), match_special=False)
    assert v.token_bytes == [b"ing", b"in"]


def test_a_byte_piece_is_text_where_there_is_no_byte_fallback() -> None:
    v = tokenizer_json.vocabulary(spec(model=bpe({"<0x0A>": 0})), match_special=False)
    assert v.token_bytes == [b"<0x0A>"]
    assert not v.byte_fallback_ids


def test_old_and_new_spellings_of_one_file_have_one_fingerprint() -> None:
    vocab = {"a": 0, "b": 1, "ab": 2}
    old = spec(model={"vocab": vocab, "merges": ["a b"], "unk_token": None}, normalizer=None)
    new = spec(model={"type": "BPE", "vocab": vocab, "merges": [["a", "b"]]})
    assert tokenizer_json.fingerprint(old, {}).parts == tokenizer_json.fingerprint(new, {}).parts


def test_what_decides_the_ids_changes_the_fingerprint() -> None:
    file = spec(model=bpe({"a": 0}), pre_tokenizer=split("Isolated"))
    other = spec(model=bpe({"a": 0}), pre_tokenizer=split("Removed"))
    a, b = (tokenizer_json.fingerprint(s, {}).parts for s in (file, other))
    assert {part for part in a if a[part] != b[part]} == {"pre_tokenizer"}


def test_dropout_is_switched_off_and_noted() -> None:
    vocab = {"a": 0, "b": 1, "ab": 2}
    model = {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]], "dropout": 0.9}
    tokenizer = build(json.dumps(spec(model=model)), "here")
    assert tokenizer.encode_batch(["ab"] * 50) == [[2]] * 50
    assert tokenizer.notes[0] == "BPE dropout of 0.9 switched off"
