"""Word spans: where the words of a text are, as UTF-8 byte positions.

Words are those of Unicode's UAX #29 as the `regex` package finds them: the pieces between
default word boundaries that hold a letter or a digit. Where a script is written without
spaces, those pieces are single characters or whole sentences, and tokens per word means
nothing: such text has no spans, decided by its letters and not by its label.

Both are found by arrays (`tokbench.bench.corpus.boundaries`), with the classes of `regex`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus.boundaries import (
    ALPHANUMERIC,
    WHITE_SPACE,
    CodePoints,
    Facts,
    cluster_starts,
    mark,
    may_join,
    word_facts,
    word_starts,
)
from tokbench.bench.markup import listed
from tokbench.bench.model import IntArray

UNSPACED_SCRIPTS = (
    # East Asia
    "Han", "Hiragana", "Katakana", "Bopomofo", "Tangut", "Nushu", "Khitan_Small_Script", "Yi",
    # mainland South-East Asia and Tibet; line breaking needs a dictionary or syllables (UAX #14)
    "Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Ahom",
    "Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet",
    # the islands
    "Javanese", "Balinese", "Batak", "Buginese", "Makasar", "Kawi",
)  # fmt: skip
"""Scripts whose words are not separated by spaces, by their Unicode names."""

_OTHER_LETTER = 1
_FIRST_SCRIPT = 2


@dataclass(frozen=True, kw_only=True)
class WordSpans:
    """The words of n documents; positions are bytes from the start of each one's document."""

    starts: IntArray
    """Shape (words,)."""
    ends: IntArray
    """One past the last byte; shape (words,)."""
    leads: IntArray
    """Start of the run of white space directly before a word, its start where there is none."""
    offsets: IntArray
    """Words of document i are ``offsets[i]:offsets[i + 1]``; shape (n + 1,)."""


def word_spans(texts: Sequence[str]) -> WordSpans:
    """Return the UAX #29 words of each text.

    >>> spans = word_spans(["one  été", "", "n° 3"])
    >>> list(zip(spans.leads.tolist(), spans.starts.tolist(), spans.ends.tolist()))
    [(0, 0, 3), (3, 5, 10), (0, 0, 1), (3, 4, 5)]
    >>> spans.offsets.tolist()
    [0, 2, 2, 4]
    """
    # A line feed is a boundary on both sides (WB3a, WB3b) and white space, so texts joined by
    # it have the words they have alone.
    points = _code_points("\n".join(texts))
    facts = word_facts(points)
    begin, end = _word_pieces(points, facts)
    first = _first_characters(texts)
    offsets = np.append(np.searchsorted(begin, first), len(begin))
    counts = np.diff(offsets)
    lead = np.maximum(_before_white_space(begin, facts), np.repeat(first, counts))
    byte_of = _byte_positions(points)
    first_byte = np.repeat(byte_of.take(first), counts)
    starts, ends, leads = (
        (byte_of.take(place) - first_byte).astype(np.int64) for place in (begin, end, lead)
    )
    return WordSpans(starts=starts, ends=ends, leads=leads, offsets=offsets)


def _word_pieces(points: CodePoints, facts: Facts) -> tuple[IntArray, IntArray]:
    """Return first and one-past-last character of every piece with a letter or a digit."""
    begin = word_starts(points, facts)
    end = np.append(begin[1:], len(points))[: len(begin)]
    alphanumeric = (facts & ALPHANUMERIC) != 0
    is_word = alphanumeric.take(begin)
    # most pieces begin with a letter or a digit or are one character: only some need a closer look
    longer = np.flatnonzero(~is_word & (end - begin > 1))
    inside = np.column_stack((begin[longer], end[longer])).ravel()
    if len(longer):  # a position behind the last character is as good as one before it
        held = np.append(alphanumeric, False)
        is_word[longer] = np.logical_or.reduceat(held, inside)[::2]
    words = np.flatnonzero(is_word)
    return begin.take(words), end.take(words)


