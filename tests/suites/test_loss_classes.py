"""A text that does not come back is told why."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.run.probe import Trip
from tokbench.suites.witnesses.alignment import spots
from tokbench.suites.witnesses.loss_classes import Manner, classes_of


@pytest.mark.parametrize(
    ("text", "back", "class_"),
    [
        ("plain", " plain", "prefix_space"),
        ("a  b", "a b", "whitespace"),
        ("a\tb", "a b", "whitespace"),
        (" a ", "a", "whitespace"),
        ("don't", "don ' t", "whitespace_added"),
        ("well .", "well.", "clean_up"),
        ("a▁b", "a b", "space_mark"),
        ("e\u0301", "é", "normal_form"),
        ("ﬁ", "fi", "compatibility"),
        ("Ａ", "A", "compatibility"),
        ("Street", "street", "case"),
        ("naïve", "naive", "marks"),
        ("नमस्ते", "नमसत", "marks"),
        ("a\u200db", "ab", "control"),
        ("a字b", "a[UNK]b", "unknown"),
        ("a<s>b", "a<s> b", "special_token"),
        ("日", "\ufffd", "invalid_utf8"),
        ("Zürich", "ürich", "dropped"),
        ("left", "right", "other"),
    ],
)
def test_each_class_is_recognised(text: str, back: str, class_: str) -> None:
    manner = Manner(unknown="[UNK]", spellings=frozenset({"<s>"}))
    assert classes_of(Trip(text=text, back=back), manner) == {class_}


def test_a_text_can_have_several_classes() -> None:
    trip = Trip(text="Das ﬁnde  ich schön.", back="das finde ich schon.")
    assert classes_of(trip, Manner()) == {"case", "compatibility", "whitespace", "marks"}


def test_a_failure_of_the_library_is_a_class() -> None:
    assert classes_of(Trip(text="x", failure="ValueError: no"), Manner()) == {"failed"}


def test_marks_in_another_order_are_not_lost() -> None:
    text = "a\u034b\u0302\u0312\u031e"
    trip = Trip(text=text, back=unicodedata.normalize("NFC", text))
    assert not trip.exact
    assert classes_of(trip, Manner()) == {"normal_form"}


@given(st.text(max_size=40), st.text(max_size=40))
def test_putting_the_spots_in_gives_the_other_text(before: str, after: str) -> None:
    parts, at = [], 0
    for spot in spots(before, after):
        parts += [before[at : spot.start], after[spot.to_start : spot.to_end]]
        at = spot.end
    assert "".join([*parts, before[at:]]) == after


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_only_exact_round_trips_have_no_class(text: str) -> None:
    back = unicodedata.normalize("NFKC", text)
    assert bool(classes_of(Trip(text=text, back=back), Manner())) == (text != back)
