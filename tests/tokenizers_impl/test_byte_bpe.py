"""Byte-level BPE as it is defined: merging, special tokens, files, the tokenizer contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.byte_bpe import formats
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges
from tokbench.tokenizers_impl.byte_bpe.model import (
    BytePairModel,
    apply_merges,
    decode_bytes,
    encode,
    join_pair,
    minbpe_example,
    replay_merges,
)
from tokbench.tokenizers_impl.byte_bpe.rank_files import ranks_of, write_rank_file
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE, ByteBPETokenizer
from tokbench.tokenizers_impl.byte_bpe.trainer import build_model, count_pieces
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, pre_tokenization

TEXT = (
    "The lowest tide came slower than the newest of the older ones. It's 1234567 o'clock;\n"
    "    if (x == 12345) { return 'naïve'; }\n\n Ein schöner Tag, 今天天气很好, नमस्ते दुनिया 🙂🙂 \n"
) * 6
SPECIAL = {"<pad>": 0, "<eos>": 1, "<unk>": 2}


def trained(
    name: str = "gpt2", n_merges: int = 80, *, special: dict[str, int] | None = None
) -> BytePairModel:
    rule = pre_tokenization(name)
    merges = fast_merges(count_pieces([TEXT], rule).pieces, n_merges)
    return build_model(merges, rule, special)


def test_the_example_of_minbpe() -> None:
    assert encode(minbpe_example(), "aaabdaaabac") == [258, 100, 258, 97, 99]


def test_lowest_rank_first_is_replaying_the_merges_in_order() -> None:
    model = trained()
    for piece in count_pieces([TEXT, TEXT[::-1]], model.pre_tokenization).pieces:
        assert apply_merges(model, piece) == replay_merges(model, piece)


def test_another_order_of_merging_gives_other_ids() -> None:
    model = build_model([(97, 98, 3), (98, 99, 2)], pre_tokenization("none"))
    backwards = [ord(c) for c in "abc"]
    for merge in reversed(model.merges):
        backwards = join_pair(backwards, merge)
    assert apply_merges(model, b"abc") == [256, 99]
    assert backwards == [97, 257]


def test_special_tokens_have_their_ids_and_everything_else_is_shifted() -> None:
    model = trained(n_merges=3, special=SPECIAL)
    plain = trained(n_merges=3)
    assert model.byte_ids == tuple(range(3, 259))
    assert encode(model, "the") == [i + 3 for i in encode(plain, "the")]


def test_special_tokens_are_matched_only_when_asked_for() -> None:
    model = trained(n_merges=0, special=SPECIAL)
    spelled = [b + 3 for b in b"<eos>"]
    assert encode(model, "a<eos>") == [ord("a") + 3, *spelled]
    assert encode(model, "a<eos><pad>b", allowed_special={"<eos>"}) == [
        ord("a") + 3,
        1,
        *(b + 3 for b in b"<pad>b"),
    ]
    assert decode_bytes(model, [1, 0]) == b"<eos><pad>"


def test_the_longest_special_token_wins() -> None:
    model = trained(n_merges=0, special={"<a>": 0, "<a><b>": 1})
    assert encode(model, "<a><b><a>", allowed_special={"<a>", "<a><b>"}) == [1, 0]


def test_an_unknown_special_token_is_refused() -> None:
    with pytest.raises(TokenizerError, match="'<bos>' is not a special token; there are: <eos>"):
        encode(trained(special=SPECIAL), "x", allowed_special={"<bos>"})


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(TokenizerError, match=r"lone surrogate \(U\+D800\)"):
        encode(trained(), "a\ud800")


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(TokenizerError, match="id 999999 is not in the vocabulary"):
        decode_bytes(trained(), [999999])


def test_ranks_give_the_one_pair_that_is_ever_joined() -> None:
    ranks = {bytes([b]): b for b in range(256)}
    ranks |= {b"ab": 256, b"bc": 257, b"abc": 258, b"xyz": 259}
    model = formats.model_from_ranks(ranks, rule=pre_tokenization("none"))
    assert model.merges == ((97, 98, 256), (98, 99, 257), (256, 99, 258))


def test_the_whole_piece_shortcut_reaches_entries_that_merging_does_not() -> None:
    ranks = {bytes([b]): b for b in range(256)} | {b"xyz": 256}
    rule = pre_tokenization("gpt2")
    with_shortcut = formats.model_from_ranks(ranks, rule=rule)
    without = formats.model_from_ranks(ranks, rule=rule, whole_piece=False)
    assert encode(with_shortcut, "xyz") == [256]
    assert encode(without, "xyz") == [120, 121, 122]


def test_the_tokenizer_fulfils_the_contract() -> None:
    tokenizer = ByteBPETokenizer(trained(special=SPECIAL))
    assert isinstance(tokenizer, Tokenizer)
    vocabulary = tokenizer.vocabulary
    assert (vocabulary.n_ids, vocabulary.n_entries, vocabulary.n_special) == (339, 339, 3)
    texts = ["", "the lowest", TEXT]
    ids = tokenizer.encode_batch(texts)
    assert tokenizer.decode_batch(ids) == texts
    for text, document in zip(texts, ids, strict=True):
        assert sum(vocabulary.byte_lengths[list(document)]) == len(text.encode())


def test_ids_that_do_not_exist_are_holes() -> None:
    vocabulary = ByteBPETokenizer(trained(n_merges=0, special={"<eos>": 300})).vocabulary
    assert vocabulary.n_ids == 301
    assert vocabulary.n_entries == 257


def test_the_pattern_is_part_of_the_fingerprint() -> None:
    a, b = (
        ByteBPETokenizer(build_model([], pre_tokenization(name))).fingerprint
        for name in ("digits_3", "digits_1")
    )
    assert a.sha256 != b.sha256
    assert {name for name in a.parts if a.parts[name] != b.parts[name]} == {"pre_tokenizer"}


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRE_TOKENIZATIONS)
@pytest.mark.parametrize("special", [{}, SPECIAL], ids=["plain", "special"])
def test_each_format_loads_back_to_equal_ids(
    name: str, special: dict[str, int], tmp_path: Path
) -> None:
    import tiktoken
    import tokenizers
    from tiktoken.load import load_tiktoken_bpe

    model = trained(name, special=special)
    write_rank_file(model, tmp_path / "m.tiktoken")
    formats.write_tokenizer_json(model, tmp_path / "tokenizer.json")
    formats.write_own_json(model, tmp_path / "model.json")
    arguments = json.loads((tmp_path / "m.tiktoken.json").read_text())
    ranks = load_tiktoken_bpe(str(tmp_path / "m.tiktoken"))
    theirs = tiktoken.Encoding(mergeable_ranks=ranks, **arguments)
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    context = LoadContext(folder=tmp_path)
    ours = [
        ByteBPE(file="model.json").load(context),
        ByteBPE(file="tokenizer.json").load(context),
        ByteBPE(file="m.tiktoken", pre_tokenization=name, special_tokens=special).load(context),
    ]
    for text in (TEXT, TEXT.upper(), "don't  x \n\n y12345 ❤️ の AI\n  "):
        expected = encode(model, text)
        assert theirs.encode_ordinary(text) == expected
        assert library.encode(text, add_special_tokens=False).ids == expected
        assert library.decode(expected, skip_special_tokens=False) == text
        for tokenizer in ours:
            assert list(tokenizer.encode_batch([text])[0]) == expected
    for tokenizer in ours[:2]:
        assert tokenizer.fingerprint == ByteBPETokenizer(model).fingerprint


def test_special_tokens_survive_the_formats(tmp_path: Path) -> None:
    import tokenizers

    model = trained(special=SPECIAL)
    formats.write_tokenizer_json(model, tmp_path / "t.json")
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    expected = encode(model, "the<eos>", allowed_special=SPECIAL)
    assert library.encode("the<eos>").ids == expected
    assert formats.load_model(tmp_path / "t.json").special_tokens == SPECIAL


def test_unreachable_entries_survive_our_own_format(tmp_path: Path) -> None:
    ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"xyz": 257}
    model = formats.model_from_ranks(ranks, rule=pre_tokenization("gpt2"))
    formats.write_own_json(model, tmp_path / "m.json")
    loaded = formats.load_model(tmp_path / "m.json")
    assert loaded == model
    assert encode(loaded, "xyz ab") == [257, 32, 256]


def test_an_id_order_that_ranks_cannot_hold_is_refused() -> None:
    model = BytePairModel(
        byte_ids=tuple(range(256)),
        merges=((97, 98, 257), (98, 99, 256)),
        pre_tokenization=pre_tokenization("none"),
    )
    with pytest.raises(TokenizerError, match="not in the order of its merges"):
        ranks_of(model)


def test_merges_may_be_written_as_one_string() -> None:
    content = formats.tokenizer_json(trained(n_merges=5))
    content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
    assert formats.model_from_tokenizer_json(content).merges == trained(n_merges=5).merges


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "NFC"}}, "it has a normalizer"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "is not supported by byte_bpe"),
        ({"pre_tokenizer": None}, "is not supported by byte_bpe"),
        ({"added_tokens": [{"content": "x", "id": 1, "special": False}]}, "not special"),
    ],
)
def test_a_tokenizer_json_with_more_than_byte_bpe_is_refused(
    change: dict[str, object], message: str
) -> None:
    content = formats.tokenizer_json(trained(n_merges=0)) | change
    with pytest.raises(TokenizerError, match=message):
        formats.model_from_tokenizer_json(content)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (None, {}, "x cannot be read"),
        (b"{", {}, "x:1:2: not JSON"),
        (b'{"format": "tokbench.byte_bpe", "version": 9}', {}, "reads 'tokbench.byte_bpe' version"),
        (b"YQ== 0\n", {}, "a rank file has no pattern"),
        (b"YQ== 0\n", {"pre_tokenization": "gpt2"}, "lack 255 of the 256 single bytes"),
        (b"YQ==\n", {"pre_tokenization": "gpt2"}, "line 1 is not a base64 token and a rank"),
        (b"YQ== 0\n", {"pre_tokenization": "x"}, "unknown pre-tokenization 'x'"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    data: bytes | None, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / "x").write_bytes(data)
    with pytest.raises(TokenizerError, match=message):
        ByteBPE(file="x", **options).load(LoadContext(folder=tmp_path))


def test_pattern_and_name_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        ByteBPE(file="x", pre_tokenization="gpt2", pattern="x")
