"""Cut many texts into pieces at once, with array rules in place of a regular expression.

The patterns of gpt2, cl100k, o200k and their relatives only ask which kind of character stands
where: letter, number, whitespace, newline, other. So the texts are joined with a separator, each
character becomes a byte of flags, and every rule of the pattern becomes a few operations on
shifted copies of the flags. What does not fit (long numbers, blanks around newlines, contractions)
concerns few places and is corrected there. A pattern without array rules goes through `regex`.

`Cutter` gives exactly the cuts of `PreTokenization.split`; a test says so for every rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokbench.tokenizers_impl.character_flags import (
    BLANK,
    CASELESS,
    KIND,
    LETTER,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    UPPER,
    Codes,
    Flags,
    flag_table,
    flags_and_codes,
)
from tokbench.tokenizers_impl.hash_table import Bools, Places
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, PreTokenization

if TYPE_CHECKING:
    import regex

SEPARATOR = "\0"
"""Stands between texts. Its flags are zero there; in a text it is an ordinary character."""

PADDING = 17
"""Separators at the end, so that rules may look ahead and keys may be read as whole words."""


@dataclass(frozen=True, kw_only=True)
class ArrayRules:
    """What tells one pattern from another.

    - `family`: how words, newlines and contractions are cut;
    - `digits`: longest group of digits, 0 for no limit; `right`: groups are counted from the end;
    - `blank_joins_number`: whether a space belongs to the number after it;
    - `trailing`: whether whitespace at the end of a text is one piece even around newlines.
    """

    family: Literal["none", "whitespace", "gpt2", "cl100k", "o200k"]
    digits: int = 0
    right: bool = False
    blank_joins_number: bool = False
    trailing: bool = True


_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_OLD_CL100K = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

ARRAY_RULES = {
    PRE_TOKENIZATIONS["none"].pattern: ArrayRules(family="none"),
    PRE_TOKENIZATIONS["whitespace"].pattern: ArrayRules(family="whitespace"),
    PRE_TOKENIZATIONS["gpt2"].pattern: ArrayRules(family="gpt2", blank_joins_number=True),
    PRE_TOKENIZATIONS["digits_3"].pattern: ArrayRules(family="gpt2", digits=3),
    PRE_TOKENIZATIONS["digits_3_right"].pattern: ArrayRules(family="gpt2", digits=3, right=True),
    PRE_TOKENIZATIONS["digits_1"].pattern: ArrayRules(family="gpt2", digits=1),
    PRE_TOKENIZATIONS["cl100k"].pattern: ArrayRules(family="cl100k", digits=3),
    PRE_TOKENIZATIONS["o200k"].pattern: ArrayRules(family="o200k", digits=3, trailing=False),
    # As published with Llama 3 and with Qwen.
    _OLD_CL100K % "{1,3}": ArrayRules(family="cl100k", digits=3, trailing=False),
    _OLD_CL100K % "": ArrayRules(family="cl100k", digits=1, trailing=False),
}
"""The patterns that have array rules."""


@dataclass(frozen=True, kw_only=True)
class JoinedTexts:
    """Texts in one string, each after a separator, and PADDING separators at the end.

    `separators` holds the places of the separators before each text and of the first at the end;
    shape (number of texts + 1,). Text i lies between separators i and i + 1.
    """

    text: str
    separators: Places

    @classmethod
    def of(cls, texts: Sequence[str]) -> JoinedTexts:
        """Join texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        separators = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(lengths + 1, out=separators[1:])
        text = SEPARATOR + SEPARATOR.join(texts) + SEPARATOR * PADDING
        return cls(text=text, separators=separators)


