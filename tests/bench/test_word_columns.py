"""The two columns of a slice that hold its words give them back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.corpus import word_columns
from tokbench.bench.corpus.segment import WordSpans

counts = st.sampled_from([0, 1, 2, 14, 15, 16, 254, 255, 256, 70_000])
words = st.tuples(counts, counts, counts)
"""Bytes before the white space, of white space, of the word."""


def spans_of(documents: list[list[tuple[int, int, int]]]) -> WordSpans:
    flat = []
    for document in documents:
        at = 0
        for before, white, length in document:
            start = at + before + white
            at = start + length
            flat.append((start - white, start, at))
    leads, starts, ends = np.array(flat, np.int64).reshape(-1, 3).T
    offsets = np.cumsum([0, *map(len, documents)])
    return WordSpans(leads=leads, starts=starts, ends=ends, offsets=offsets)


def batch_of(columns: list[pa.Array]) -> pa.RecordBatch:
    return pa.record_batch(columns, schema=pa.schema(word_columns.fields()))


def as_lists(spans: WordSpans | None) -> list[list[int]]:
    assert spans is not None
    arrays = (spans.leads, spans.starts, spans.ends, spans.offsets)
    return [array.tolist() for array in arrays]


@settings(deadline=None)
@given(st.lists(st.lists(words, max_size=4), max_size=4))
def test_words_of_any_size_are_given_back(documents: list[list[tuple[int, int, int]]]) -> None:
    spans = spans_of(documents)
    batch = batch_of(word_columns.pack(spans))
    assert as_lists(word_columns.unpack(batch)) == as_lists(spans)
    assert word_columns.word_counts(batch).tolist() == list(map(len, documents))


def test_documents_taken_in_another_order_keep_their_words() -> None:
    documents = [[(0, 0, 3), (0, 1, 300)], [], [(20, 0, 1)], [(0, 17, 2), (1, 1, 4)]]
    batch = batch_of(word_columns.pack(spans_of(documents)))
    order = [3, 0, 2]
    (taken,) = pa.Table.from_batches([batch]).take(order).combine_chunks().to_batches()
    assert as_lists(word_columns.unpack(taken)) == as_lists(spans_of([documents[i] for i in order]))
    part = word_columns.unpack(batch.slice(1, 2))
    assert as_lists(part) == as_lists(spans_of(documents[1:3]))


def test_a_usual_word_takes_two_bytes() -> None:
    columns = word_columns.pack(spans_of([[(0, 0, 5), (0, 1, 3), (1, 1, 9)]]))
    assert [column.to_pylist() for column in columns] == [[[0, 5, 0x11, 3, 0x21, 9]], [[]]]


def test_columns_that_do_not_belong_together_are_an_error() -> None:
    one, two = (word_columns.pack(spans_of([[(0, 0, 300)] * n])) for n in (1, 2))
    with pytest.raises(ValueError, match="mask"):
        word_columns.unpack(batch_of([one[0], two[1]]))


def test_undefined_words_are_null() -> None:
    assert word_columns.unpack(batch_of(word_columns.no_words(2))) is None
