"""Ids, entries and bytes are those of the object that encodes, whatever the file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.adapters import ranks
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace, HuggingFaceTokenizer, build
from tokbench.tokenizers_impl.adapters.huggingface_trainer import TokenizersUnigram
from tokbench.tokenizers_impl.adapters.tiktoken_files import load_encoding

OFF = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def added(i: int, content: str, *, special: bool) -> dict[str, Any]:
    return {"id": i, "content": content, "special": special, **OFF}


def content(vocab: dict[str, int], added_tokens: list[dict[str, Any]], **model: Any) -> str:
    spec = {
        "added_tokens": added_tokens,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]", **model},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
    }
    return json.dumps(spec)


def unigram(special_tokens: str = "text") -> HuggingFaceTokenizer:
    pieces = [["<unk>", 0.0], ["<s>", 0.0], ["▁a", -1.0], ["▁", -2.0], ["a", -3.0], ["<", -4.0],
              ["s", -4.0], [">", -4.0]]  # fmt: skip
    spec = {
        "added_tokens": [added(0, "<unk>", special=True), added(1, "<s>", special=True)],
        "model": {"type": "Unigram", "vocab": pieces, "unk_id": 0, "byte_fallback": False},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    }
    return build(json.dumps(spec), "u.json", special_tokens)  # type: ignore[arg-type]


def test_added_tokens_have_the_ids_that_the_library_gave_them() -> None:
    tokens = [added(9, "<think>", special=False), added(0, "<end>", special=True)]
    tokenizer = build(content({"[UNK]": 0, "a": 1}, tokens), "t.json")
    # two entries, then the added tokens in turn: 9 leaves a gap, 0 is taken
    assert tokenizer.vocabulary.n_ids == tokenizer.vocabulary.n_entries == 4
    assert tokenizer.encode_batch(["<think> a"])[0] == [tokenizer.library.token_to_id("<think>"), 1]
    assert tokenizer.special_tokens == {"<end>": tokenizer.library.token_to_id("<end>")}
    assert "other ids than the file declares ('<think>' 9 → " in tokenizer.notes[0]


def test_two_entries_on_one_id_are_noted() -> None:
    tokenizer = build(content({"[UNK]": 0, "a": 1, "b": 1}, []), "t.json")
    assert "1 id with several entries (1: 'a', 'b'); one of them decodes" in tokenizer.notes


def test_an_entry_that_decodes_to_nothing_is_noted() -> None:
    tokenizer = build(content({"[UNK]": 0, "": 1}, []), "t.json")
    assert "the entry with id 1 decodes to nothing" in tokenizer.notes


def test_an_id_that_no_vocabulary_has_is_refused() -> None:
    with pytest.raises(TokenizerError, match=r"declares the id 4000000000"):
        build(content({"[UNK]": 0, "a": 4_000_000_000}, []), "t.json")


def test_two_ranks_for_one_token_are_refused() -> None:
    with pytest.raises(TokenizerError, match=r"r:2: a second rank, 1, for the token b'a'"):
        ranks.parse_ranks(b"YQ== 0\nYQ== 1\n", "r")


def test_special_tokens_that_a_unigram_model_has_as_pieces_are_ordinary_text() -> None:
    # "a <s>": ▁a ▁ < s >
    tokenizer = unigram()
    ids = tokenizer.encode_batch(["a <s>"])
    assert ids == [[2, 3, 5, 6, 7]]
    assert tokenizer.decode_batch(ids) == ["a <s>"]
    assert tokenizer.matched_special == ()
    assert not any("special" in note for note in tokenizer.notes)


def test_unknown_characters_of_such_a_model_stay_what_they_were() -> None:
    # "a中": ▁a and an unknown character, by the same penalty as in the file as it is
    assert unigram().encode_batch(["a中"]) == unigram("match").encode_batch(["a中"]) == [[2, 0]]
    assert unigram().decode_batch([[2, 0]]) == ["a<unk>"]


def test_matching_is_measured_and_said() -> None:
    tokenizer = unigram("match")
    assert tokenizer.encode_batch(["a <s>"]) == [[2, 3, 1]]
    assert tokenizer.matched_special == ("<s>",)
    assert (
        "special tokens spelled in a text: 1 of 1 read as the special token (special_tokens: match)"
        in tokenizer.notes
    )


def test_where_text_cannot_be_made_ordinary_a_note_says_so() -> None:
    # WordLevel knows the word itself; without a mark for spaces nothing can be hidden
    tokens = [added(1, "<s>", special=True)]
    spec = json.loads(content({"[UNK]": 0, "a<s>a": 2, "<s>": 1}, tokens))
    spec["pre_tokenizer"] = {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated",
                             "invert": False}  # fmt: skip
    tokenizer = build(json.dumps(spec), "t.json")
    assert tokenizer.encode_batch(["<s>"]) == [[1]]
    assert any(
        "1 of 1 read as the special token although special_tokens is `text`: the model has them as "
        "pieces ('<s>')" in note
        for note in tokenizer.notes
    )


def test_our_own_tokenizers_unigram_reads_special_tokens_as_text(tmp_path: Path) -> None:
    trainer = TokenizersUnigram(vocab_size=40, special_tokens=("<unk>", "<s>", "</s>"))
    trained = trainer.train(["a <s> b </s> the lower the newest"] * 5, tmp_path)
    tokenizer = HuggingFace(file=trained.tokenizer["file"]).load(LoadContext(folder=tmp_path))
    (ids,) = tokenizer.encode_batch(["the <s> </s>"])
    assert not {1, 2} & set(ids)
    assert tokenizer.decode_batch([ids]) == ["the <s> </s>"]


def test_byte_tokens_that_are_special_have_their_byte() -> None:
    vocab = {"<unk>": 0, **{f"<0x{b:02X}>": b + 1 for b in range(256)}}
    spec = {
        "added_tokens": [added(b + 1, f"<0x{b:02X}>", special=True) for b in range(256)],
        "model": {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>",
                  "byte_fallback": True},
        "decoder": {"type": "ByteFallback"},
    }  # fmt: skip
    tokenizer = build(json.dumps(spec), "t.json")
    (ids,) = tokenizer.encode_batch(["é"])
    assert [tokenizer.vocabulary.token_bytes[i] for i in ids] == [b"\xc3", b"\xa9"]
    assert tokenizer.vocabulary.is_partial_character[list(ids)].all()


@pytest.mark.parametrize("cleanup", [True, False])
def test_clean_up_of_a_decoder_is_named(cleanup: bool) -> None:
    spec = json.loads(content({"[UNK]": 0, "ok": 1, ",": 2}, []))
    spec["decoder"] = {"type": "WordPiece", "prefix": "##", "cleanup": cleanup}
    tokenizer = build(json.dumps(spec), "t.json")
    said = any("(clean-up)" in note for note in tokenizer.notes)
    assert said == cleanup
    assert tokenizer.decode_batch([[1, 2]]) == ["ok," if cleanup else "ok ,"]


def test_an_entry_on_two_lines_of_a_vocab_txt_is_noted(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nit\n##t\nit\n", encoding="utf-8")
    tokenizer = HuggingFace(file="vocab.txt", lowercase=True).load(LoadContext(folder=tmp_path))
    assert [list(ids) for ids in tokenizer.encode_batch(["it"])] == [[3]]
    assert "1 entry on several lines of the vocab.txt ('it': ids 1, 3); the last line is used" in (
        " ".join(tokenizer.notes)
    )


def test_a_vocab_txt_with_windows_line_ends_is_read_alike(tmp_path: Path) -> None:
    from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece

    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\r\nit\r\nis \r\n##t\r\n")
    context = LoadContext(folder=tmp_path)
    ours = WordPiece(file="vocab.txt", lowercase=True).load(context)
    theirs = HuggingFace(file="vocab.txt", lowercase=True).load(context)
    assert ours.encode_batch(["it is x"]) == theirs.encode_batch(["it is x"]) == [[1, 2, 0]]
    assert all(any("(clean-up)" in note for note in t.notes) for t in (ours, theirs))


def test_offline_reaches_tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("TIKTOKEN_CACHE_DIR", str(tmp_path)),
        ("TOKBENCH_CACHE", str(tmp_path)),
        ("HF_HUB_OFFLINE", "1"),
    ):
        monkeypatch.setenv(name, value)
    with pytest.raises(TokenizerError, match=r"--offline, or HF_HUB_OFFLINE, is set"):
        load_encoding("p50k_base")