class Cutter:
    """Cuts joined texts by one rule.

    >>> joined = JoinedTexts.of(["It's 12345", "", "b c"])
    >>> starts = Cutter(PRE_TOKENIZATIONS["cl100k"]).starts(joined)
    >>> [joined.text[a:b] for a, b in zip(starts, starts[1:])]
    ['\\x00', 'It', "'s", ' ', '123', '45', '\\x00', '\\x00', 'b', ' c', '\\x00']
    """

    def __init__(self, rule: PreTokenization) -> None:
        self._rule = rule
        self._rules = ARRAY_RULES.get(rule.pattern)
        if self._rules is not None and self._rules.family != "none":
            flag_table(self._rules.family == "o200k")  # takes a while; not in the first encode

    @property
    def vectorised(self) -> bool:
        """Whether the pattern has array rules."""
        return self._rules is not None

    def starts(self, joined: JoinedTexts) -> Places:
        """Return where pieces start, in code points; the last entry is one past the last piece.

        Each separator is a piece of its own. Raises `TokenizerError` when a pattern of your own
        leaves characters unmatched.
        """
        if self._rules is None:
            return self._starts_by_regex(joined)
        end = int(joined.separators[-1]) + 1
        if self._rules.family == "none":
            both = np.concatenate([joined.separators, joined.separators + 1])
            return np.unique(both)
        flags, codes = flags_and_codes(joined.text, self._rules.family == "o200k")
        flags = flags.copy()
        flags[joined.separators] = 0
        flags[end:] = 0
        start = _Marks(flags, codes, joined, self._rules).run()
        start[end] = True
        return np.flatnonzero(start[: end + 1])

    def safe_cuts(self, text: str, step: int) -> list[int]:
        """Return places at least `step` apart where a piece starts whatever surrounds it.

        They lie before a single blank between ASCII letters, or at the start of a line after a line
        with text, which all array rules keep apart; patterns without array rules have none.
        """
        cuts: list[int] = []
        if self._rules is None or self._rules.family == "none":
            return cuts
        while (match := _SAFE.search(text, (cuts[-1] if cuts else 0) + step)) is not None:
            cuts.append(match.start())
        return cuts

    def _starts_by_regex(self, joined: JoinedTexts) -> Places:
        lengths: list[int] = [0]
        places = joined.separators.tolist()
        for before, after in pairwise(places):
            lengths.append(1)
            lengths += map(len, self._rule.split(joined.text[before + 1 : after]))
        return np.cumsum([*lengths, 1])


_SAFE = re.compile(r"(?<=[A-Za-z])(?= [A-Za-z])|(?<=\S\n)(?=[^\s/])")


