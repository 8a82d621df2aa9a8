"""Which documents a run keeps with their text, and what its tokenizers made of them.

Documents are spread evenly over a language, so that the same corpus gives the same ones; those
that a round trip names as witnesses of a loss come on top. The first are encoded right after a
tokenizer has counted, in the same worker; witnesses that are not among them when all is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from tokbench.bench.config.schema import Config
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.environment import Stopwatch
from tokbench.bench.model import Place
from tokbench.bench.results.schemas import table_of
from tokbench.bench.results.segments import (
    SEGMENT_TOKENS,
    SegmentCut,
    StoredDocument,
    segments_table,
)
from tokbench.bench.run.segments.task import CutTexts, SegmentEntry, SegmentTask, short_texts
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.job import Answer, perform
from tokbench.bench.workers.sources import TokenizerSource

Rows = dict[Place, list[int]]


def spread(n_documents: int, wanted: int) -> list[int]:
    """Return rows spread evenly over a slice, all of them where there are no more.

    >>> spread(10, 4), spread(3, 50), spread(3, 0)
    ([0, 2, 5, 7], [0, 1, 2], [])
    """
    n = min(n_documents, wanted)
    return [i * n_documents // n for i in range(n)]


@dataclass(kw_only=True)
class TextKeeper:
    """The documents that a run keeps with their text, on their way through an executor."""

    config: Config
    executor: Executor
    watch: Stopwatch
    slices: Mapping[Place, Slice]
    _futures: list[tuple[str, Future[Answer[CutTexts]]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        texts = {corpus: self.config.run.texts_of(corpus) for corpus in self.config.run.corpora}
        self._rows: Rows = {
            place: spread(part.meta.documents, texts[place.corpus])
            for place, part in self.slices.items()
            if texts[place.corpus] and part.meta.documents
        }

    def follow(self, source: TokenizerSource, places: Sequence[Place]) -> None:
        """Let a tokenizer encode the documents of these places once its cells are finished."""
        self._ask(source, {place: self._rows[place] for place in places if place in self._rows})

    def _ask(self, source: TokenizerSource, rows: Mapping[Place, Sequence[int]]) -> None:
        if not rows:
            return
        task = SegmentTask(
            source=source,
            slices={place: self.slices[place] for place in rows},
            rows=rows,
            limits=self.config.run.limits,
        )
        self._futures.append((source.key, self.executor.submit(perform, task)))

    def tables(
        self, tallies: Tallies, sources: Mapping[str, TokenizerSource]
    ) -> dict[str, pa.Table]:
        """Return the tables of `segments/` by file name, when everything is counted."""
        if not self._rows:
            return {}
        witnesses = self._witnesses(tallies)
        more = {
            place: sorted(set(rows) - set(self._rows[place])) for place, rows in witnesses.items()
        }
        more = {place: rows for place, rows in more.items() if rows}
        for key in tallies.tokenizers:
            self._ask(sources[key], more)
        cuts, entries = self._answers(tallies)
        tables = {
            f"segments/{corpus}.parquet": segments_table(self._documents(corpus, witnesses, cuts))
            for corpus in dict.fromkeys(place.corpus for place in self._rows)
        }
        for key, found in entries.items():
            rows = [found[i]._asdict() for i in sorted(found)]
            tables[f"segments/tokens/{key}.parquet"] = table_of(rows, SEGMENT_TOKENS)
        return tables

    def _witnesses(self, tallies: Tallies) -> Rows:
        """Return the rows that a round trip names as examples of what it loses."""
        found: dict[Place, set[int]] = {}
        for cell in tallies.cells.values():
            place = cell.key.place
            named = {f.document_id for f in cell.tally.findings if f.kind == "witness"}
            if named and place in self._rows:
                ids = tallies.facts(cell.key).document_ids
                found.setdefault(place, set()).update(
                    row for row, name in enumerate(ids) if name in named
                )
        return {place: sorted(rows) for place, rows in found.items()}

    def _answers(
        self, tallies: Tallies
    ) -> tuple[dict[str, dict[tuple[Place, int], SegmentCut]], dict[str, dict[int, SegmentEntry]]]:
        """Return cuts and entries of each tokenizer that was counted with."""
        cuts: dict[str, dict[tuple[Place, int], SegmentCut]] = {
            key: {} for key in tallies.tokenizers
        }
        entries: dict[str, dict[int, SegmentEntry]] = {key: {} for key in tallies.tokenizers}
        for key, future in self._futures:
            answer = future.result()
            self.watch.take(answer.seconds, process=answer.process)
            if answer.value is not None and key in cuts:
                cuts[key] |= answer.value.cuts
                entries[key] |= {entry.id: entry for entry in answer.value.entries}
        return cuts, entries

    def _documents(
        self,
        corpus: str,
        witnesses: Rows,
        cuts: Mapping[str, Mapping[tuple[Place, int], SegmentCut]],
    ) -> Iterator[StoredDocument]:
        for place, rows in self._rows.items():
            if place.corpus != corpus:
                continue
            named = set(witnesses.get(place, ()))
            for texts in short_texts(self.slices[place], sorted({*rows, *named})):
                for row, name, text in texts:
                    yield StoredDocument(
                        language=place.language,
                        document_id=name,
                        why="witness" if row in named else "sample",
                        text=text,
                        cuts={
                            key: found.get(
                                (place, row), SegmentCut(detail="it could not be encoded")
                            )
                            for key, found in cuts.items()
                        },
                    )
