"""WordPiece: the greedy cut, BERT's normalization, and equality with `tokenizers`."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import HasOffsets, Tokenizer
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.wordpiece.bert_characters import BertOptions, split_character
from tokbench.tokenizers_impl.wordpiece.files import from_json, to_json
from tokbench.tokenizers_impl.wordpiece.matcher import LongestMatcher
from tokbench.tokenizers_impl.wordpiece.model import (
    WordPieceTokenizer,
    longest_match,
    split_words,
)
from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece

UNCASED = BertOptions(lowercase=True)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "un", "##want", "##ed", "run", "##ning", ",", "a", "##a", "é"]


def small(options: BertOptions = UNCASED) -> WordPieceTokenizer:
    return WordPieceTokenizer(TOKENS, options=options)


def ids(tokenizer: WordPieceTokenizer, text: str) -> list[int]:
    return list(tokenizer.encode_batch([text])[0])


def test_it_is_a_tokenizer_with_offsets() -> None:
    assert isinstance(small(), Tokenizer)
    assert isinstance(small(), HasOffsets)


def test_the_longest_entry_is_taken_first() -> None:
    assert [TOKENS[i] for i in ids(small(), "Unwanted, running")] == [
        "un", "##want", "##ed", ",", "run", "##ning",
    ]  # fmt: skip


def test_a_word_that_cannot_be_cut_is_one_unknown_token() -> None:
    assert ids(small(), "unwantedX a") == [1, 9]


def test_a_word_of_101_characters_is_unknown_and_one_of_100_is_not() -> None:
    assert ids(small(), "a" * 100) == [9] + [10] * 99
    assert ids(small(), "a" * 101) == [1]


def test_a_special_token_spelled_in_text_is_ordinary_text() -> None:
    assert ids(small(), "[CLS]") == [1, 1, 1]


def test_an_unknown_token_covers_its_whole_word_so_that_lost_text_can_be_counted() -> None:
    found, spans = small().encode_batch_with_offsets(["a zzz a"])
    assert (found[0], spans[0]) == ([9, 1, 9], [(0, 1), (2, 5), (6, 7)])


def test_lower_casing_deletes_vowel_signs_and_keeping_accents_does_not() -> None:
    assert split_words("नमस्ते", UNCASED)[0][0] == "नमसत"
    kept = BertOptions(lowercase=True, strip_accents=False)
    assert split_words("नमस्ते", kept)[0][0] == "नमस्ते"


def test_sigma_is_lower_cased_without_regard_to_the_end_of_the_word() -> None:
    assert split_words("ΟΔΟΣ", UNCASED)[0][0] == "οδοσ"


def test_separators_that_only_python_knows_do_not_cut_words() -> None:
    assert ids(small(), "run\x1cning\x0b\x85") == ids(small(), "running")
    assert ids(small(BertOptions(lowercase=True, clean_text=False)), "a\x85a") == [9, 9]


def test_token_bytes_leave_out_the_mark_and_the_special_tokens() -> None:
    facts = small().vocabulary
    assert facts.token_bytes[4] == b"want"
    assert facts.token_bytes[2] is None
    assert facts.unknown_ids == {1}
    assert facts.special_ids == {0, 1, 2}


def test_the_json_of_our_own_reads_back_equal(tmp_path: Path) -> None:
    tokenizer = small(BertOptions(lowercase=False, clean_text=False))
    again = from_json(to_json(tokenizer), tmp_path / "m.json")
    assert again.fingerprint == tokenizer.fingerprint
    assert again.tokens == tokenizer.tokens


def test_options_are_part_of_the_fingerprint() -> None:
    parts = {BertOptions(lowercase=low): None for low in (True, False)}
    assert len({small(options).fingerprint.sha256 for options in parts}) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\nb\n", r"no \[UNK\] entry"),
        ("[UNK]\na\na\n", "has 'a' twice"),
    ],
)
def test_a_broken_vocabulary_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text(content, "utf-8")
    with pytest.raises(TokenizerError, match=message):
        WordPiece(file="vocab.txt", lowercase=True).load(LoadContext(folder=tmp_path))


def test_vocab_txt_without_a_word_about_case_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\n", "utf-8")
    with pytest.raises(TokenizerError, match="set `lowercase: true`"):
        WordPiece(file="vocab.txt").load(LoadContext(folder=tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"vocab\.txt cannot be read: No such file"):
        WordPiece(file="vocab.txt", lowercase=True).load(LoadContext(folder=tmp_path))


OPTIONS = [
    UNCASED,
    BertOptions(lowercase=False),
    BertOptions(lowercase=True, strip_accents=False),
    BertOptions(lowercase=False, strip_accents=True, handle_chinese_chars=False),
    BertOptions(lowercase=False, clean_text=False),
]


def library_words(text: str, options: BertOptions) -> list[str]:
    normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=options.clean_text,
        handle_chinese_chars=options.handle_chinese_chars,
        strip_accents=options.strip_accents,
        lowercase=options.lowercase,
    )
    split = tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    return [word for word, _ in split(normalizer.normalize_str(text))]


@pytest.mark.parametrize("options", OPTIONS)
def test_every_assigned_character_is_split_as_in_tokenizers(options: BertOptions) -> None:
    characters = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) not in {"Cn", "Cs"}
        # newer than the running Python, or Private Use: the library's table is one range
        and not 0xF0100 < code < 0x10FFFD
    ]
    # Python 3.11 knows Unicode 14; letters whose lower case came later are the library's alone
    mine = ["".join(split_character(c, options)).split(" ") for c in characters]
    text = "x\n".join(characters)
    words = iter(library_words(text.replace("x\n", " x "), options))
    for character, pieces in zip(characters, mine, strict=True):
        for piece in filter(None, pieces):
            assert next(words) == piece, hex(ord(character))
        assert next(words, "x") == "x"


@settings(max_examples=200, deadline=None)
@given(text=st.text(), options=st.sampled_from(OPTIONS))
def test_the_two_ways_to_encode_agree(text: str, options: BertOptions) -> None:
    tokenizer = small(options)
    assert tokenizer.encode_batch([text])[0] == tokenizer.encode_batch_with_offsets([text])[0][0]


@pytest.mark.parametrize(
    ("name", "lowercase"),
    [
        ("bert-base-uncased", True),
        ("bert-base-cased", False),
        ("bert-base-multilingual-cased", False),
    ],
)
def test_ids_offsets_and_text_equal_those_of_tokenizers(
    name: str, lowercase: bool, data_folder: Path, mixed_texts: list[str]
) -> None:
    path = data_folder / "tokenizers" / name / "vocab.txt"
    library = tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase)
    mine = WordPiece(file=str(path), lowercase=lowercase).load(LoadContext(folder=data_folder))
    expected = library.encode_batch(mixed_texts, add_special_tokens=False)
    found, spans = mine.encode_batch_with_offsets(mixed_texts)
    assert mine.encode_batch(mixed_texts) == [e.ids for e in expected]
    assert found == [e.ids for e in expected]
    assert spans == [e.offsets for e in expected]
    assert mine.decode_batch(found) == library.decode_batch(
        [e.ids for e in expected], skip_special_tokens=False
    )


@settings(deadline=None)
@given(
    texts=st.lists(st.text("aabc 中x", max_size=12), max_size=20),
    entries=st.sets(st.text("aabc中", min_size=1, max_size=5), max_size=12),
    continuations=st.sets(st.text("aabc中", min_size=1, max_size=5), max_size=12),
    longest=st.sampled_from([2, 100]),
)
def test_words_matched_together_equal_the_longest_match_of_each(
    texts: list[str], entries: set[str], continuations: set[str], longest: int
) -> None:
    starts = {entry: 1 + i for i, entry in enumerate(sorted(entries))}
    inner = {entry: 50 + i for i, entry in enumerate(sorted(continuations))}
    expected = []
    for text in texts:
        words = [word for word in text.split(" ") if word]
        found = [None if len(w) > longest else longest_match(w, starts, inner) for w in words]
        expected.append([i for one in found for i, _ in (one or [(0, 0)])])
    ids, counts = LongestMatcher(starts, inner, unknown=0, longest=longest).match(texts)
    assert counts.tolist() == list(map(len, expected))
    assert ids.tolist() == [i for one in expected for i in one]
