"""What every tokenizer promises, checked on every implementation that can be built here.

To add one, add a line to IMPLEMENTATIONS: a name, and how to build it from a `Places`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import HasMerging, HasOffsets, HasPreTokens, Ids, Tokenizer
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.samples import SAMPLES, is_installed
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken
from tokbench.tokenizers_impl.baselines.characters import Characters
from tokbench.tokenizers_impl.baselines.utf8_bytes import Utf8Bytes


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where an implementation finds what it is built from."""

    request: pytest.FixtureRequest
    tmp: Path

    def case(self, plugin: TokenizerPlugin) -> Tokenizer:
        """Load with paths below the case tokenizers; skip where the cases are absent."""
        folder: Path = self.request.getfixturevalue("case_tokenizers")
        return plugin.load(LoadContext(folder=folder))

    def alone(self, plugin: TokenizerPlugin) -> Tokenizer:
        """Load what needs no file; skip where its sample package is absent."""
        name = getattr(plugin, "sample", None) or getattr(plugin, "encoding", None)
        if name in SAMPLES and not is_installed(SAMPLES[name]):
            pytest.skip(f"package {SAMPLES[name].distribution} is not installed")
        return plugin.load(LoadContext(folder=self.tmp))


WORDS = r"\p{L}+|\P{L}+"

IMPLEMENTATIONS: dict[str, Callable[[Places], Tokenizer]] = {
    "utf8_bytes": lambda p: p.alone(Utf8Bytes()),
    "characters": lambda p: p.alone(Characters()),
    "tiktoken_sample": lambda p: p.alone(Tiktoken(encoding="cl100k_base")),
    "tiktoken_ranks": lambda p: p.case(Tiktoken(file="bytes256.tiktoken", pattern=WORDS)),
    "qwen_sample": lambda p: p.alone(Tiktoken(sample="qwen3_6")),
    "deepseek_sample": lambda p: p.alone(HuggingFace(sample="deepseek")),
    "hf_byte_level": lambda p: p.case(HuggingFace(file="bl.json")),
    "hf_prefix_space": lambda p: p.case(HuggingFace(file="bl_prefix.json")),
    "hf_single_bytes": lambda p: p.case(HuggingFace(file="bytes_only.json")),
    "hf_truncated": lambda p: p.case(HuggingFace(file="bl_trunc16.json")),
    "hf_matching": lambda p: p.case(HuggingFace(file="bl_strip.json", special_tokens="match")),
    "hf_no_pretokenizer": lambda p: p.case(HuggingFace(file="no_pretokenizer.json")),
    "hf_wordpiece": lambda p: p.case(HuggingFace(file="wp_uncased.json")),
    "sp_default": lambda p: p.case(SentencePiece(file="sp_default.model")),
    "sp_lossless": lambda p: p.case(SentencePiece(file="sp_lossless.model")),
}

TEXTS = (
    "",
    " ",
    "a",
    "Hello, world!",
    "  two  spaces\tand\r\nlines\n",
    "naïve café, 東京 สวัสดี नमस्ते مرحبا",
    "👩‍👩‍👧 🇺🇳 e\u0301 ﬁ \u200b\ufeff",
    "<|endoftext|> </s> [MASK] <0x0A> <s>",
    "x" * 300,
)


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Tokenizer:
    """Each implementation in turn, built once."""
    places = Places(request=request, tmp=tmp_path_factory.mktemp("alone"))
    built = IMPLEMENTATIONS[request.param](places)
    assert isinstance(built, Tokenizer)
    return built


def plain(batch: object) -> list[list[int]]:
    """Ids of whatever type as lists."""
    return [[int(i) for i in ids] for ids in batch]  # type: ignore[attr-defined]


