"""Tallies merge: whatever the batches, the processes and their order, the totals are the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.bench.corpus.slices import Slice, SliceBatch
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.tally import COLUMNS, Tally, empty_tally, merge
from tokbench.bench.environment import Stopwatch
from tokbench.bench.results.schemas import finding_rows

TEXTS = [
    "the cat sat",
    "",
    "The CAT",
    "naïve café 日本",
    "<end> the boom",
    "  two  spaces ",
    "x" * 50,
    "the the the",
    "boom",
]


@pytest.fixture
def counter(toys: None) -> Callable[..., Counter]:
    import tokbench_toys as toys_package

    def make(kind: str, keep_ids: bool = False) -> Counter:
        made = {
            "bytes": lambda: toys_package.Greedy(pieces=("the", " the", "cat")),
            "unknown": lambda: toys_package.Greedy(pieces=("the", "cat", " "), unknown=True),
            "lowercase": lambda: toys_package.Greedy(pieces=("the", "cat"), lowercase=True),
            "failing": lambda: toys_package.Failing(word="boom"),
            "panicking": lambda: toys_package.Failing(word="boom", how="panic", where="decode"),
        }[kind]()
        return Counter(tokenizer=made, watch=Stopwatch(), keep_ids=keep_ids)

    return make


@pytest.fixture
def batch(make: Callable[..., Slice], tmp_path: Any) -> SliceBatch:
    from json import dumps

    lines = [dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(TEXTS)]
    (tmp_path / "t.jsonl").write_text("".join(lines), encoding="utf-8")
    [only] = make("en", source="files", path="t.jsonl", id="id").batches()
    return only


def facts_of(tally: Tally) -> dict[str, Any]:
    """Everything a tally holds, as plain values; witnesses apart, of which any may be kept."""
    return {
        "rows": tally.rows.tolist(),
        **{name: tally.documents[name].tolist() for name in COLUMNS},
        "hashes": tally.ids_hash.tolist(),
        "histogram": list(
            zip(tally.histogram_ids.tolist(), tally.histogram_counts.tolist(), strict=True)
        ),
        "ids": None if tally.ids is None else [ids.tolist() for ids in tally.ids],
        "failed": tally.failed_rows,
        "failures": [f.document_id for f in tally.findings if f.kind == "failure"],
    }


@pytest.mark.parametrize("keep_ids", [False, True])
@pytest.mark.parametrize("kind", ["bytes", "unknown", "lowercase", "failing", "panicking"])
@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cuts=st.sets(st.integers(1, len(TEXTS) - 1)), shuffle=st.randoms(use_true_random=False))
def test_any_split_in_any_order_merges_to_one_pass(
    counter: Callable[..., Counter],
    batch: SliceBatch,
    kind: str,
    keep_ids: bool,
    cuts: set[int],
    shuffle: Any,
) -> None:
    whole = counter(kind, keep_ids).count(batch)
    edges = [0, *sorted(cuts), len(TEXTS)]
    parts = [
        counter(kind, keep_ids).count(batch.part(start, stop))
        for start, stop in zip(edges, edges[1:], strict=False)
    ]
    shuffle.shuffle(parts)
    merged = merge(parts)
    expected = facts_of(whole)
    expected["failures"] = sorted(expected["failures"])
    found = facts_of(merged)
    found["failures"] = sorted(found["failures"])
    assert found == expected


def test_merging_is_associative_and_nothing_is_neutral(
    counter: Callable[..., Counter], batch: SliceBatch
) -> None:
    a, b, c = (
        counter("bytes", keep_ids=True).count(batch.part(*cut)) for cut in ((0, 3), (3, 4), (4, 9))
    )
    expected = facts_of(merge([a, b, c]))
    assert facts_of(merge([merge([a, b]), c])) == expected
    assert facts_of(merge([a, merge([b, c])])) == expected
    assert facts_of(merge([empty_tally(), a, b, c])) == expected
    assert merge([]).n == 0


def test_a_part_of_a_batch_keeps_its_words(batch: SliceBatch) -> None:
    part = batch.part(6, 8)
    assert part.ids == ["d6", "d7"]
    assert part.word_starts is not None
    assert part.word_ends is not None
    words = [
        bytes(part.buffer[start:end]).decode()
        for start, end in zip(part.word_starts, part.word_ends, strict=True)
    ]
    assert words == ["x" * 50, "the", "the", "the"]


def test_witnesses_do_not_depend_on_how_documents_were_batched(
    counter: Callable[..., Counter], batch: SliceBatch
) -> None:
    """The first of each class is kept in the end, and says the same in any batch."""
    whole = counter("lowercase").count(batch).findings
    parts = merge([counter("lowercase").count(batch.part(i, i + 1)) for i in range(9)]).findings
    assert {row["message"] for row in finding_rows(whole)} <= {
        row["message"] for row in finding_rows(parts)
    }


def test_totals_are_sums_over_documents(counter: Callable[..., Counter], batch: SliceBatch) -> None:
    tally = counter("bytes").count(batch)
    assert tally.n == len(TEXTS)
    assert tally.total("bytes") == sum(len(text.encode()) for text in TEXTS)
    assert tally.total("characters") == sum(map(len, TEXTS))
    assert tally.total("tokens") == int(tally.histogram_counts.sum())
    assert tally.total("spells_special") == 1  # "<end>"
    assert np.all(np.diff(tally.histogram_ids) > 0)
    assert "tokbench_toys" in sys.modules


def test_documents_that_fail_are_left_out_and_named(
    counter: Callable[..., Counter], batch: SliceBatch
) -> None:
    for kind, error in (("failing", "ValueError: cannot go on"), ("panicking", "PanicException: ")):
        tally = counter(kind).count(batch)
        assert tally.failed_rows == (4, 8)
        assert tally.rows.tolist() == [0, 1, 2, 3, 5, 6, 7]
        failures = [f for f in tally.findings if f.kind == "failure"]
        assert [f.document_id for f in failures] == ["d4", "d8"]
        assert all(f.message.startswith(error) for f in failures)
