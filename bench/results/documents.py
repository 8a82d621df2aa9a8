"""The counts per document of one tokenizer on one corpus, as tables to be written one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import ROUND_TRIP, WORD_COLUMNS, Cell, CorpusFacts, Tally
from tokbench.bench.results.schemas import COUNTS, DOCUMENTS

GROUP_ROWS = 65_536
"""Rows of every table but the last, independent of how documents were batched for counting."""

JOINED_ROWS = 8_192
"""Rows from which on parts become a table; what waits in memory."""


def documents_tables(cells: Sequence[Cell], tallies: Tallies) -> Iterator[pa.Table]:
    """Yield the documents of some cells, in order; null where words are undefined."""
    return _of_fixed_length(_counted_together(cells, tallies))


def _of_fixed_length(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Split tables into parts of `GROUP_ROWS` rows."""
    held: pa.Table | None = None
    for table in tables:
        held = table if held is None else pa.concat_tables([held, table])
        while held.num_rows > GROUP_ROWS:
            yield held.slice(0, GROUP_ROWS).combine_chunks()
            held = held.slice(GROUP_ROWS)
    if held is not None:
        yield held.combine_chunks()


def _counted_together(cells: Sequence[Cell], tallies: Tallies) -> Iterator[pa.Table]:
    waiting: list[_TallyPart] = []
    for cell in cells:
        facts = tallies.facts(cell.key)
        for tally in cell.tally.parts():
            waiting.append(_TallyPart(tally, facts))
            if sum(part.tally.n for part in waiting) >= JOINED_ROWS:
                yield _documents(waiting)
                waiting = []
    if waiting:
        yield _documents(waiting)


class _TallyPart(NamedTuple):
    """A cell, or a part of one."""

    tally: Tally
    facts: CorpusFacts

    @property
    def ids(self) -> Sequence[str]:
        """The ids of its documents."""
        rows, ids = self.tally.rows.tolist(), self.facts.document_ids
        if not rows:
            return []
        some = ids[rows[0] : rows[-1] + 1]
        return some if len(some) == len(rows) else [some[row - rows[0]] for row in rows]


def _documents(parts: Sequence[_TallyPart]) -> pa.Table:
    """Return one table of all parts; arrays are joined before Arrow sees them, which is faster."""
    counts = [part.tally.n for part in parts]
    wordless = np.repeat([part.facts.words_reason is not None for part in parts], counts)

    def joined(name: str) -> npt.NDArray[Any]:
        if not any(part.tally.total(name) for part in parts):
            return np.zeros(sum(counts), np.int64)
        return np.concatenate([part.tally.documents[name] for part in parts])

    columns: dict[str, pa.Array] = {
        "language": _chosen(
            [p.facts.language for p in parts], np.repeat(range(len(parts)), counts)
        ),
        "document_id": pa.array([i for part in parts for i in part.ids], pa.string()),
        "round_trip": _chosen(ROUND_TRIP, joined("round_trip")),
        "ids_hash": pa.array(np.concatenate([part.tally.ids_hash for part in parts])),
        "ids": pa.concat_arrays([_ids_array(part.tally) for part in parts]),
    }
    for name in COUNTS:
        mask = wordless if name in WORD_COLUMNS and wordless.any() else None
        columns[name] = pa.array(joined(name), pa.int64(), mask=mask)
    return pa.Table.from_arrays([columns[f.name] for f in DOCUMENTS], schema=DOCUMENTS)


def _chosen(names: Sequence[str], places: npt.NDArray[Any]) -> pa.Array:
    """Return the name at each place, shape (n_documents,)."""
    return pa.DictionaryArray.from_arrays(places.astype(np.int32), names).cast(pa.string())


def _ids_array(tally: Tally) -> pa.Array:
    kind = pa.list_(pa.uint32())
    if tally.ids is None:
        return pa.nulls(tally.n, kind)
    offsets = np.zeros(tally.n + 1, np.int32)
    np.cumsum([len(ids) for ids in tally.ids], out=offsets[1:])
    flat = np.concatenate(tally.ids) if tally.ids else np.zeros(0, np.uint32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.uint32()))
