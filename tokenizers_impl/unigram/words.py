"""The words of many texts with their best cuts, and which of these rounding could change.

A word's cut was found in double precision, counting from the word's start. `sentencepiece` adds in
single precision from the start of the text: where the sum before the word is so large that rounding
could use up the cut's lead, the cut is doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.unigram.cuts import REBASE_AT
from tokbench.tokenizers_impl.unigram.line import Floats, LineCutter
from tokbench.tokenizers_impl.word_table import Growing, Ints, WordTable

_WINDOW = 512
"""So many words are looked at together in search of the next doubtful one."""


@dataclass(frozen=True, kw_only=True)
class CutWords:
    """Words one after the other, cut; texts are runs of them."""

    ids: npt.NDArray[np.int32]
    """Ids of all words; each unknown character has its own."""
    first: Ints
    """Number of ids before each word, and at the end; shape (words + 1,)."""
    spent: Floats
    """Minus the score of all ids before each word, and at the end; shape (words + 1,)."""
    valid: Floats
    """How much may be spent in the text before a word for its cut to hold; shape (words,)."""

    def part(self, begin: int, end: int) -> CutWords:
        """Return some of the words by themselves."""
        first, spent = self.first[begin : end + 1], self.spent[begin : end + 1]
        return CutWords(
            ids=self.ids[first[0] : first[-1]],
            first=first - first[0],
            spent=spent - spent[0],
            valid=self.valid[begin:end],
        )

    def doubtful_texts(self, text_ends: Ints) -> Ints:
        """Return the numbers of the texts in which a cut is doubtful."""
        n_words = np.diff(text_ends, prepend=0)
        before = self.spent[:-1] - np.repeat(self.spent.take(text_ends - n_words), n_words)
        doubtful = np.flatnonzero(before > self.valid)
        return np.unique(np.searchsorted(text_ends, doubtful, side="right"))

    def next_doubtful(self, begin: int, shift: float) -> int | None:
        """Return the next word whose cut is doubtful once `shift` is added to what was spent."""
        for low in range(begin, len(self.valid), _WINDOW):
            high = min(low + _WINDOW, len(self.valid))
            found = np.flatnonzero(self.spent[low:high] + shift > self.valid[low:high])
            if len(found):
                return low + int(found[0])
        return None


class CutTable:
    """Words that were cut before; `scores` by id, and `unknown_score` as single-precision numbers."""

    def __init__(self, cutter: LineCutter, scores: Floats, unknown_score: float) -> None:
        self._cutter = cutter
        self._scores = scores
        self._unknown_score = unknown_score
        self._words = WordTable()
        self._valid = Growing(np.float64)

    def look_up(self, words: Sequence[str]) -> CutWords:
        """Return the cuts of words, none of them empty."""
        numbers, new = self._words.numbered(words)
        if new:
            self._cut(new)
        ids, ends = self._words.ids_of(numbers)
        first = np.append(0, ends)
        spent = np.append(0.0, np.cumsum(-self._scores.take(ids))).take(first)
        return CutWords(ids=ids, first=first, spent=spent, valid=self._valid.values.take(numbers))

    def _cut(self, words: Sequence[str]) -> None:
        found = self._cutter.cut(words)
        ends = np.cumsum(found.counts)
        scores = np.add.reduceat(self._scores.take(found.ids), ends - found.counts)
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        # near where sums are counted anew, all of them matter, not only the best
        no_rebase = REBASE_AT + self._unknown_score * sizes
        if self._words.n_learned == 0:
            self._valid = Growing(np.float64)
        self._valid.add(np.minimum(valid_before(found.leads, sizes) + scores, no_rebase))
        self._words.learn(found.ids, found.counts)


def valid_before(lead: Floats, additions: Ints) -> Floats:
    """Return how large a single-precision sum may be for rounding not to use up a lead.

    Two sums of so many terms are compared. Each addition is off by at most half a unit in the
    last place; a number below 2**(k + 24) has units of at most 2**k. Twice that is allowed for.

    >>> lead, additions = np.array([1.0, 0.0, np.inf]), np.array([8, 8, 8])
    >>> valid_before(lead, additions).tolist() == [2.0**(24 - 5), -np.inf, np.inf]
    True
    """
    _, exponent = np.frexp(lead / (2 * additions))  # the quotient lies in [2**(e-1), 2**e)
    valid = np.ldexp(1.0, exponent - 2 + 24)
    return np.where(lead > 0, np.where(np.isinf(lead), np.inf, valid), -np.inf)
