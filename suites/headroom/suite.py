"""Segmentation headroom: how many tokens the same vocabulary could have saved.

Optional, off unless a config names it: it asks the tokenizers and works in Python, on a stated
sample of documents. What was emitted for one pre-token is held against the fewest entries that
make up the same bytes, so what is found could have been emitted by another way of cutting. Unknown,
special and added tokens stay where they are: a run of tokens ends at each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from tokbench.bench.count.tally import Cell
from tokbench.bench.model import Finding, HasPreTokens, Measurement, MetricSpec, Vocabulary
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.efficiency.specs import SEGMENTATION_HEADROOM
from tokbench.suites.rows import row


class Headroom(TokenizerSuite):
    """The fewest tokens possible with the same vocabulary and pre-tokens, on a sample."""

    documents: Annotated[int, Field(gt=0)] = Field(
        50, description="Documents of each slice that are examined, drawn by the run's seed."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (SEGMENTATION_HEADROOM,)

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the headroom of every cell, or why it has none."""
        cells = examination.tallies.counted()
        for subject in examination.subjects():
            mine = [cell for cell in cells if cell.key.tokenizer == subject.key]
            if not isinstance(subject.tokenizer, HasPreTokens):
                yield from (self._refused(cell) for cell in mine)
                continue
            fewest = Fewest(subject.tokenizer.vocabulary)
            for cell in mine:
                yield self._headroom(examination, subject, cell, fewest)

    def _refused(self, cell: Cell) -> Measurement:
        words = "the tokenizer does not say which tokens lie in one pre-token"
        return row(
            cell,
            SEGMENTATION_HEADROOM,
            None,
            status="refused",
            why=Why("not_offered", words),
            params={"documents_asked": self.documents},
        )

    def _headroom(
        self, examination: Examination, subject: Subject, cell: Cell, fewest: Fewest
    ) -> Measurement:
        emitted, possible, n = 0, 0, 0
        rows = examination.drawn(cell, self.documents, "headroom")
        for _, texts in examination.documents(cell.key.corpus, cell.key.language, rows):
            for answer in subject.in_pre_tokens(texts):
                if not isinstance(answer, str):
                    n, emitted = n + 1, emitted + len(answer[0])
                    possible += fewest.of_document(*answer)
        value = 1 - possible / emitted if emitted else None
        why = None if emitted else Why("no_tokens", "no tokens: nothing to save")
        params = {"documents_asked": self.documents, "emitted": emitted, "fewest": possible}
        return row(cell, SEGMENTATION_HEADROOM, value, n=n, params=params, why=why)


Place = tuple[bool, bool]
"""Whether an entry goes on with a word, and whether the word goes on behind it."""


class Fewest:
    """The fewest entries of a vocabulary that make up the same bytes as some of its tokens.

    >>> entries = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cab", None]
    >>> fewest = Fewest(Vocabulary(token_bytes=entries))
    >>> fewest.of_document([0, 4, 0, 1], [0, 0, 0, 0]), fewest.of_document([0, 4], [0, 1])
    (2, 2)
    >>> fewest.of_document([0, 7, 1], [0, 0, 0])
    3
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        apart = vocabulary.special_ids | vocabulary.unknown_ids | vocabulary.added_ids
        self._content = [
            None if i in apart else content for i, content in enumerate(vocabulary.token_bytes)
        ]
        self._entries = self._by_place()
        self._lengths = _lengths_by_beginning(filter(None, self._content))
        across = any(content and _ACROSS.search(content) for content in self._content)
        self._cut = None if across or len(self._entries) > 1 else _AT_SPACES.findall
        self._known: dict[tuple[bytes, Place], int] = {}

    def of_document(self, ids: Sequence[int], pre_tokens: Sequence[int]) -> int:
        """Return the fewest tokens for a document's ids and their pre-tokens' numbers."""
        total, start = 0, 0
        for end in range(1, len(ids) + 1):
            apart = self._content[ids[end - 1]] is None
            if apart:
                total += self._of_run(ids[start : end - 1]) + 1
                start = end
            elif end == len(ids) or pre_tokens[end] != pre_tokens[end - 1]:
                total += self._of_run(ids[start:end])
                start = end
        return total

    def _of_run(self, ids: Sequence[int]) -> int:
        if len(ids) < 2:
            return len(ids)
        v = self._vocabulary
        whole = b"".join(self._content[i] or b"" for i in ids)
        begins_inside = ids[0] in v.inside_ids
        goes_on = bool(v.ending_ids) and ids[-1] not in v.ending_ids
        pieces = self._cut(whole) if self._cut else [whole]
        return sum(self._of_piece(piece, (begins_inside, goes_on)) for piece in pieces)

    def _of_piece(self, piece: bytes, place: Place) -> int:
        found = self._known.get((piece, place))
        if found is None:
            found = self._known[piece, place] = self._shortest_path(piece, place)
        return found

    def _shortest_path(self, piece: bytes, place: Place) -> int:
        n = len(piece)
        never = n + 1
        best = [0] + [never] * n
        for start in range(n):
            steps = best[start] + 1
            if steps > never:
                continue
            inside = place[0] or start > 0
            for length in self._lengths.get(piece[start : start + 2], ()):
                end = start + length
                if end > n:
                    break
                goes_on = place[1] or end < n
                if steps < best[end] and piece[start:end] in self._entries_at(inside, goes_on):
                    best[end] = steps
        return best[n]

    def _entries_at(self, inside: bool, goes_on: bool) -> frozenset[bytes]:
        v = self._vocabulary
        return self._entries[bool(v.inside_ids) and inside, bool(v.ending_ids) and goes_on]

    def _by_place(self) -> dict[Place, frozenset[bytes]]:
        """Group entries by where they may stand; all in one group where entries do not say."""
        v = self._vocabulary
        groups: dict[Place, set[bytes]] = {
            (inside, goes_on): set()
            for inside in ({False, True} if v.inside_ids else {False})
            for goes_on in ({False, True} if v.ending_ids else {False})
        }
        for i, content in enumerate(self._content):
            if content:
                groups[i in v.inside_ids, bool(v.ending_ids) and i not in v.ending_ids].add(content)
        return {place: frozenset(group) for place, group in groups.items()}


_ACROSS = re.compile(rb"[^ ] ")
_AT_SPACES = re.compile(rb" *[^ ]+| +")
"""Where no entry reaches across a space, the parts between can be looked at alone."""


def _lengths_by_beginning(entries: Iterable[bytes]) -> dict[bytes, tuple[int, ...]]:
    """Return the lengths of entries by their first two bytes, one where there is no second.

    Entries of one byte are found under every beginning with that byte.
    """
    lengths: dict[bytes, set[int]] = {}
    singles = set()
    for entry in entries:
        if len(entry) == 1:
            singles.add(entry)
        lengths.setdefault(entry[:2], set()).add(len(entry))
    for single in singles:
        for other in range(256):
            lengths.setdefault(single + bytes([other]), set()).add(1)
    return {beginning: tuple(sorted(found)) for beginning, found in lengths.items()}