def test_ids_are_whole_numbers_within_the_vocabulary(tokenizer: Tokenizer) -> None:
    for ids in tokenizer.encode_batch(TEXTS):
        array = np.asarray(ids)
        assert array.ndim == 1
        assert len(array) == 0 or np.issubdtype(array.dtype, np.integer)
        assert all(0 <= i < tokenizer.vocabulary.n_ids for i in plain([ids])[0])


def test_no_id_is_a_hole_or_a_special_token_that_was_not_asked_for(tokenizer: Tokenizer) -> None:
    v = tokenizer.vocabulary
    used = set(itertools.chain.from_iterable(plain(tokenizer.encode_batch(TEXTS[:7]))))
    assert not used & v.hole_ids
    assert not used & (v.special_ids - v.unknown_ids)


def test_pre_tokens_are_told_of_the_same_ids(tokenizer: Tokenizer) -> None:
    if not isinstance(tokenizer, HasPreTokens):
        pytest.skip("does not say which tokens lie in one pre-token")
    ids, numbers = tokenizer.encode_batch_in_pre_tokens(list(TEXTS))
    assert plain(ids) == plain(tokenizer.encode_batch(TEXTS))
    for one, many in zip(ids, numbers, strict=True):
        assert len(one) == len(many)
        assert list(many) == sorted(many)


def test_merging_starts_from_the_content_of_an_entry(tokenizer: Tokenizer) -> None:
    rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
    if rules is None:
        pytest.skip("not BPE, or does not say how it joins")
    v = tokenizer.vocabulary
    left_out = v.special_ids | v.unknown_ids | v.added_ids
    for i, symbols in itertools.islice(rules.entries(), 2000):
        assert i not in left_out
        assert v.token_bytes[i]
        if len(symbols) == 2:
            assert rules.join(*symbols) is not None


def test_an_empty_text_has_no_tokens_and_no_tokens_are_an_empty_text(tokenizer: Tokenizer) -> None:
    assert plain(tokenizer.encode_batch([""])) == [[]]
    assert list(tokenizer.decode_batch([[]])) == [""]
    assert plain(tokenizer.encode_batch([])) == []
    assert list(tokenizer.decode_batch([])) == []


def test_a_batch_gives_what_its_texts_give_one_by_one(tokenizer: Tokenizer) -> None:
    together = tokenizer.encode_batch(TEXTS)
    assert plain(together) == [plain(tokenizer.encode_batch([text]))[0] for text in TEXTS]
    texts = list(tokenizer.decode_batch(together))
    assert texts == [tokenizer.decode_batch([ids])[0] for ids in together]
    assert plain(tokenizer.encode_batch(tuple(TEXTS))) == plain(together)


def test_decoding_takes_lists_and_arrays_alike(tokenizer: Tokenizer) -> None:
    ids = plain(tokenizer.encode_batch(TEXTS))
    arrays: list[Ids] = [np.array(i, np.uint32) for i in ids]
    assert list(tokenizer.decode_batch(ids)) == list(tokenizer.decode_batch(arrays))


def test_plain_words_survive_a_round_trip(tokenizer: Tokenizer) -> None:
    """Even where case or a prefix space changes; the words are in every small vocabulary."""
    text = "the river stone over little house"
    [decoded] = tokenizer.decode_batch(tokenizer.encode_batch([text]))
    assert decoded.strip() == text


def test_a_byte_exact_tokenizer_keeps_every_byte(tokenizer: Tokenizer) -> None:
    if not tokenizer.byte_exact:
        pytest.skip("not byte-exact, and says so")
    lengths = tokenizer.vocabulary.byte_lengths
    for text, ids in zip(TEXTS, plain(tokenizer.encode_batch(TEXTS)), strict=True):
        assert all(lengths[ids] >= 0)
        added = int(lengths[ids].sum()) - len(text.encode())
        assert added in ((0, 1) if tokenizer.prefix_space else (0,)), text


