"""The bundled text says the same in every language, as far as a program can tell."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from functools import cache

import pytest
import regex

from tokbench.bench.config import bundled
from tokbench.bench.config.languages import resolve, resolve_all

SENTENCES = bundled.text_keys("sentences")
PROGRAMS = bundled.text_keys("programs")
WANTED = [
    "eng",
    "spa",
    "fra",
    "deu",
    "por",
    "rus",
    "ukr",
    "ell",
    "tur",
    "fin",
    "vie",
    "ind",
    "swh",
    "arb",
    "heb",
    "pes",
    "hin",
    "ben",
    "tam",
    "tha",
    "kat",
    "hye",
    "amh",
    "zho",
    "jpn",
    "kor",
]


@cache
def rows(dataset: str, key: str) -> dict[str, str]:
    data = bundled.text_path(dataset, key).read_bytes()  # type: ignore[arg-type]
    lines = data.decode("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    assert len({row["id"] for row in found}) == len(found)
    assert all(set(row) == {"id", "text"} for row in found)
    return {row["id"]: row["text"] for row in found}


def script_of(key: str) -> str:
    return str(resolve(key).script)


def test_the_languages_wanted_are_there_in_fourteen_scripts_and_more() -> None:
    assert set(WANTED) <= {key.split("_")[0] for key in SENTENCES}
    assert len(SENTENCES) >= 24
    assert len({script_of(key) for key in SENTENCES}) >= 14
    resolve_all(dict.fromkeys(SENTENCES))


@pytest.mark.parametrize("key", SENTENCES)
def test_sentences_have_the_same_ids_in_the_same_order(key: str) -> None:
    assert list(rows("sentences", key)) == list(rows("sentences", "eng_Latn"))
    assert len(rows("sentences", key)) >= 20


@pytest.mark.parametrize("key", SENTENCES)
def test_digits_of_a_sentence_are_the_same_in_every_language(key: str) -> None:
    for number, text in rows("sentences", key).items():
        english = rows("sentences", "eng_Latn")[number]
        assert _digits(text) == _digits(english), number


def _digits(text: str) -> list[int]:
    return [int(d) for c in text if (d := unicodedata.decimal(c, None)) is not None]


_SCRIPTS = {"Jpan": ("Hani", "Hira", "Kana"), "Hans": ("Hani",), "Kore": ("Hang", "Hani")}


@pytest.mark.parametrize("key", SENTENCES)
def test_letters_of_a_sentence_are_of_the_script_of_its_language(key: str) -> None:
    scripts = _SCRIPTS.get(script_of(key), (script_of(key),))
    own = regex.compile("".join(f"\\p{{Script={script}}}" for script in scripts).join("[]"))
    for number, text in rows("sentences", key).items():
        letters = [c for c in text if unicodedata.category(c)[0] == "L"]
        # names and units may be Latin; most letters are not
        assert sum(bool(own.match(c)) for c in letters) > 0.7 * len(letters), number


@pytest.mark.parametrize("key", SENTENCES)
def test_sentences_are_clean_text_of_a_likely_length(key: str) -> None:
    texts = rows("sentences", key)
    assert len(set(texts.values())) == len(texts)
    for number, text in texts.items():
        assert text == unicodedata.normalize("NFC", text).strip(), number
        assert not re.search(r"  |[\x00-\x1f\x7f\u200b\ufeff\ufffd]", text), number
        ratio = len(text) / len(rows("sentences", "eng_Latn")[number])
        assert 0.15 < ratio < 2.2, (number, ratio)


def test_no_sentence_is_left_in_another_language() -> None:
    seen: dict[str, str] = {}
    for key in SENTENCES:
        for number, text in rows("sentences", key).items():
            assert seen.setdefault(text, key) == key, (number, key)


# programs


def test_at_least_eight_programs_in_eight_languages_that_pygments_knows() -> None:
    assert len(PROGRAMS) >= 8
    assert all(len(rows("programs", key)) >= 8 for key in PROGRAMS)
    resolve_all(dict.fromkeys(PROGRAMS), kind="code")


@pytest.mark.parametrize("key", PROGRAMS)
def test_programs_have_the_same_ids_in_the_same_order(key: str) -> None:
    assert list(rows("programs", key)) == list(rows("programs", "python"))


@pytest.mark.parametrize("number", list(rows("programs", "python")))
def test_a_program_prints_the_same_words_in_every_language(number: str) -> None:
    """At least two words of string literals occur in all languages, and pages of code differ."""
    words = [_literal_words(key, rows("programs", key)[number]) for key in PROGRAMS]
    common = set.intersection(*words)
    assert len(common) >= 2, common
    texts = [rows("programs", key)[number] for key in PROGRAMS]
    assert len(set(texts)) == len(texts)


def _literal_words(key: str, text: str) -> set[str]:
    from pygments.lexers import get_lexer_by_name
    from pygments.token import String

    tokens = get_lexer_by_name(key).get_tokens(text)
    literal = "".join(v if kind in String else "\n" for kind, v in tokens)
    return {word.lower() for word in re.findall(r"[A-Za-z]{2,}", literal)}


@pytest.mark.parametrize("key", PROGRAMS)
def test_programs_are_whole_small_files_that_their_lexer_reads(key: str) -> None:
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Error

    for number, text in rows("programs", key).items():
        assert text.endswith("\n"), number
        assert "\r" not in text, number
        assert 8 <= text.count("\n") <= 60, number
        kinds = Counter(kind for kind, _ in get_lexer_by_name(key).get_tokens(text))
        assert not kinds[Error], number
