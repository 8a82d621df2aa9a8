"""What did not survive, and why: classes, lost bytes by cause, and a witness of each class."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.bench.corpus.slices import Slice
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.roundtrip import classify, covered_bytes, explain
from tokbench.bench.count.tally import LOSS_CAUSES, ROUND_TRIP, Tally
from tokbench.bench.count.white_space import white_space_loss
from tokbench.bench.environment import Stopwatch
from tokbench.bench.model import Ids, Vocabulary

Survives = Callable[..., Tally]


@dataclass(frozen=True, kw_only=True)
class Changing:
    """Characters as ids, and a decoder that gives what `change` makes of the text."""

    change: Callable[[str], str]
    byte_exact = False
    prefix_space = False
    vocabulary = Vocabulary(token_bytes=[None] * 0x110000)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        return [[ord(c) for c in text] for text in texts]

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        return [self.change("".join(map(chr, one))) for one in ids]


@pytest.fixture
def survives(make: Callable[..., Slice], tmp_path: Path) -> Survives:
    """Count texts that come back changed."""

    def count(change: Callable[[str], str], *texts: str) -> Tally:
        rows = [json.dumps({"text": text}) + "\n" for text in texts]
        (tmp_path / "t.jsonl").write_text("".join(rows), encoding="utf-8")
        [batch] = make("en", source="files", path="t.jsonl").batches()
        tokenizer: Any = Changing(change=change)
        return Counter(tokenizer=tokenizer, watch=Stopwatch()).count(batch)

    return count


def lost(tally: Tally) -> dict[str, int]:
    totals = {cause: tally.total(f"lost_{cause}") for cause in LOSS_CAUSES}
    return {cause: n for cause, n in totals.items() if n}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("a b", "a b", "exact"),
        ("", "", "exact"),
        ("a b", " a b", "normalized"),
        ("a  b\t\n", "a b", "normalized"),
        ("caf\u00e9", "cafe\u0301", "normalized"),
        ("\u212b", "\u00c5", "normalized"),  # canonically equivalent
        ("a\u00a0b", "a b", "normalized"),
        ("a b", "ab", "lossy"),
        ("don't", "don ' t", "lossy"),
        ("A", "a", "lossy"),
        ("\u210c", "H", "lossy"),  # compatibility
        ("x", "", "lossy"),
        ("", "x", "lossy"),
        ("ab", "ba", "lossy"),
        ("\u200bx", "x", "lossy"),
    ],
)
def test_a_round_trip_has_a_class(before: str, after: str, kind: str) -> None:
    assert ROUND_TRIP[classify(before, after)] == kind


def test_what_stands_for_an_unknown_token_is_no_round_trip_though_it_may_look_like_one() -> None:
    before, after = "a \u2047", "a  \u2047 "  # SentencePiece writes this for unknown tokens
    assert ROUND_TRIP[classify(before, after)] == "normalized"
    assert ROUND_TRIP[classify(before, after, unknown=True)] == "lossy"
    assert ROUND_TRIP[classify(before, before, unknown=True)] == "exact"


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("Ab", str.lower, {"case": 1}),
        ("ÀB", str.lower, {"case": 3}),  # two bytes and one
        ("é日x", lambda t: t.replace("日", ""), {"other": 3}),
        ("café", lambda t: t.replace("é", "e"), {"marks": 2}),
        ("É", lambda t: "e", {"marks": 2}),
        ("नमस्ते", lambda t: "नमसत", {"marks": 6}),
        ("①ﬁ", lambda t: unicodedata.normalize("NFKC", t), {"compatibility": 6}),
        ("aaa", lambda t: "a", {"other": 2}),
        ("ab", lambda t: "ba", {}),  # the order is not looked at
        ("ab", lambda t: "a b", {"spacing": 1}),
        ("a b", lambda t: "ab", {"spacing": 1}),
        ("a  b", lambda t: "a b", {"spacing": 1}),
        ("a\u3000b", lambda t: "a b", {"spacing": 3}),  # one of three bytes became another
        ("Aé b", lambda t: "ae  b", {"case": 1, "marks": 2, "spacing": 1}),
        ("a\nb", lambda t: "a b", {"line_ends": 1}),
        ("a\r\nb", lambda t: "a\nb", {"line_ends": 1}),
        ("if a:\n    b", lambda t: "if a:\nb", {"indentation": 4}),
        ("if a:\n    b", lambda t: "if a: b", {"line_ends": 1, "indentation": 3}),
        ("a\u200bb", lambda t: "a b", {"spacing": 3}),  # a zero-width space became a space
        ("a\u200bb", lambda t: "ab", {"other": 3}),
        ("a b", lambda t: f" {t}", {}),  # a model adds one leading space
        ("\ta b \n", str.strip, {}),
        ("🙂", lambda t: "", {"other": 4}),
        ("x", lambda t: "xyz", {}),
        ("", lambda t: "x", {}),
        ("caf\u00e9", lambda t: "cafe\u0301 x", {"spacing": 1}),
        ("\u0958", lambda t: "", {"other": 3}),  # three bytes; six in its normal form
        ("\ufb2c\ufb2c", lambda t: "x", {"other": 6}),  # six bytes; twelve in normal form
        ("e\u0301", lambda t: "", {"other": 3}),  # three bytes; two in its normal form
        ("q\u0958", lambda t: t.replace("q", ""), {"other": 1}),
    ],
)
def test_lost_bytes_are_those_of_the_characters_that_do_not_come_back(
    survives: Survives, text: str, change: Callable[[str], str], expected: dict[str, int]
) -> None:
    tally = survives(change, text)
    total = sum(lost(tally).values())
    assert total == sum(expected.values())
    if expected.keys() != {"other"}:
        assert lost(tally) == expected


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    before=st.text(max_size=12, alphabet=st.characters(exclude_categories=["Cs"])),
    after=st.text(max_size=12, alphabet=st.characters(exclude_categories=["Cs"])),
)
def test_no_more_bytes_are_lost_than_there_are(survives: Survives, before: str, after: str) -> None:
    tally = survives(lambda _: after, before)
    assert 0 <= sum(lost(tally).values()) <= len(before.encode())
    if before.strip() == after.strip():
        assert not lost(tally)


@given(
    text=st.text(max_size=12, alphabet="aé日 ①\u0958\ufb2c🙂"),
)
@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_of_a_text_that_is_gone_all_but_outer_white_space_is_lost(
    survives: Survives, text: str
) -> None:
    tally = survives(lambda _: "", text)
    assert sum(lost(tally).values()) == len(text.strip().encode())


def test_losses_are_counted_per_document_and_add_up(survives: Survives) -> None:
    tally = survives(str.lower, "AB", "c", "D")
    assert tally.documents["lost_case"].tolist() == [2, 0, 1]
    assert tally.documents["round_trip"].tolist() == [2, 0, 2]
    assert [tally.round_trip_count(kind) for kind in range(3)] == [1, 0, 2]


def test_the_first_document_of_each_class_is_a_witness(survives: Survives) -> None:
    tally = survives(lambda t: t.strip().lower(), "same", " x", "  y", "Zoë Q", "A")
    witnesses = {f.data["class"]: f for f in tally.findings}
    assert {kind: f.document_id for kind, f in witnesses.items()} == {
        "normalized": "1",
        "lossy": "3",
    }
    lossy = witnesses["lossy"]
    assert lossy.message == (
        "lost: 2 bytes by case; first difference at character 0: U+005A came back as U+007A"
    )
    assert lossy.data["expected_excerpt"] == "Zoë Q"
    assert lossy.data["got_excerpt"] == "zoë q"


def test_a_text_cut_short_differs_at_its_end(survives: Survives) -> None:
    [witness] = survives(lambda t: t[:2], "abc").findings
    assert witness.message.endswith("first difference at character 2: U+0063 came back as the end")
    [witness] = survives(lambda t: t + "!", "abc").findings
    assert witness.message.endswith("first difference at character 3: the end came back as U+0021")


def test_the_excerpt_is_of_the_place_and_not_of_the_whole_text(survives: Survives) -> None:
    [witness] = survives(lambda t: t.replace("X", "y"), "a" * 500 + "X" + "b" * 500).findings
    assert witness.data["position"] == 500
    assert witness.data["expected_excerpt"] == "a" * 12 + "X" + "b" * 11


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("x", " x", "a leading space was added"),
        (" x", "x", "white space was trimmed at the ends"),
        ("e\u0301", "\u00e9", "the Unicode normal form changed"),
        ("ab", "ba", "characters were added, moved or replaced"),
    ],
)
def test_a_change_is_named(before: str, after: str, told: str) -> None:
    assert explain(before, after, {}) == told


@given(
    st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=12),
)
def test_bytes_under_unknown_tokens_however_their_spans_lie(
    n: int, spans: list[tuple[int, int, bool]]
) -> None:
    starts = np.array([min(a, b, n) for a, b, _ in spans], np.int64)
    ends = np.array([min(max(a, b), n) for a, b, _ in spans], np.int64)
    unknown = np.array([is_unknown for *_, is_unknown in spans], np.bool_)

    covered = covered_bytes(n, starts[unknown], ends[unknown])

    under = [range(*span) for span in zip(starts[unknown], ends[unknown], strict=True)]
    assert covered.tolist() == [any(i in one for one in under) for i in range(n)]


def test_a_zero_width_character_that_appears_beside_a_space_is_no_lost_white_space() -> None:
    assert not white_space_loss("a b", "a \u200bb").lost
    assert white_space_loss("a b c", "a \u200bbc").lost == {"spacing": 1}  # the second space went
