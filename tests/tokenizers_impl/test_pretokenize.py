"""Where texts are cut: by the patterns as published, in both libraries, and by array rules."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import ConfigError, TokenizerError
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, from_pattern, pre_tokenization
from tokbench.tokenizers_impl.pretokenize_fast import ARRAY_RULES, Cutter, JoinedTexts

NAMES = list(PRE_TOKENIZATIONS)

TRICKY = [
    "",
    "a",
    " ",
    "  ",
    "\n",
    " a  b   c",
    "it's I'LL we'Ve don'tell 's ''s x''s",
    "don't've O'Reilly ROCK'N'ROLL 'ſ",
    "12345678 1 22 333 4444 x5y ²³ ٣٤٥٦",
    "x \n  \n y\n\n  z \t\n",
    "end with blanks \n  ",
    ".\n\n  x ;\r\n//c .\n/,T !!?\n",
    "fooBar HTMLParser ABCdef のAI東京TOWER",
    "e\u0301a ❤️❤️ ..\u0301x .\u0301x \u0301\u0301",
    "नमस्ते สวัสดี 今天天气很好",
    "a\u00a0b\u3000c\u2028d\x85e",
    "\0 a\0b",
]

# Characters on whose category Python, `regex` and the libraries' tables agree.
CHARACTERS = st.characters(exclude_categories=("Cs", "Cn")).filter(
    lambda c: regex.fullmatch(rf"\p{{{unicodedata.category(c)}}}", c) is not None
)
AWKWARD = st.sampled_from(list("aabBsStTlLvVeErR'' '  \n\n\r\t.,/!12é東À\u0301\ufe0f❤ſʰ\u00a0"))
TEXTS = st.text(st.one_of(AWKWARD, CHARACTERS), max_size=20)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TRICKY)
def test_pieces_joined_are_the_text(name: str, text: str) -> None:
    assert "".join(pre_tokenization(name).split(text)) == text


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("none", ["It's 12345678"]),
        ("whitespace", ["It's", " 12345678"]),
        ("gpt2", ["It", "'s", " 12345678"]),
        ("cl100k", ["It", "'s", " ", "123", "456", "78"]),
        ("o200k", ["It's", " ", "123", "456", "78"]),
        ("digits_3", ["It", "'s", " ", "123", "456", "78"]),
        ("digits_3_right", ["It", "'s", " ", "12", "345", "678"]),
        ("digits_1", ["It", "'s", " ", "1", "2", "3", "4", "5", "6", "7", "8"]),
    ],
)
def test_each_rule_cuts_its_own_way(name: str, pieces: list[str]) -> None:
    assert pre_tokenization(name).split("It's 12345678") == pieces


def cut(pattern: str, texts: list[str]) -> list[list[str]]:
    joined = JoinedTexts.of(texts)
    starts = Cutter(from_pattern(pattern)).starts(joined).tolist()
    separators = set(joined.separators.tolist())
    result: list[list[str]] = []
    for begin, end in pairwise(starts):
        if begin in separators:
            result.append([])
        else:
            result[-1].append(joined.text[begin:end])
    return result[:-1]


@pytest.mark.parametrize("pattern", ARRAY_RULES)
def test_array_rules_cut_where_the_pattern_does(pattern: str) -> None:
    assert cut(pattern, TRICKY) == [from_pattern(pattern).split(text) for text in TRICKY]


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_array_rules_cut_any_text_where_the_pattern_does(texts: list[str]) -> None:
    for pattern in ARRAY_RULES:
        assert cut(pattern, texts) == [from_pattern(pattern).split(text) for text in texts]


@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_long_texts_are_cut_only_where_a_piece_starts(text: str) -> None:
    text = (text + "ab cd") * 3
    for pattern in ARRAY_RULES:
        places = Cutter(from_pattern(pattern)).safe_cuts(text, 4)
        parts = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
        pieces = [piece for part in parts for piece in from_pattern(pattern).split(part)]
        assert pieces == from_pattern(pattern).split(text)


def test_a_pattern_without_array_rules_is_cut_by_regex() -> None:
    assert not Cutter(from_pattern(r"\S+|\s+")).vectorised
    assert cut(r"\S+|\s+", ["a b", "", "c"]) == [["a", " ", "b"], [], ["c"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_tokenizers_library_cuts_at_the_same_places(name: str) -> None:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    rule = pre_tokenization(name)
    split = Split(Regex(rule.tokenizers_pattern), "isolated")
    for text in TRICKY:
        assert [piece for piece, _ in split.pre_tokenize_str(text)] == rule.split(text)


def test_the_bounded_possessive_quantifier_means_something_else_in_tokenizers() -> None:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    rule = pre_tokenization("cl100k")
    verbatim = Split(Regex(rule.pattern), "isolated").pre_tokenize_str("12345")
    assert [piece for piece, _ in verbatim] == ["12345"]
    assert rule.split("12345") == ["123", "45"]


def test_a_known_pattern_is_known_by_name_in_both_dialects() -> None:
    rule = pre_tokenization("cl100k")
    assert from_pattern(rule.pattern) is rule
    assert from_pattern(rule.tokenizers_pattern, dialect="tokenizers") is rule


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="use one of: none, whitespace, gpt2"):
        pre_tokenization("gtp2")


def test_a_broken_pattern_is_refused() -> None:
    with pytest.raises(ConfigError, match="not a regular expression"):
        from_pattern("(")


def test_a_pattern_that_drops_text_is_refused() -> None:
    with pytest.raises(TokenizerError, match="does not match every character"):
        from_pattern(r"\w+").split("a b")
