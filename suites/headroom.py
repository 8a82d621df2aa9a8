"""Segmentation headroom: how many tokens the same vocabulary could have saved.

Optional, off unless a config names it: it asks the tokenizers and works in Python, on a stated
sample of documents. The fewest tokens are looked for within the pieces that the tokenizer itself
would never merge across, so what is found could have been emitted by another way of merging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bench.examine import Examination, Subject
from bench.model import Finding, HasPreTokens, Measurement, MetricSpec
from bench.plugins import TokenizerSuite
from bench.stats import seed_of
from bench.tally import Cell
from suites.efficiency_specs import SEGMENTATION_HEADROOM
from suites.rows import of_cell

SUITE = "headroom"


class Headroom(TokenizerSuite):
    """The fewest tokens possible with the same vocabulary and pre-tokens, on a sample."""

    documents: Annotated[int, Field(gt=0)] = 50
    """Documents of each slice that are looked at, drawn by the run's seed."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (SEGMENTATION_HEADROOM,)

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the headroom of every cell, or why it has none."""
        cells = examination.tallies.counted()
        for subject in examination.subjects():
            fewest = Fewest(_entries(subject))
            for cell in (one for one in cells if one.key.tokenizer == subject.key):
                yield self._headroom(examination, subject, cell, fewest)

    def _headroom(
        self, examination: Examination, subject: Subject, cell: Cell, fewest: Fewest
    ) -> Measurement:
        tokenizer = subject.tokenizer
        params = {"documents_asked": self.documents}
        if not tokenizer.byte_exact or not isinstance(tokenizer, HasPreTokens):
            reason = (
                "its tokens do not hold the bytes of the text"
                if not tokenizer.byte_exact
                else "it does not say where it cuts before it merges"
            )
            return of_cell(
                SUITE,
                cell,
                SEGMENTATION_HEADROOM,
                None,
                status="refused",
                detail=reason,
                params=params,
            )
        emitted, possible, n = 0, 0, 0
        rows = self._rows(examination, cell)
        for _, texts in examination.documents(cell.key.corpus, cell.key.language, rows):
            ids = subject.ids(texts)
            pieces = subject.pre_tokens(texts)
            for one, parts in zip(ids, pieces, strict=True):
                if not isinstance(one, str) and not isinstance(parts, str):
                    n, emitted = n + 1, emitted + len(one)
                    possible += sum(map(fewest, parts))
        value = 1 - possible / emitted if emitted else None
        found = {**params, "emitted": emitted, "fewest": possible}
        return of_cell(SUITE, cell, SEGMENTATION_HEADROOM, value, n=n, params=found)

    def _rows(
        self, examination: Examination, cell: Cell
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Draw documents; the same ones for every tokenizer, and in every aligned language."""
        facts = examination.tallies.facts(cell.key)
        owner = facts.corpus if facts.aligned else f"{facts.corpus}/{facts.language}"
        n = len(facts.document_ids)
        rng = np.random.Generator(np.random.PCG64(seed_of(examination.seed, owner, SUITE)))
        chosen = rng.permutation(n)[: self.documents]
        return np.intersect1d(chosen, cell.tally.rows).astype(np.int64)


def _entries(subject: Subject) -> Iterator[bytes]:
    vocabulary = subject.tokenizer.vocabulary
    for token, content in enumerate(vocabulary.token_bytes):
        if content and token not in vocabulary.special_ids:
            yield content


class Fewest:
    """The fewest entries whose bytes make up a piece, remembered for pieces seen before.

    >>> fewest = Fewest([b"a", b"b", b"c", b"ab", b"bc", b"abc", b"cab"])
    >>> fewest(b"abc"), fewest(b"abcab"), fewest(b"")
    (1, 2, 0)
    """

    def __init__(self, entries: Iterable[bytes]) -> None:
        self._entries = frozenset(entries)
        self._longest = max(map(len, self._entries), default=1)
        self._known: dict[bytes, int] = {}

    def __call__(self, piece: bytes) -> int:
        """Return the number; bytes that no entry covers count one each."""
        if piece not in self._known:
            self._known[piece] = self._count(piece)
        return self._known[piece]

    def _count(self, piece: bytes) -> int:
        best: list[int] = [0]
        for end in range(1, len(piece) + 1):
            starts: Sequence[int] = range(max(0, end - self._longest), end - 1)
            reached = [best[start] for start in starts if piece[start:end] in self._entries]
            best.append(min([best[end - 1], *reached]) + 1)
        return best[-1]
