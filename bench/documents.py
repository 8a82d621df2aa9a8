"""The counts per document of one tokenizer on one corpus, as tables to be written one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from bench.results import COUNTS, DOCUMENTS
from bench.tally import ROUND_TRIP, WORD_COLUMNS, Cell, CorpusFacts, Tallies, Tally

GROUP_ROWS = 65_536
"""Rows that one table has at least, unless it is the last."""


def documents_tables(cells: Sequence[Cell], tallies: Tallies) -> Iterator[pa.Table]:
    """Yield the documents of some cells, in order; null where words are undefined."""
    waiting: list[pa.Table] = []
    for cell in cells:
        facts = tallies.facts(cell.key)
        for part in cell.tally.parts():
            waiting.append(_documents(part, facts))
            if sum(table.num_rows for table in waiting) >= GROUP_ROWS:
                yield pa.concat_tables(waiting)
                waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _documents(tally: Tally, facts: CorpusFacts) -> pa.Table:
    rows = tally.rows.tolist()
    columns: dict[str, pa.Array] = {
        "language": pa.repeat(pa.scalar(facts.language), tally.n),
        "document_id": pa.array(_ids(facts.document_ids, rows), pa.string()),
        "round_trip": pa.array(ROUND_TRIP).take(pa.array(tally.documents["round_trip"])),
        "ids_hash": pa.array(tally.ids_hash),
        "ids": _ids_array(tally),
    }
    for name in COUNTS:
        undefined = name in WORD_COLUMNS and facts.words_reason is not None
        columns[name] = (
            pa.nulls(tally.n, pa.int64()) if undefined else pa.array(tally.documents[name])
        )
    return pa.Table.from_arrays([columns[f.name] for f in DOCUMENTS], schema=DOCUMENTS)


def _ids(ids: Sequence[str], rows: Sequence[int]) -> Sequence[str]:
    if not rows:
        return []
    some = ids[rows[0] : rows[-1] + 1]
    return some if len(some) == len(rows) else [some[row - rows[0]] for row in rows]


def _ids_array(tally: Tally) -> pa.Array:
    kind = pa.list_(pa.uint32())
    if tally.ids is None:
        return pa.nulls(tally.n, kind)
    offsets = np.zeros(tally.n + 1, np.int32)
    np.cumsum([len(ids) for ids in tally.ids], out=offsets[1:])
    flat = np.concatenate(tally.ids) if tally.ids else np.zeros(0, np.uint32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.uint32()))