def test_token_bytes_spell_the_text(tokenizer: Tokenizer) -> None:
    if not tokenizer.byte_exact:
        pytest.skip("not byte-exact, and says so")
    content = tokenizer.vocabulary.token_bytes
    for text, ids in zip(TEXTS, plain(tokenizer.encode_batch(TEXTS)), strict=True):
        spelt = b"".join(content[i] or b"" for i in ids)
        assert spelt in (text.encode(), b" " + text.encode())


def test_offsets_belong_to_the_plain_ids_and_stay_inside_the_text(tokenizer: Tokenizer) -> None:
    if not isinstance(tokenizer, HasOffsets):
        pytest.skip("has no offsets")
    ids, spans = tokenizer.encode_batch_with_offsets(TEXTS)
    assert plain(ids) == plain(tokenizer.encode_batch(TEXTS))
    for text, of_ids, of_spans in zip(TEXTS, ids, spans, strict=True):
        assert len(of_ids) == len(of_spans)
        assert all(0 <= start <= end <= len(text) for start, end in of_spans)
        assert sorted(of_spans, key=lambda span: span[0]) == list(of_spans)
        ends = [end for _, end in of_spans]
        assert sorted(ends) == ends


def test_the_facts_of_the_vocabulary_agree(tokenizer: Tokenizer) -> None:
    v = tokenizer.vocabulary
    ids = v.special_ids | v.unknown_ids | v.byte_fallback_ids | v.hole_ids
    assert all(0 <= i < v.n_ids for i in ids)
    assert v.n_ids == len(v.token_bytes) == len(v.byte_lengths) == v.n_entries + len(v.hole_ids)
    assert all(v.byte_lengths[i] == -1 for i in v.hole_ids | v.unknown_ids)
    assert all(v.byte_lengths[i] == 1 for i in v.byte_fallback_ids)
    sample = range(0, v.n_ids, max(1, v.n_ids // 500))
    content = [v.token_bytes[i] for i in sample]
    assert [-1 if b is None else len(b) for b in content] == v.byte_lengths[sample].tolist()
    whole = [b is None or b.decode("utf-8", "ignore").encode() == b for b in content]
    assert [not w for w in whole] == v.is_partial_character[sample].tolist()


def test_building_it_again_gives_the_same_fingerprint(
    request: pytest.FixtureRequest, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    [name] = [n for n in IMPLEMENTATIONS if f"[{n}]" in request.node.name]
    again = IMPLEMENTATIONS[name](Places(request=request, tmp=tmp_path))
    assert again.fingerprint.sha256 == tokenizer.fingerprint.sha256
    assert len(again.fingerprint.sha256) == 64


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="▁")))
def test_a_byte_exact_tokenizer_gives_any_text_back(tokenizer: Tokenizer, text: str) -> None:
    """But for ▁, which SentencePiece cannot tell from a space, and an added prefix space."""
    if not tokenizer.byte_exact:
        pytest.skip("not byte-exact, and says so")
    ids = tokenizer.encode_batch([text])
    [decoded] = tokenizer.decode_batch(ids)
    assert decoded == text or (tokenizer.prefix_space and decoded == " " + text)
    lengths = tokenizer.vocabulary.byte_lengths[plain(ids)[0]]
    assert int(lengths.sum()) - len(text.encode()) in ((0, 1) if tokenizer.prefix_space else (0,))


@pytest.mark.parametrize(
    "plugin",
    [
        HuggingFace(file="absent.json"),
        HuggingFace(file="absent.txt", lowercase=True),
        SentencePiece(file="absent.model"),
        Tiktoken(file="absent.tiktoken", pattern=WORDS),
    ],
    ids=lambda plugin: type(plugin).__name__,
)
def test_a_missing_file_is_named_as_the_user_wrote_it(
    plugin: TokenizerPlugin, tmp_path: Path
) -> None:
    with pytest.raises(TokenizerError, match=r"^absent\.\w+ cannot be read: No such file"):
        plugin.load(LoadContext(folder=tmp_path))
