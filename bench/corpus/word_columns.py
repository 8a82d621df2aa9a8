"""How a slice keeps the words of its documents: two bytes for most words.

The column `words` has two bytes for each word: the bytes between the word before it (or the start
of the document) and this one, and those of white space directly before it, in four bits each; and
the bytes of the word. A byte of 255 says that the numbers are larger; they stand in the column
`long_words`, in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus.segment import WordSpans
from tokbench.bench.model import IntArray

NAMES = ("words", "long_words")
ESCAPE = 255
_HALF = 16


def fields() -> list[Any]:
    """Return the two columns, null where words are undefined."""
    import pyarrow as pa

    return [pa.field(NAMES[0], pa.list_(pa.uint8())), pa.field(NAMES[1], pa.list_(pa.uint32()))]


def no_words(n: int) -> list[Any]:
    """Return the columns of n documents whose words are undefined."""
    import pyarrow as pa

    return [pa.nulls(n, field.type) for field in fields()]


def pack(spans: WordSpans) -> list[Any]:
    """Return the columns of documents, as `unpack` reads them."""
    import pyarrow as pa

    between = spans.starts - np.append(0, spans.ends[:-1])[: len(spans.starts)]
    first = spans.offsets[:-1][np.diff(spans.offsets) > 0]
    between[first] = spans.starts[first]
    values = np.column_stack((between, spans.starts - spans.leads, spans.ends - spans.starts))
    long = _long(values)
    small = np.where(long, ESCAPE, values)[:, 1:]
    small[:, 0] = np.where(long[:, 0], ESCAPE, values[:, 0] * _HALF + values[:, 1])
    several = np.concatenate(([0], np.cumsum(long.sum(axis=1))))[spans.offsets]
    return [
        _lists(2 * spans.offsets, small.astype(np.uint8).ravel()),
        _lists(several, pa.array(values[long]).cast(pa.uint32())),
    ]


def _long(values: IntArray) -> npt.NDArray[np.bool_]:
    """Which numbers do not fit; the first two stand in one byte."""
    space = (values[:, :2] >= _HALF).any(axis=1) | (values[:, :2] == _HALF - 1).all(axis=1)
    return np.column_stack((space, space, values[:, 2] >= ESCAPE))


def _lists(offsets: IntArray, values: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


def unpack(batch: Any) -> WordSpans | None:
    """Return the words of a batch's documents, or None where they are undefined.

    Raises `ValueError` where the two columns do not belong together.
    """
    words, long_words = map(batch.column, NAMES)
    if words.null_count:
        return None
    small = words.flatten().to_numpy().reshape(-1, 2)
    values = np.empty((3, len(small)), np.int64)
    values[0], values[1], values[2] = small[:, 0] >> 4, small[:, 0] & 15, small[:, 1]
    large = small == ESCAPE
    if large.any():
        long = np.column_stack((large[:, :1], large))
        values.T[long] = long_words.flatten().to_numpy()
    offsets = words.offsets.to_numpy().astype(np.int64) // 2
    offsets -= offsets[0]
    return _placed(values, offsets)


def _placed(values: IntArray, offsets: IntArray) -> WordSpans:
    between, white, length = values
    running = np.concatenate(([0], np.cumsum(between + length)))
    ends = running[1:] - np.repeat(running[offsets[:-1]], np.diff(offsets))
    starts = ends - length
    return WordSpans(starts=starts, ends=ends, leads=starts - white, offsets=offsets)


def word_counts(batch: Any) -> IntArray:
    """Return the words of each document; shape (documents,)."""
    counts: IntArray = np.diff(batch.column(NAMES[0]).offsets.to_numpy()).astype(np.int64) // 2
    return counts
