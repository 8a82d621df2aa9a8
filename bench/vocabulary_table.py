"""What a run keeps of a vocabulary beside kept ids: id → bytes, so that ids can be read later.

All entries are kept where there are not too many, because what is missing from a vocabulary
explains as much as what is in it; of larger ones, the ids that were seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from bench.environment import Stopwatch
from bench.loading import TokenizerSource
from bench.model import Vocabulary
from bench.results import VOCABULARY
from bench.worker import loaded

LIMIT = 1 << 19
"""Largest `n_ids` whose entries are all kept."""


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
        pa.array([_kind(vocabulary, i) for i in ids], pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=VOCABULARY)


def load_vocabulary_table(source: TokenizerSource, seen: Iterable[int]) -> pa.Table:
    """Return the table of a tokenizer that is loaded for it, or still is: a task for an executor."""
    return vocabulary_table(loaded(source, Stopwatch()).vocabulary, seen)


def _entries(vocabulary: Vocabulary) -> Iterator[int]:
    return (i for i in range(vocabulary.n_ids) if i not in vocabulary.hole_ids)


def _kind(vocabulary: Vocabulary, i: int) -> str:
    if i in vocabulary.unknown_ids:  # often registered as special too
        return "unknown"
    if i in vocabulary.special_ids:
        return "special"
    if i in vocabulary.byte_fallback_ids:
        return "byte_fallback"
    return "added" if i in vocabulary.added_ids else "ordinary"
