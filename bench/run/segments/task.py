"""How one tokenizer cuts some documents: asked in the worker that counted with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.environment import Stopwatch, no_garbage_collection
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import HasSpelling, Place, Tokenizer
from tokbench.bench.results.segments import SegmentCut, UintArray
from tokbench.bench.results.vocabulary import kind_of
from tokbench.bench.run.cell_task import load
from tokbench.bench.run.probe import Cuts, Subject
from tokbench.bench.workers.asking_job import AskingJob
from tokbench.bench.workers.sources import TokenizerSource

LONGEST = 20_000
"""UTF-8 bytes of the longest document that is kept with its text."""


class SegmentEntry(NamedTuple):
    """One id that occurs: its bytes, how the vocabulary spells it, and its kind."""

    id: int
    bytes: bytes | None
    spelling: str | None
    kind: str


@dataclass(frozen=True, kw_only=True)
class CutTexts:
    """What a tokenizer made of the documents: by place and row, and the ids that occur."""

    cuts: Mapping[tuple[Place, int], SegmentCut]
    entries: Sequence[SegmentEntry]


@dataclass(frozen=True, kw_only=True)
class SegmentTask(AskingJob[CutTexts]):
    """Some rows of some slices to encode, for reports to show."""

    source: TokenizerSource
    slices: Mapping[Place, Slice]
    rows: Mapping[Place, Sequence[int]] = field(default_factory=dict)
    """Sorted, by slice."""
    stage: ClassVar[int] = 1

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokenizer that is asked."""
        return (self.source.key,)

    def run(self, watch: Stopwatch) -> CutTexts:
        """Encode the documents; raise `TokbenchError` where the tokenizer cannot be loaded."""
        tokenizer = load(self.source, self.limits, watch)
        subject = Subject(key=self.source.key, tokenizer=tokenizer, calls=self.calls())
        with watch.section("segments"), no_garbage_collection():
            cuts: dict[tuple[Place, int], SegmentCut] = {}
            for place, rows in self.rows.items():
                for texts in short_texts(self.slices[place], rows):
                    made = cut_texts(subject, [one.text for one in texts])
                    cuts |= {(place, t.row): cut for t, cut in zip(texts, made, strict=True)}
            return CutTexts(cuts=cuts, entries=_entries(subject, tokenizer, cuts.values()))


class Text(NamedTuple):
    """One document of a slice."""

    row: int
    id: str
    text: str


def short_texts(part: Slice, rows: Sequence[int]) -> Iterator[list[Text]]:
    """Yield the wanted documents, batch by batch; those longer than `LONGEST` are left out."""
    wanted, first_row = set(rows), 0
    for number, n in enumerate(part.batch_rows()):
        mine = [row - first_row for row in range(first_row, first_row + n) if row in wanted]
        for batch in part.batches(number, number + 1, first_row) if mine else ():
            sizes = np.diff(batch.offsets)
            found = [i for i in mine if sizes[i] <= LONGEST]
            if found:
                yield [Text(first_row + i, batch.ids[i], batch.texts[i]) for i in found]
        first_row += n


def cut_texts(subject: Subject, texts: Sequence[str]) -> list[SegmentCut]:
    """Return how a tokenizer cuts each text; one that fails costs itself alone."""
    try:
        return list(_cuts(subject.cuts(texts)))
    except TokenizerError as exc:
        if len(texts) == 1:
            return [SegmentCut(detail=str(exc))]
    return [cut for text in texts for cut in cut_texts(subject, [text])]


def _cuts(found: Cuts) -> Iterator[SegmentCut]:
    batch, encoded, boundaries = found
    for i in range(len(batch.ids)):
        here = slice(int(encoded.offsets[i]), int(encoded.offsets[i + 1]))
        ids = encoded.ids[here].astype(np.uint32)
        if not boundaries.known[i]:
            yield SegmentCut(ids=ids)
            continue
        first, size = int(batch.offsets[i]), int(batch.offsets[i + 1] - batch.offsets[i])
        starts, ends = (
            np.clip(place[here].astype(np.int64) - first, 0, size).astype(np.uint32)
            for place in (boundaries.starts, boundaries.ends)
        )
        yield SegmentCut(ids=ids, starts=None if _follow(starts, ends, size) else starts, ends=ends)


def _follow(starts: UintArray, ends: UintArray, size: int) -> bool:
    """Whether tokens follow one another from the start of a text to its end."""
    edges = np.concatenate(([0], ends))
    return bool((starts == edges[:-1]).all() and edges[-1] == size)


def _entries(
    subject: Subject, tokenizer: Tokenizer, cuts: Iterable[SegmentCut]
) -> list[SegmentEntry]:
    """Return the entries of all ids that occur, in order."""
    seen = sorted({int(i) for cut in cuts if cut.ids is not None for i in np.unique(cut.ids)})
    vocabulary = tokenizer.vocabulary
    return [
        SegmentEntry(i, vocabulary.token_bytes[i], spelling, kind_of(vocabulary, i))
        for i, spelling in zip(seen, _spellings(subject, tokenizer, seen), strict=True)
    ]


def _spellings(subject: Subject, tokenizer: Tokenizer, ids: Sequence[int]) -> Sequence[str | None]:
    if not isinstance(tokenizer, HasSpelling):
        return [None] * len(ids)
    spell = tokenizer.spelling

    def call(items: Sequence[tuple[int]]) -> list[tuple[str]]:
        return [(entry,) for entry in spell([i for (i,) in items])]

    found = subject.calls.each(subject.key, "spell", call, [(i,) for i in ids])
    return [None if isinstance(one, str) else one[0] for one in found]
