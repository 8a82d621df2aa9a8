"""Two tokenizations of one text: every token is in exactly one place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.compare.align import AlignedSide, Alignment, Change, align

PIECES = [b"a", b"b", b" ", b"ab", b"ba", b" a", b" ab", b"aba", None]
UNKNOWN = 8
LENGTHS = np.array([len(piece or b"") for piece in PIECES], np.int64)


def side(documents: Sequence[Sequence[int]]) -> AlignedSide:
    ids = [np.array(one, np.uint32) for one in documents]
    return AlignedSide(ids=ids, token_bytes=PIECES, byte_lengths=LENGTHS)


def found(base: Sequence[Sequence[int]], candidate: Sequence[Sequence[int]]) -> Alignment:
    return align(side(base), side(candidate))


def plain(change: Change) -> tuple[int, list[int], list[int]]:
    return change.document, change.base.tolist(), change.candidate.tolist()


def test_a_segment_lies_between_the_nearest_cuts_that_both_sides_make() -> None:
    # "a b ab" as a| |b|ab and as " "-joined pieces: only " "+"ab" moves
    alignment = found([[0, 1, 2, 3]], [[0, 1, 6]])
    assert [plain(c) for c in alignment.changes] == [(0, [2, 3], [6])]


def test_cuts_that_move_without_changing_the_number_are_a_change_too() -> None:
    assert [plain(c) for c in found([[3, 0]], [[0, 4]]).changes] == [(0, [3, 0], [0, 4])]


def test_the_same_cut_under_another_id_is_renumbered() -> None:
    pieces = [b"a", b"a"]
    sides = [
        AlignedSide(
            ids=[np.array([i], np.uint32)], token_bytes=pieces, byte_lengths=np.array([1, 1])
        )
        for i in (0, 1)
    ]
    alignment = align(*sides)
    assert (alignment.renumbered, list(alignment.changes)) == (1, [])


def test_documents_are_never_mixed() -> None:
    alignment = found([[0], [1], [], [3]], [[0], [1], [], [0, 1]])
    assert [plain(c) for c in alignment.changes] == [(3, [3], [0, 1])]


def test_a_space_that_one_side_puts_before_the_text_is_no_mismatch() -> None:
    alignment = found([[6, 0]], [[3, 0]])  # " ab" "a" against "ab" "a"
    assert (alignment.unmatched, list(alignment.changes)) == (0, [])
    alignment = found([[2, 3]], [[3]])  # " " "ab" against "ab"
    assert [plain(c) for c in alignment.changes] == [(0, [2, 3], [3])]


def test_bytes_that_do_not_match_are_matched_piece_by_piece() -> None:
    alignment = found([[0, UNKNOWN, 1]], [[0, 3, 1]])
    assert alignment.unmatched == 1
    assert [plain(c) for c in alignment.changes] == [(0, [UNKNOWN], [3])]
    assert not alignment.changes[0].matched


documents = st.lists(st.lists(st.integers(0, UNKNOWN), max_size=6), min_size=1, max_size=4)


@given(documents, documents)
def test_the_changes_add_up_to_the_difference_in_tokens(
    base: list[list[int]], candidate: list[list[int]]
) -> None:
    n = min(len(base), len(candidate))
    alignment = found(base[:n], candidate[:n])
    whole = sum(map(len, candidate[:n])) - sum(map(len, base[:n]))
    assert sum(len(c.candidate) - len(c.base) for c in alignment.changes) == whole


@given(st.lists(st.text("ab ", max_size=12), min_size=1, max_size=4), st.randoms())
def test_two_cuts_of_one_text_spell_the_same_bytes_in_every_change(texts: list[str], rng) -> None:  # type: ignore[no-untyped-def]
    def cut(text: str) -> list[int]:
        ids, at = [], 0
        while at < len(text):
            fitting = [i for i, p in enumerate(PIECES) if p and text[at:].encode().startswith(p)]
            ids.append(rng.choice(fitting))
            at += LENGTHS[ids[-1]]
        return ids

    def spelled(ids: Sequence[int]) -> bytes:
        return b"".join(PIECES[i] or b"" for i in ids)

    alignment = found([cut(t) for t in texts], [cut(t) for t in texts])
    assert alignment.unmatched == 0
    for change in alignment.changes:
        assert spelled(change.base.tolist()) == spelled(change.candidate.tolist())
