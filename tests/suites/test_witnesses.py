"""The suite classes each failure and shows a smallest text that fails again."""

from __future__ import annotations

import unicodedata

from byte_tokenizer import Ask
from tokbench.suites.witnesses.fuzz import CATEGORIES, fuzz
from tokbench.suites.witnesses.loss_classes import Manner, classes_of, losses
from tokbench.suites.witnesses.suite import Ledger


def witnesses(ask: Ask, texts: list[str], **options: object) -> dict[str, str]:
    subject = ask(**options)
    manner = Manner.of(subject)
    ledger = Ledger()
    for trip in subject.trips(texts):
        ledger.add(trip, losses(trip, manner), None)
    found = list(ledger.witnesses(subject, manner))
    for finding in found:
        trip = subject.trips([finding.data["text"]])[0]
        assert finding.data["class"] in classes_of(trip, manner)
        assert finding.data["repeats"]
    return {finding.data["class"]: finding.data["text"] for finding in found}


def test_a_normalizer_is_shown_by_one_character(ask: Ask) -> None:
    nfkc = lambda text: unicodedata.normalize("NFKC", text)  # noqa: E731
    assert witnesses(ask, ["Über Ａ und ﬁ hinaus"], change=nfkc) == {"compatibility": "Ａ"}


def test_unknown_and_normalization_are_kept_apart(ask: Ask) -> None:
    found = witnesses(ask, ["Ein Wort 字 und noch EIN Wort"], change=str.lower, unknown="字")
    assert found == {"unknown": "字", "case": "E"}


def test_a_text_that_makes_the_library_fail_is_a_witness(ask: Ask) -> None:
    assert witnesses(ask, ["fine", "not \0 fine"]) == {"failed": "\0"}


def test_a_lossless_tokenizer_has_no_witness(ask: Ask) -> None:
    texts = [one.text.replace("\0", "") for one in fuzz(0, 20)]
    assert witnesses(ask, texts) == {}


def test_fuzz_is_utf8_and_has_every_category() -> None:
    texts = fuzz(7, 5, ["<s>"])
    assert {one.category for one in texts} == {*CATEGORIES, "special_spellings"}
    assert all(one.text.encode() for one in texts)


def test_a_seed_gives_the_same_strings_everywhere() -> None:
    assert fuzz(0, 1)[0].text == fuzz(0, 3)[0].text
    assert [ascii(one.text) for one in fuzz(0, 1) if one.category == "ascii"] == [ASCII_OF_SEED_0]


ASCII_OF_SEED_0 = ascii("|%eE+>q;fqW")
