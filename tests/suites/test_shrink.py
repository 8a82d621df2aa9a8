"""A failing text shrinks to one from which nothing can be taken away."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tokbench.suites.witnesses.shrink import shrink


def test_a_cause_of_two_characters_far_apart_is_found() -> None:
    def fails(texts: Sequence[str]) -> list[bool]:
        return ["(" in t and ")" in t[t.find("(") :] for t in texts]

    assert shrink("before (inside a long stretch of text) after", fails) == "()"


def test_a_word_that_is_too_long_keeps_its_length() -> None:
    small = shrink("x" * 150, lambda ts: [len(t) > 100 for t in ts])
    assert small == "a" * 101


@given(st.text(alphabet="abcXY", min_size=1, max_size=60))
def test_no_character_of_the_result_can_go(text: str) -> None:
    def fails(texts: Sequence[str]) -> list[bool]:
        return [t.count("X") >= 2 for t in texts]

    small = shrink(text, fails)
    assert small == ("XX" if text.count("X") >= 2 else None)