def _first_characters(texts: Sequence[str]) -> IntArray:
    """Return where each text begins when all are joined by one character; shape (texts,)."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return np.concatenate(([0], np.cumsum(lengths + 1)))[: len(texts)]


def _before_white_space(begin: IntArray, facts: Facts) -> IntArray:
    """Return where the white space that ends just before each word begins."""
    white = np.concatenate(([False], (facts & WHITE_SPACE) != 0))  # of the character before
    one = white.take(begin)
    lead: IntArray = begin - one
    more = np.flatnonzero(one & white.take(lead))
    if len(more):
        solid = np.flatnonzero(~white)  # one past each other character, or the start
        lead[more] = solid[np.searchsorted(solid, begin[more]) - 1]
    return lead


def _byte_positions(points: CodePoints) -> npt.NDArray[np.signedinteger[Any]]:
    """Return where each character begins in UTF-8, and where the last one ends; shape (n + 1,)."""
    if not len(points) or points.max() < 0x80:
        return np.arange(len(points) + 1, dtype=np.int64)
    lengths = np.ones(len(points), np.uint8)
    for limit in (0x80, 0x800, 0x10000):
        lengths += points >= limit
    # in 32 bits adding up takes a sixth of the time
    kind = np.int32 if 4 * len(points) <= np.iinfo(np.int32).max else np.int64
    return np.concatenate((np.zeros(1, kind), np.cumsum(lengths, dtype=kind)))


def _code_points(text: str) -> CodePoints:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def grapheme_counts(texts: Sequence[str]) -> IntArray:
    r"""Return the extended grapheme clusters of each text: what readers take for characters.

    >>> grapheme_counts(["abc", "e\u0301", "👩‍👩‍👧", "\r\n", ""]).tolist()
    [3, 1, 1, 1, 0]
    """
    # in ASCII a carriage return before a line feed is all that joins
    counts = np.array([len(t) - t.count("\r\n") if t.isascii() else -1 for t in texts], np.int64)
    _count_clusters(texts, counts, np.flatnonzero(counts < 0))
    return counts


def _count_clusters(texts: Sequence[str], counts: IntArray, which: IntArray) -> None:
    """Count the clusters of some texts; rules are asked for those where anything can join."""
    some = [texts[i] for i in which.tolist()]
    first = _first_characters(some)
    joining = np.flatnonzero(may_join(_code_points("\n".join(some))))
    hard = np.diff(np.append(np.searchsorted(joining, first), len(joining))) > 0
    counts[which] = np.fromiter(map(len, some), np.int64, len(some))
    counts[which[hard]] = _cluster_counts([some[i] for i in np.flatnonzero(hard).tolist()])


def _cluster_counts(texts: Sequence[str]) -> IntArray:
    first, begins = cluster_begins(texts)
    places = np.flatnonzero(begins)
    ends = np.append(first[1:] - 1, len(begins))
    counts: IntArray = np.searchsorted(places, ends) - np.searchsorted(places, first)
    return counts


def cluster_begins(texts: Sequence[str]) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return where each text begins when they are joined by a line feed, and which characters of
    that begin a grapheme cluster; shapes (texts,) and (characters,).
    """
    return _first_characters(texts), cluster_starts(_code_points("\n".join(texts)))


class LetterCounts:
    """How many letters of each script a text has, added up batch by batch.

    >>> letters = LetterCounts()
    >>> letters.add(["今天天气很好", "OK"])
    >>> letters.why_no_words()
    '75% of the letters are Han, written without spaces between words'
    """

    def __init__(self) -> None:
        self._counts: IntArray = np.zeros(_FIRST_SCRIPT + len(UNSPACED_SCRIPTS), np.int64)

    def add(self, texts: Sequence[str]) -> None:
        """Count the letters of some texts."""
        classes = _letter_class().take(_code_points("".join(texts)))
        self._counts += np.bincount(classes, minlength=len(self._counts))

    def why_no_words(self) -> str | None:
        """Return why words are undefined for the text counted, or None where they are not."""
        letters, unspaced = int(self._counts[1:].sum()), self._counts[_FIRST_SCRIPT:]
        share = int(unspaced.sum()) / letters if letters else 0.0
        if share <= 0.5:
            return None
        order = np.argsort(-unspaced, kind="stable")
        names = [
            UNSPACED_SCRIPTS[i].replace("_", " ") for i in order if unspaced[i] / letters >= 0.01
        ]
        return (
            f"{share:.0%} of the letters are {listed(names)}, written without spaces between words"
        )


CODE_HAS_NO_WORDS = "words are not defined for code"


@cache
def versions() -> dict[str, str]:
    """Return what decides the spans: the version of `regex` and of its Unicode data."""
    # regex tells its Unicode version nowhere but in its description
    about = metadata.distribution("regex").read_text("METADATA") or ""
    unicode = re.search(r"supports Unicode (\d+(?:\.\d+)*)", about)
    return {
        "regex": metadata.version("regex"),
        "unicode": unicode.group(1) if unicode else "unknown",
    }


def segmenter() -> str:
    """Return the name that results give to the way words were found."""
    return "UAX #29, regex {regex}, Unicode {unicode}".format(**versions())


@cache
def _letter_class() -> npt.NDArray[np.uint8]:
    """0 for all but letters, 1 for a letter, 2 + i for a letter of UNSPACED_SCRIPTS[i]."""
    classes = mark([r"\p{L}"])
    letters = np.flatnonzero(classes)  # an eighth of all code points: the scripts need only these
    scripts = [rf"\p{{Script={script}}}" for script in UNSPACED_SCRIPTS]
    of_letters = mark(scripts, letters.astype("<u4"))
    classes[letters] = np.where(of_letters, of_letters + (_FIRST_SCRIPT - 1), _OTHER_LETTER)
    return classes
