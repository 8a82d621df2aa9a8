"""However a corpus is cut into parts, its tallies merge to the numbers of one pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hand_made import tallies
from tokbench.api import load_tokenizer
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.loose_texts import batch_of
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tally import Tally, merge
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.environment import Stopwatch
from tokbench.bench.model import Measurement, Tokenizer
from tokbench.suites.efficiency.suite import Efficiency
from tokbench.suites.fidelity.suite import Fidelity
from tokbench.suites.information.suite import Information
from tokbench.suites.multilingual.suite import Multilingual

TEXTS = st.lists(
    st.text(alphabet="ab é한\u0301\n🏳👩\u200d", min_size=1, max_size=12), min_size=1, max_size=12
)


def tokenizer() -> Tokenizer:
    return load_tokenizer({"type": "utf8_bytes"}, folder=Path())


def count(texts: list[str], cuts: list[int]) -> Tally:
    """Count texts in parts that end at the cuts, the last part first."""
    batch = batch_of(texts, words=True)
    counter = Counter(tokenizer=tokenizer(), watch=Stopwatch(), keep_ids=True)
    edges = [0, *sorted(cuts), len(texts)]
    parts = [batch.part(a, b) for a, b in zip(edges, edges[1:], strict=False) if b > a]
    return merge([counter.count(part) for part in reversed(parts)])


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.data())
def test_any_split_merges_to_the_tally_of_one_pass(texts: list[str], data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(texts)), max_size=4))
    whole, parts = count(texts, []), count(texts, cuts)
    for column, values in whole.documents.items():
        assert np.array_equal(values, parts.documents[column]), column
    assert np.array_equal(whole.rows, parts.rows)
    assert np.array_equal(whole.ids_hash, parts.ids_hash)
    assert np.array_equal(whole.histogram_ids, parts.histogram_ids)
    assert np.array_equal(whole.histogram_counts, parts.histogram_counts)


def rows_of(suite: CountsSuite, one: Tally) -> list[Measurement]:
    made = tallies({("t", "eng_Latn"): one})
    made = replace(made, contents={"t": Contents.of(tokenizer().vocabulary)})
    return [row for row in suite.measure(made) if isinstance(row, Measurement)]


@pytest.mark.parametrize("suite", [Efficiency, Multilingual, Information, Fidelity])
def test_every_suite_gives_the_same_rows_for_parts(suite: type[CountsSuite]) -> None:
    texts = ["one two", "e\u0301té", "한국어", "👩\u200d🏳", "x", "a b c"]
    whole, parts = count(texts, []), count(texts, [1, 4])
    assert rows_of(suite(), whole) == rows_of(suite(), parts)
    assert rows_of(suite(), whole)