class _Marks:
    """The rules at work on one joined text. `start[i]` says whether a piece starts at i."""

    def __init__(self, flags: Flags, codes: Codes, joined: JoinedTexts, rules: ArrayRules) -> None:
        self.flags, self.codes, self.joined, self.rules = flags, codes, joined, rules
        self.letter = self._has(LETTER)
        self.space = self._has(SPACE)
        self.blank = self._has(BLANK)
        self.other = self._has(OTHER)
        kind = flags & KIND
        self.start = np.empty(len(flags), np.bool_)
        self.start[0] = True
        np.not_equal(kind[1:], kind[:-1], out=self.start[1:])
        self.start[joined.separators] = True

    def run(self) -> Bools:
        """Apply the rules of the family."""
        steps: dict[str, Callable[[], None]] = {
            "whitespace": self._whitespace,
            "gpt2": self._gpt2,
            "cl100k": self._cl100k,
            "o200k": self._o200k,
        }
        steps[self.rules.family]()
        return self.start

    def _has(self, flag: int) -> Bools:
        has: Bools = (self.flags & flag) != 0
        return has

    def _whitespace(self) -> None:
        word = self.flags != 0
        word &= ~self.space
        self.start[1:] = word[1:] != word[:-1]
        self.start[1:] |= self.space[1:] != self.space[:-1]
        self.start[self.joined.separators] = True
        self.start[1:] &= ~(self.blank[:-1] & word[1:])
        self.start[:-1] |= self.space[:-1] & word[1:]

    def _gpt2(self) -> None:
        after_blank = LETTER | OTHER | (NUMBER if self.rules.blank_joins_number else 0)
        text = self._has(LETTER | NUMBER | OTHER)
        self.start[:-1] |= self.space[:-1] & text[1:]
        self.start[1:] &= ~(self.blank[:-1] & self._has(after_blank)[1:])
        self._digits()
        at = self._apostrophes()
        at = at[~self.other[at - 1] & ~self.blank[at - 1]]
        self._contractions(at, any_case=False)

    def _cl100k(self) -> None:
        self._words_and_spaces()
        self._digits()
        at = self._apostrophes()
        at = at[~self.other[at - 1] & ~self.blank[at - 1]]
        self._contractions(at, any_case=True)

    def _o200k(self) -> None:
        mark = (self.flags & (UPPER | CASELESS)) == (UPPER | CASELESS)
        caseless = self._has(CASELESS)
        upper = self._has(UPPER) & ~caseless
        lower = self.letter & ~upper & ~caseless
        hard = self._words_and_spaces(mark)
        self.start[1:] |= upper[1:] & lower[:-1]
        self._digits()
        self._suffixes()
        self._caseless_before_upper(np.flatnonzero(caseless[:-1] & upper[1:]) + 1)
        self._by_regex(hard)

    def _words_and_spaces(self, mark: Bools | None = None) -> Places:
        """Letters take one character before them, others a blank; then whitespace.

        For o200k (`mark` given) return the places where array rules are not enough: marks after
        characters that a longer run of others has already taken.
        """
        start, space, other = self.start, self.space, self.other
        newline = self._has(NEWLINE)
        text = self._has(LETTER | NUMBER | OTHER)
        start[:-1] |= (space[:-1] & ~newline[:-1]) & text[1:]
        lone = other.copy()  # one character, no blank before it: it may go to a word
        lone[1:] &= ~(other[:-1] | self.blank[:-1])
        start[1:] &= ~(self.letter[1:] & (lone[:-1] | (space[:-1] & ~newline[:-1])))
        start[1:] &= ~(other[1:] & self.blank[:-1])
        hard = np.empty(0, np.int64)
        if mark is not None and mark.any():
            hard = np.flatnonzero(mark[1:] & (other & ~lone)[:-1]) + 1
        if newline.any():
            more = self._newlines(newline, mark)
            hard = np.concatenate([hard, more])
        return hard

    def _newlines(self, newline: Bools, mark: Bools | None) -> Places:
        """Newlines go to the others before them, else end the whitespace they stand in."""
        start, space = self.start, self.space
        begins = np.flatnonzero(newline[1:] & ~newline[:-1]) + 1
        ends = np.flatnonzero(newline[:-1] & ~newline[1:]) + 1
        attached = self.other[begins - 1]
        start[begins[attached]] = False
        start[ends] = True
        # Whitespace between two runs of newlines belongs to the later one.
        maybe = np.flatnonzero(space[ends[:-1]] & space[begins[1:] - 1] & ~attached[:-1])
        if len(maybe):
            edges = np.stack([ends[maybe], begins[maybe + 1]], axis=1).reshape(-1)
            blank_between = np.logical_and.reduceat(space, edges)[::2]
            start[ends[maybe[blank_between]]] = False
        if self.rules.trailing:
            self._trailing(newline, begins, ends, attached)
        return self._slashes(ends[attached], mark) if mark is not None else ends[:0]

    def _trailing(self, newline: Bools, begins: Places, ends: Places, attached: Bools) -> None:
        """Keep whitespace at the end of a text in one piece, newlines and what follows them."""
        last = self.joined.separators[1:]
        last = last[self.space[last - 1] & ~newline[last - 1]]
        run = np.searchsorted(begins, last) - 1
        for k, stop in zip(run.tolist(), last.tolist(), strict=True):
            if k >= 0 and not attached[k] and self.space[ends[k] : stop].all():
                self.start[ends[k]] = False

    def _slashes(self, at: Places, mark: Bools | None) -> Places:
        """In o200k, slashes after newlines that went to others go there too."""
        at = at[self.codes[at] == ord("/")]
        if not len(at) or mark is None:
            return at
        taken = (self.codes == ord("/")) | self._has(NEWLINE)
        stops = np.flatnonzero(taken[:-1] & ~taken[1:]) + 1
        after = stops[np.searchsorted(stops, at)]
        self.start[at] = False
        self.start[after] = True
        # What follows the slashes is at a start again, so a lone character may go to a word.
        self.start[after[self.other[after] & self.letter[after + 1]] + 1] = False
        return after[mark[after]]

    def _digits(self) -> None:
        size = self.rules.digits
        number = self._has(NUMBER)
        if size == 1:
            self.start |= number
        if size < 2 or not (number[3:] & number[2:-1] & number[1:-2] & number[:-3]).any():
            return
        at = np.flatnonzero(number)
        index = np.arange(len(at))
        first = np.flatnonzero(self.start[at] & ~number[at - 1])
        offset = index - np.repeat(first, np.diff(np.append(first, len(at))))
        if self.rules.right:
            length = np.repeat(
                np.diff(np.append(first, len(at))), np.diff(np.append(first, len(at)))
            )
            offset -= length
        self.start[at[offset % size == 0]] = True

    def _apostrophes(self) -> Places:
        return np.flatnonzero(self.codes == ord("'"))

    def _contraction_lengths(self, at: Places, *, any_case: bool) -> Places:
        """Return 2 or 3 for each apostrophe that begins a contraction, 0 for the others."""
        one, two = self.codes[at + 1], self.codes[at + 2]
        if any_case:
            one, two = _lower(one), _lower(two)
        short = np.isin(one, [*_SHORT, _LONG_S] if any_case else _SHORT)
        long = np.isin(one.astype(np.int64) * 1024 + two, _LONG)
        return np.where(short, 2, np.where(long, 3, 0))

    def _contractions(self, at: Places, *, any_case: bool) -> None:
        length = self._contraction_lengths(at, any_case=any_case)
        at, length = at[length > 0], length[length > 0]
        self.start[at + 1] = False
        self.start[at + length] = True

    def _suffixes(self) -> None:
        """In o200k a contraction belongs to the word before it, and a word takes only one."""
        at = self._apostrophes()
        at = at[self.letter[at - 1]]
        length = self._contraction_lengths(at, any_case=True)
        at, length = at[length > 0], length[length > 0]
        if not len(at):
            return
        index = np.arange(len(at))
        first = np.concatenate([[True], at[1:] != (at + length)[:-1]])
        chained = index - np.maximum.accumulate(np.where(first, index, 0))
        at, length = at[chained % 2 == 0], length[chained % 2 == 0]
        self.start[at] = False
        self.start[at + 1] = False
        self.start[at[length == 3] + 2] = False
        self.start[at + length] = True

    def _caseless_before_upper(self, at: Places) -> None:
        """In o200k, cut runs of letters in which case decides only in hindsight."""
        done = 0
        for place in at.tolist():
            if place < done:
                continue
            begin = place - 1
            while not self.start[begin]:
                begin -= 1
            done = place + 1
            while self.letter[done]:
                done += 1
            self.start[begin + 1 : done] = False
            for match in _o200k_word().finditer(self.joined.text, begin, done):
                self.start[match.start()] = True

    def _by_regex(self, hard: Places) -> None:
        """Cut whole lines by the pattern itself."""
        done = 0
        rule = PRE_TOKENIZATIONS["o200k"]
        for place in np.sort(hard).tolist():
            if place < done:
                continue
            begin = place
            while not self._line_starts(begin):
                begin -= 1
            done = place + 1
            while self.flags[done] and not self._line_starts(done):
                done += 1
            self.start[begin:done] = False
            for piece in rule.split(self.joined.text[begin:done]):
                self.start[begin] = True
                begin += len(piece)

    def _line_starts(self, at: int) -> bool:
        """Whether a piece starts here whatever stands around: at a text's start or a plain line's.

        A line that begins with whitespace or a slash may continue the piece before it.
        """
        if not self.flags[at - 1]:
            return True
        after_newline = self.flags[at - 1] & NEWLINE and not self.flags[at] & SPACE
        return bool(after_newline and self.flags[at] and self.codes[at] != ord("/"))


_SHORT = [ord(c) for c in "sdmt"]
_LONG_S = 0x17F  # folds to s where case does not matter
_LONG = [ord(a) * 1024 + ord(b) for a, b in ("ll", "ve", "re")]


def _lower(codes: Codes) -> Codes:
    """Return code points of ASCII letters in lower case, others unchanged."""
    return np.where((codes >= 65) & (codes <= 90), codes + 32, codes)


@lru_cache(maxsize=1)
def _o200k_word() -> regex.Pattern[str]:
    import regex

    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    before = r"[^\r\n\p{L}\p{N}]?"
    return regex.compile(f"{before}{upper}*{lower}+|{before}{upper}+{lower}*")
