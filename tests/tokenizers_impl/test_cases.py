"""Inputs that broke other tools, as far as a tokenizer is concerned. Numbers as in the cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.model import HasOffsets, Tokenizer
from tokbench.bench.plugins import TokenizerPlugin
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken

Load = Callable[[TokenizerPlugin], Tokenizer]
Texts = Callable[[str], list[str]]

RANKS = Tiktoken(
    file="bytes256.tiktoken", pattern=r"\p{L}+|\P{L}+", special_tokens={"<|endoftext|>": 256}
)


def round_trip(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    return list(tokenizer.decode_batch(tokenizer.encode_batch(texts)))


def token_bytes(tokenizer: Tokenizer, texts: list[str]) -> list[int]:
    lengths = tokenizer.vocabulary.byte_lengths
    return [sum(int(lengths[i]) for i in ids) for ids in tokenizer.encode_batch(texts)]


def test_a1_spellings_of_special_tokens_are_ordinary_text(
    load_case: Load, case_texts: Texts
) -> None:
    tokenizer = load_case(RANKS)
    texts = case_texts("special_text.jsonl")
    ids = tokenizer.encode_batch(texts)
    assert [len(i) for i in ids] == [58, 13, 20, 44]
    assert not any(256 in list(i) for i in ids)
    assert round_trip(tokenizer, texts) == texts
    assert tokenizer.special_tokens == {"<|endoftext|>": 256}  # type: ignore[attr-defined]


def test_a2_a_prefix_space_is_declared_and_is_the_only_difference(
    load_case: Load, case_texts: Texts
) -> None:
    texts = case_texts("whitespace.jsonl")
    without, with_prefix = (
        load_case(HuggingFace(file=file)) for file in ("bl.json", "bl_prefix.json")
    )
    assert round_trip(without, texts) == texts
    assert not without.prefix_space
    assert with_prefix.prefix_space
    decoded = round_trip(with_prefix, texts)
    assert sum(a == b for a, b in zip(texts, decoded, strict=True)) == 1
    assert [text.removeprefix(" ") for text in decoded] == [t.removeprefix(" ") for t in texts]


def test_a2_the_prefix_space_comes_back_after_an_added_token(load_case: Load) -> None:
    tokenizer = load_case(HuggingFace(file="bl_prefix_added.json"))
    assert round_trip(tokenizer, ["my abcs and"]) == [" my abc s and"]
    assert token_bytes(tokenizer, ["my abcs and"]) == [len("my abcs and") + 2]


def test_a3_sentencepiece_says_which_whitespace_it_loses(
    load_case: Load, case_texts: Texts
) -> None:
    texts = case_texts("whitespace.jsonl")
    lossy = load_case(SentencePiece(file="sp_default.model"))
    lossless = load_case(SentencePiece(file="sp_lossless.model"))
    assert not any(a == b for a, b in zip(texts, round_trip(lossy, texts), strict=True))
    assert "not byte-exact: leading, trailing and repeated spaces are removed" in lossy.notes
    assert round_trip(lossless, texts) == texts
    assert lossless.byte_exact


def test_a5_only_the_plain_added_token_swallows_spaces_by_default(
    load_case: Load, case_texts: Texts
) -> None:
    tokenizer = load_case(HuggingFace(file="bl_strip.json"))
    texts = case_texts("strip.jsonl")
    assert round_trip(tokenizer, texts) == ["I   <mask> you", "call <tool>now"]
    assert token_bytes(tokenizer, texts) == [len(texts[0]), len(texts[1]) - 3]
    assert tokenizer.notes == ("added token '<tool>' swallows the whitespace beside it (rstrip)",)


def test_a5_matching_special_tokens_is_a_choice_and_changes_the_identity(
    load_case: Load, case_texts: Texts
) -> None:
    text = load_case(HuggingFace(file="bl_strip.json"))
    match = load_case(HuggingFace(file="bl_strip.json", special_tokens="match"))
    texts = case_texts("strip.jsonl")
    assert round_trip(match, texts) == ["I<mask> you", "call <tool>now"]
    assert token_bytes(match, texts) == [len(t) - 3 for t in texts]
    assert isinstance(match, HasOffsets)
    _, spans = match.encode_batch_with_offsets(texts)
    assert (1, 10) in spans[0]  # wider than <mask>: the three spaces before it belong to it
    assert match.fingerprint.sha256 != text.fingerprint.sha256


def test_a6_single_decodes_are_not_the_sequence(load_case: Load, case_texts: Texts) -> None:
    byte_level = load_case(HuggingFace(file="bytes_only.json"))
    texts = case_texts("partial_utf8.jsonl")
    assert round_trip(byte_level, texts) == texts
    assert _joined_singles(byte_level, texts[0]) != texts[0]
    sp = load_case(SentencePiece(file="sp_default.model"))
    assert round_trip(sp, ["the river stone"]) == ["the river stone"]
    assert _joined_singles(sp, "the river stone") == "theriverstone"


def _joined_singles(tokenizer: Tokenizer, text: str) -> str:
    [ids] = tokenizer.encode_batch([text])
    return "".join(tokenizer.decode_batch([[int(i)] for i in ids]))


@pytest.mark.parametrize(
    "plugin", [HuggingFace(file="bytes_only.json"), RANKS], ids=["hf", "ranks"]
)
def test_d1_bytes_come_from_the_vocabulary_not_from_decoding(
    plugin: TokenizerPlugin, load_case: Load, case_texts: Texts
) -> None:
    tokenizer = load_case(plugin)
    texts = case_texts("partial_utf8.jsonl")
    assert token_bytes(tokenizer, texts) == [7, 13, 5]
    assert [len(_joined_singles(tokenizer, text).encode()) for text in texts] == [19, 29, 5]
    partial = tokenizer.vocabulary.is_partial_character
    assert [int(sum(partial[list(i)])) for i in tokenizer.encode_batch(texts)] == [6, 8, 0]


def test_d7_truncation_padding_and_template_are_off_and_noted(
    load_case: Load, case_texts: Texts
) -> None:
    tokenizer = load_case(HuggingFace(file="bl_trunc16.json"))
    plain = load_case(HuggingFace(file="bl.json"))
    texts = case_texts("mixture.jsonl")
    joined = " ".join(texts)
    assert [len(i) for i in tokenizer.encode_batch([joined, "ok"])] == [
        len(i) for i in plain.encode_batch([joined, "ok"])
    ]
    assert len(tokenizer.encode_batch([joined])[0]) == 930
    assert len(tokenizer.encode_batch(["ok"])[0]) == 2
    assert tokenizer.notes == (
        "truncation to 16 tokens switched off",
        "padding switched off",
        "the template that adds special tokens (TemplateProcessing) switched off",
    )
    assert tokenizer.fingerprint.sha256 == plain.fingerprint.sha256


def test_a9_bytes_without_a_token_are_counted_at_load(load_case: Load, case_texts: Texts) -> None:
    tokenizer = load_case(HuggingFace(file="bl_noalphabet.json"))
    [note] = tokenizer.notes
    assert note.endswith("of the 256 bytes have no token and vanish without a trace")
    texts = case_texts("no_alphabet.jsonl")
    assert token_bytes(tokenizer, texts)[0] < len(texts[0].encode())


def test_wordpiece_names_each_way_it_loses_text(load_case: Load) -> None:
    tokenizer = load_case(HuggingFace(file="wp_uncased.json"))
    assert set(tokenizer.notes) == {
        "not byte-exact: the normalizer BertNormalizer changes text "
        "(lowercase, clean_text, strip_accents)",
        "not byte-exact: the pre-tokenizer BertPreTokenizer drops spaces",
        "not byte-exact: the WordPiece model writes text without a piece as an unknown token",
        "its decoder removes the space before . , ? ! and in contractions (clean-up), so a text "
        "that has one does not come back",
    }


def test_the_path_is_no_part_of_the_fingerprint(
    load_case: Load, case_tokenizers: Path, tmp_path: Path
) -> None:
    import gzip

    content = (case_tokenizers / "bl.json").read_bytes()
    (tmp_path / "other.json.gz").write_bytes(gzip.compress(content))
    elsewhere = load_case(HuggingFace(file=str(tmp_path / "other.json.gz")))
    here = load_case(HuggingFace(file="bl.json"))
    assert elsewhere.fingerprint.parts == here.fingerprint.parts
