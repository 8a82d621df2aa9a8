"""Tokens and words, by boundaries drawn by hand: positions are bytes, `[` opens a token."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.bench.corpus.slices import Slice, SliceBatch
from tokbench.bench.count.encoded import flatten
from tokbench.bench.count.words import Boundaries, count_words

Make = Callable[..., Slice]
BatchOf = Callable[..., SliceBatch]


@pytest.fixture
def batch_of(make: Make, tmp_path: Path) -> BatchOf:
    def batch(*texts: str) -> SliceBatch:
        rows = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
        (tmp_path / "t.jsonl").write_text("".join(rows), encoding="utf-8")
        [only] = make("en", source="files", path="t.jsonl").batches()
        return only

    return batch


def drawn(*documents: str) -> tuple[list[str], Boundaries]:
    """Read documents whose tokens are separated by ``|``; the texts, and a partition of them."""
    texts = [document.replace("|", "") for document in documents]
    lengths = [len(token.encode()) for document in documents for token in document.split("|")]
    ends = np.cumsum(lengths, dtype=np.int64)
    known = np.ones(len(texts), np.bool_)
    return texts, Boundaries(starts=ends - lengths, ends=ends, known=known, partition=True)


def counts(batch: SliceBatch, boundaries: Boundaries) -> dict[str, list[int]]:
    return {name: values.tolist() for name, values in count_words(batch, boundaries).items()}


def spans(batch: SliceBatch, *documents: Sequence[tuple[int, int]]) -> Boundaries:
    return Boundaries.from_spans(batch, documents, flatten([[0] * len(d) for d in documents]))


@pytest.mark.parametrize(
    ("document", "words", "tokens", "continued", "single"),
    [
        ("the| cat", 2, 2, 0, 2),
        ("th|e| c|at", 2, 4, 2, 0),
        ("t|h|e", 1, 3, 1, 0),
        ("the |cat", 2, 2, 0, 1),  # the first token holds a space after its word
        ("the cat", 2, 2, 0, 0),  # one token overlaps both words
        ("the|  |cat", 2, 2, 0, 2),  # a token of spaces touches no word
        ("the|  cat", 2, 2, 0, 2),  # white space before the word belongs to it
        ("the|, cat", 2, 2, 0, 1),  # punctuation does not
        ("the|, |cat|!", 2, 2, 0, 2),
        ("cat|!", 1, 1, 0, 1),
        ("cat!", 1, 1, 0, 0),
        ("the c|at", 2, 3, 1, 0),
        ("na|ïve", 1, 2, 1, 0),
        ("!|?", 0, 0, 0, 0),
        ("don't", 1, 1, 0, 1),
        ("don|'t", 1, 2, 1, 0),
        ("\n\tcat", 1, 1, 0, 1),
    ],
)
def test_words_are_counted_by_the_tokens_that_overlap_them(
    batch_of: BatchOf, document: str, words: int, tokens: int, continued: int, single: int
) -> None:
    texts, boundaries = drawn(document)
    assert counts(batch_of(*texts), boundaries) == {
        "words": [words],
        "word_tokens": [tokens],
        "continued_words": [continued],
        "single_token_words": [single],
    }


def test_a_cut_within_a_character_is_a_cut_of_its_word(batch_of: BatchOf) -> None:
    batch = batch_of("né")  # n, first byte of é, second byte of é
    ends = np.array([1, 2, 3])
    boundaries = Boundaries(starts=ends - 1, ends=ends, known=np.ones(1, np.bool_), partition=True)
    assert counts(batch, boundaries)["word_tokens"] == [3]


def test_documents_do_not_touch_each_other(batch_of: BatchOf) -> None:
    _, boundaries = drawn("ca|t", "the| cat", "c|a|t")
    boundaries = replace(boundaries, known=np.ones(4, np.bool_))
    assert counts(batch_of("cat", "", "the cat", "cat"), boundaries) == {
        "words": [1, 0, 2, 1],
        "word_tokens": [2, 0, 2, 3],
        "continued_words": [1, 0, 0, 1],
        "single_token_words": [0, 0, 2, 0],
    }


def test_spans_may_leave_gaps_overlap_repeat_and_be_empty(batch_of: BatchOf) -> None:
    batch = batch_of("the cat sat", "naïve")
    told = spans(
        batch,
        # the: twice the same span; cat: vanished; sat: an empty span inside, two that overlap
        [(0, 3), (0, 3), (9, 9), (8, 10), (9, 11)],
        [(0, 5)],
    )
    assert counts(batch, told) == {
        "words": [3, 1],
        "word_tokens": [2 + 1 + 2, 1],  # a word without any token counts one
        "continued_words": [2, 0],
        "single_token_words": [0, 1],
    }


def test_a_span_that_covers_two_words_is_no_single_token_word_of_either(batch_of: BatchOf) -> None:
    batch = batch_of("the cat")
    assert counts(batch, spans(batch, [(0, 7)]))["single_token_words"] == [0]
    assert counts(batch, spans(batch, [(0, 3), (3, 7)]))["single_token_words"] == [2]
    assert counts(batch, spans(batch, [(0, 3), (4, 7)]))["single_token_words"] == [2]
    assert counts(batch, spans(batch, [(0, 3), (5, 7)]))["single_token_words"] == [1]


def test_spans_in_code_points_become_bytes(batch_of: BatchOf) -> None:
    batch = batch_of("é日", "ß")
    told = spans(batch, [(0, 1), (1, 2)], [(0, 1)])
    assert told.starts.tolist() == [0, 2, 5]
    assert told.ends.tolist() == [2, 5, 7]


def test_spans_beyond_the_text_end_where_it_ends(batch_of: BatchOf) -> None:
    batch = batch_of("ab", "cd")
    told = spans(batch, [(0, 9), (5, 3)], [(0, 2)])
    assert told.starts.tolist() == [0, 2, 2]
    assert told.ends.tolist() == [2, 2, 4]


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    documents=st.lists(
        st.lists(st.sampled_from(["a", "bc", " ", "é", " d", "'", "日本", "  e", "."]), max_size=8),
        min_size=1,
        max_size=3,
    )
)
def test_a_partition_told_as_spans_gives_the_same_counts(
    batch_of: BatchOf, documents: list[list[str]]
) -> None:
    texts = ["".join(tokens) for tokens in documents]
    batch = batch_of(*[text or "x" for text in texts])
    documents = [tokens or ["x"] for tokens in documents]
    if batch.word_starts is None:
        return
    lengths = [len(token.encode()) for tokens in documents for token in tokens]
    ends = np.cumsum(lengths, dtype=np.int64)
    partition = Boundaries(
        starts=ends - lengths,
        ends=ends,
        known=np.ones(len(documents), np.bool_),
        partition=True,
    )
    places = []
    for tokens in documents:
        at = np.cumsum([0, *map(len, tokens)]).tolist()
        places.append(list(zip(at, at[1:], strict=False)))
    assert counts(batch, spans(batch, *places)) == counts(batch, partition)
