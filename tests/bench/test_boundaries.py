"""Words and graphemes found by arrays are those of `regex`."""

from __future__ import annotations

import os

import numpy as np
import pytest
import regex

from tokbench.bench.corpus import boundaries, segment
from tokbench.bench.corpus.boundaries import word_starts
from tokbench.bench.corpus.segment import grapheme_counts, word_spans
from tokbench.bench.model import IntArray

STRINGS = int(os.environ.get("TOKBENCH_STRINGS", "40000"))
"""Random strings; the claim was tried on a million."""


def words_of(text: str) -> list[int]:
    """Return where pieces begin, by `regex`."""
    lengths = [len(piece) for piece in regex.split(r"(?V1w)\b", text) if piece]
    return np.cumsum([0, *lengths])[:-1].tolist()  # type: ignore[no-any-return]


def graphemes_of(text: str) -> int:
    return len(regex.findall(r"\X", text))


HARD = [
    "can't", "'tis", "a.b.c", "3,141.5", "3,", "1.a", "a1_b2__", "x:y", "x::y", "a'", "שי'", 'צ"ה',
    'צ"', "a\u0301'\u0301b", "\u0301a", "\n\u0301\u0301a", "  \u0301  ", "a \u200d b", "カタカナ_x",
    "👩‍👩‍👧 🇩🇪🇫🇷🇺 x", "\u200d👩", "a\u200d👩", "x\r", "é\r", "_ _a", "e\u0301\r",  "\u0301\r","\u200d\u2139", "0\u200d🅿", "\r\n", "\r\u0301\n", "한국어 각 ᄀᄀ각ᆨ", "क्षि त्र्य क्त",
    "\u0600a", "กำ", "e\u0301\u0302", "\t\u0301", "", "\u00ad", "1\u00ad,\u00ad2", "ﷺ", "𝒳𝒴",
]  # fmt: skip


@pytest.mark.parametrize("text", HARD)
def test_text_with_rules_of_its_own_is_cut_as_regex_cuts_it(text: str) -> None:
    assert word_starts(np.array([ord(c) for c in text], np.uint32)).tolist() == words_of(text)
    assert grapheme_counts([text, "a", text]).tolist() == [
        graphemes_of(text),
        1,
        graphemes_of(text),
    ]


def _random(classes: list[IntArray], n: int) -> list[str]:
    """Make strings of 1 to 11 characters of random classes."""
    chance = np.random.default_rng(18)
    lengths = chance.integers(1, 12, n)
    which = chance.integers(0, len(classes), int(lengths.sum()))
    points = np.zeros(len(which), "<u4")
    for number, members in enumerate(classes):
        here = which == number
        points[here] = chance.choice(members, int(here.sum()))
    text, ends = points.tobytes().decode("utf-32-le"), np.cumsum(lengths).tolist()
    return [text[end - n : end] for end, n in zip(ends, lengths.tolist(), strict=True)]


def _members(table: np.ndarray) -> list[IntArray]:
    found = (np.flatnonzero(table == number) for number in range(int(table.max()) + 1))
    scalar = (some[(some < 0xD800) | (some > 0xDFFF)] for some in found)
    return [some for some in scalar if len(some)]


def test_random_strings_of_all_word_classes_are_cut_alike() -> None:
    classes = _members(boundaries._word_facts())
    classes += [np.flatnonzero(boundaries._pictographs()), np.array([0x200D])]
    for text in _random(classes, STRINGS // 10):
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        assert word_starts(points).tolist() == words_of(text), ascii(text)


def test_random_strings_of_all_grapheme_classes_have_the_same_clusters() -> None:
    classes = _members(boundaries._cluster_facts())
    classes += [np.arange(0x900, 0x980), np.array([0x200D, 0x94D, 0x1F1E9, 0x1F469])]
    classes += _members(boundaries._conjunct_classes())[1:]
    strings = _random(classes, STRINGS)
    assert grapheme_counts(strings).tolist() == [graphemes_of(text) for text in strings]


def test_every_character_is_cut_alike_among_letters_digits_and_marks() -> None:
    points = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    text = "".join(
        f"a{chr(c)}b 1{chr(c)}2 \u0301{chr(c)}\n" for c in points[:: 1 if STRINGS > 10**5 else 37]
    )
    starts = word_starts(np.frombuffer(text.encode("utf-32-le"), np.uint32))
    assert starts.tolist() == words_of(text)
    lines = text.split("\n")
    assert grapheme_counts(lines).tolist() == [graphemes_of(line) for line in lines]


def test_texts_side_by_side_do_not_reach_into_each_other() -> None:
    assert grapheme_counts(["e", "\u0301", "\u1100", "\u1161"]).tolist() == [1, 1, 1, 1]
    assert word_spans(["can", "'t"]).offsets.tolist() == [0, 1, 2]


@pytest.mark.parametrize("folder", ["flores200", "libreoffice_help", "source_code", "tico19"])
def test_real_text_is_cut_alike(data_folder, folder: str) -> None:
    import pyarrow.parquet as pq

    for path in sorted((data_folder / "corpora" / folder).glob("*.parquet")):
        texts = pq.read_table(path, columns=["text"])["text"].to_pylist()[:300]
        joined = "\n".join(texts)
        points = segment._code_points(joined)
        assert word_starts(points).tolist() == words_of(joined), path.name
        assert grapheme_counts(texts).tolist() == [graphemes_of(t) for t in texts], path.name
