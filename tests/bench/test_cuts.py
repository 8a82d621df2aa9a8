"""What tokens cut, against counting byte by byte."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.count.cuts import count_cuts
from tokbench.bench.count.encoded import Encoded, flatten
from tokbench.bench.count.loose_texts import batch_of
from tokbench.bench.count.tally import CUT_COLUMNS
from tokbench.bench.count.words import Boundaries

Token = tuple[int, int]
"""First and one-past-last byte of a token within its document."""


def words_of(text: str) -> list[Token]:
    """Return the words of a text in bytes, by `regex`."""
    found, at = [], 0
    for piece in regex.split(r"(?V1w)\b", text):
        end = at + len(piece.encode())
        if regex.search(r"[\p{L}\p{N}]", piece):
            found.append((at, end))
        at = end
    return found


def pieces_of(text: str, pattern: str) -> list[Token]:
    places = [(m.start(), m.end()) for m in regex.finditer(pattern, text)]
    return [(len(text[:a].encode()), len(text[:b].encode())) for a, b in places]


def counted_by_hand(text: str, tokens: Sequence[Token]) -> dict[str, int]:
    """Count token by token, word by word."""
    words = words_of(text)
    characters = pieces_of(text, r"(?s).")
    edges = {edge for token in tokens for edge in token}

    def split(piece: Token) -> bool:
        return any(piece[0] < edge < piece[1] for edge in edges)

    inside = {edge for edge in edges if any(a < edge < b for a, b in characters)}
    return {
        "placed": 1,
        "word_ends_inside": sum(any(a < end < b for a, b in tokens) for _, end in words),
        "multi_word_tokens": sum(sum(s < b and e > a for s, e in words) > 1 for a, b in tokens),
        "tokens_inside_character": sum(a in inside or b in inside for a, b in tokens),
        "split_characters": sum(map(split, characters)),
        "split_graphemes": sum(map(split, pieces_of(text, r"\X"))),
    }


def partition(documents: Sequence[Sequence[int]]) -> tuple[Boundaries, Encoded]:
    """Return tokens of given lengths, one after the other."""
    lengths = np.array([n for one in documents for n in one], np.int64)
    ends = np.cumsum(lengths)
    known = np.ones(len(documents), np.bool_)
    encoded = flatten([[0] * len(one) for one in documents])
    return Boundaries(starts=ends - lengths, ends=ends, known=known, partition=True), encoded


TEXT = st.text("ab é́\u0915\u094d\u0937ि👩\u200d👧🏽🇩🇪.,\r\n\u0e01", max_size=12)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_cut_of_any_text_counts_as_by_hand(data: st.DataObject) -> None:
    texts = ["plain words", *data.draw(st.lists(TEXT, max_size=5))]
    cuts: list[list[Token]] = []
    for text in texts:
        n = len(text.encode())
        edges = sorted({0, n, *data.draw(st.sets(st.integers(0, n)))})
        cuts.append(list(zip(edges, edges[1:], strict=False)))
    batch = batch_of(texts, words=True)
    found = count_cuts(batch, *partition([[b - a for a, b in one] for one in cuts]))
    expected = [counted_by_hand(text, one) for text, one in zip(texts, cuts, strict=True)]
    assert set(found) == set(CUT_COLUMNS)
    for name in CUT_COLUMNS:
        assert found[name].tolist() == [one[name] for one in expected], name


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("ab cd", [(0, 5)], {"word_ends_inside": 1, "multi_word_tokens": 1}),
        ("ab cd", [(0, 2), (3, 5)], {"word_ends_inside": 0, "multi_word_tokens": 0}),
        ("aé", [(0, 1), (1, 2), (1, 2)], {"split_characters": 1, "tokens_inside_character": 2}),
        ("e\u0301x", [(0, 1), (1, 2), (2, 3)], {"split_graphemes": 1, "split_characters": 0}),
    ],
)
def test_spans_that_overlap_or_leave_gaps(
    text: str, spans: list[tuple[int, int]], expected: dict[str, int]
) -> None:
    batch, encoded = batch_of([text], words=True), flatten([[0] * len(spans)])
    found = count_cuts(batch, Boundaries.from_spans(batch, [spans], encoded), encoded)
    assert {name: int(found[name][0]) for name in expected} == expected


def test_a_document_without_places_counts_nowhere() -> None:
    batch = batch_of(["ab cd", "ab cd"], words=True)
    boundaries, encoded = partition([[0], [5]])
    known = np.array([False, True])
    unplaced = Boundaries(
        starts=boundaries.starts + np.array([0, 5]),
        ends=boundaries.ends + np.array([0, 5]),
        known=known,
        partition=False,
    )
    found = count_cuts(batch, unplaced, encoded)
    assert found["placed"].tolist() == [0, 1]
    assert found["word_ends_inside"].tolist() == [0, 1]
    assert found["multi_word_tokens"].tolist() == [0, 1]
