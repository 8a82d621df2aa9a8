"""What a run keeps of a vocabulary beside kept ids: id → bytes, so that ids can be read later.

All entries are kept where there are not too many, because what is missing from a vocabulary
explains as much as what is in it; of larger ones, the ids that were seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.bench.count.tally import Tally
from tokbench.bench.errors import ResultsError
from tokbench.bench.model import Tokenizer, Vocabulary
from tokbench.bench.results.schemas import VOCABULARY, write_parquet

LIMIT = 1 << 19
"""Highest `n_ids` up to which all entries are kept."""


def vocabulary_table(vocabulary: Vocabulary, seen: Iterable[int]) -> pa.Table:
    """Return the entries of a vocabulary, or those seen where it has more than `LIMIT`.

    >>> v = Vocabulary(token_bytes=[None, b"a"], unknown_ids=frozenset({0}))
    >>> vocabulary_table(v, [1]).to_pylist()[0]
    {'id': 0, 'bytes': None, 'kind': 'unknown'}
    """
    ids = list(_entries(vocabulary)) if vocabulary.n_ids <= LIMIT else sorted(seen)
    columns = [
        pa.array(ids, pa.uint32()),
        pa.array([vocabulary.token_bytes[i] for i in ids], pa.binary()),
        pa.array([kind_of(vocabulary, i) for i in ids], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=VOCABULARY)


_FINGERPRINT = b"tokbench.fingerprint"
_WHOLE = "vocabulary.parquet"
_PART = ".vocabulary.parquet"


def keep_vocabulary(cell: Path, tokenizer: Tokenizer, tally: Tally) -> None:
    """Put the table beside the file of a counted cell, unless it is there already.

    Many processes may do so for one tokenizer: they all write the same, and each file whole.
    """
    vocabulary, fingerprint = tokenizer.vocabulary, tokenizer.fingerprint.sha256
    whole = vocabulary.n_ids <= LIMIT
    path = cell.parents[1] / _WHOLE if whole else cell.with_suffix(_PART)
    if not _is_of(path, fingerprint):
        table = vocabulary_table(vocabulary, tally.histogram_ids.tolist())
        write_parquet(path, table.replace_schema_metadata({_FINGERPRINT: fingerprint}))


def kept_vocabulary(folder: Path, fingerprint: str) -> pa.Table:
    """Return the table that the workers of one tokenizer kept below the folder of its cells.

    Raises `ResultsError` when there is none.
    """
    paths = [folder / _WHOLE, *sorted(folder.glob(f"*/*{_PART}"))]
    tables = [pq.read_table(path, partitioning=None) for path in paths if _is_of(path, fingerprint)]
    if not tables:
        raise ResultsError(f"{folder}: its vocabulary was not kept; run again with --new")
    # Parts of a large vocabulary overlap: one row for each id.
    table = pa.concat_tables(tables).replace_schema_metadata(None)
    _, first = np.unique(table["id"].to_numpy(), return_index=True)
    return table.take(pa.array(first)).combine_chunks()


def _is_of(path: Path, fingerprint: str) -> bool:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return metadata.get(_FINGERPRINT) == fingerprint.encode()


def _entries(vocabulary: Vocabulary) -> Iterator[int]:
    return (i for i in range(vocabulary.n_ids) if i not in vocabulary.hole_ids)


def kind_of(vocabulary: Vocabulary, i: int) -> str:
    """Return what an id is: ordinary, special, unknown, byte_fallback or added."""
    if i in vocabulary.unknown_ids:  # often registered as special too
        return "unknown"
    if i in vocabulary.special_ids:
        return "special"
    if i in vocabulary.byte_fallback_ids:
        return "byte_fallback"
    return "added" if i in vocabulary.added_ids else "ordinary"
