"""Entropies, power laws and unseen ids, with counts a reader can check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hand_made import tallies, tally
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import Finding, Measurement, Vocabulary
from tokbench.suites.information import entropy
from tokbench.suites.information.suite import Information

COUNTS = st.lists(st.integers(1, 500), min_size=1, max_size=60).map(lambda c: np.array(c))


def test_a_fair_choice_among_eight_has_three_bits_at_any_order() -> None:
    fair = np.full(8, 7)
    for alpha in (0.5, 1.0, 2.0, 2.5):
        assert entropy.renyi_entropy(fair, alpha) == pytest.approx(3)


@given(COUNTS)
def test_entropy_falls_with_its_order(counts: np.ndarray) -> None:
    bits = [entropy.renyi_entropy(counts, alpha) for alpha in (0.5, 1.0, 2.0, 2.5)]
    assert all(a >= b - 1e-9 for a, b in zip(bits, bits[1:], strict=False))


def test_the_exponent_of_a_known_power_law_is_found() -> None:
    for exponent in (0.7, 1.0, 1.6):
        counts = (1e10 / np.arange(1.0, 1001.0) ** exponent).astype(np.int64)
        fitted = entropy.zipf_exponent(counts, 1000)
        assert fitted is not None
        assert fitted[0] == pytest.approx(exponent, abs=1e-3)


def test_an_exponent_of_few_ids_is_undefined() -> None:
    assert entropy.zipf_exponent(np.array([5, 4, 3]), 1000) is None


@given(COUNTS, st.data())
def test_fewer_tokens_show_fewer_ids(counts: np.ndarray, data: st.DataObject) -> None:
    total = int(counts.sum())
    n = data.draw(st.integers(1, total))
    found = entropy.expected_distinct(counts, n)
    assert 1 - 1e-9 <= found <= min(n, len(counts)) + 1e-9
    assert found <= entropy.expected_distinct(counts, total)


def test_rarefaction_is_the_mean_over_all_draws() -> None:
    # two of {a a b}: aa once, ab twice -> (1 + 2 + 2) / 3 distinct
    assert entropy.expected_distinct(np.array([2, 1]), 2) == pytest.approx(5 / 3)


def test_good_toulmin_foresees_the_second_half_of_a_text() -> None:
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, 3001)
    draws = rng.choice(3000, 20_000, p=shares / shares.sum())
    first, both = np.bincount(draws[:10_000]), np.bincount(draws)
    estimate, error = entropy.good_toulmin(first[first > 0])
    new = np.count_nonzero(both) - np.count_nonzero(first)
    assert abs(estimate - new) < 2 * error


def test_tokens_are_listed_by_use_and_special_ones_are_no_entries() -> None:
    made = tallies({("t", "eng_Latn"): tally({"tokens": [6]}, {1: 5, 2: 1})})
    vocabulary = Vocabulary(token_bytes=[None, b"a", b" b", b"c"], special_ids=frozenset({0}))
    made.contents["t"] = Contents.of(vocabulary)  # type: ignore[index]
    notes = [row for row in Information().measure(made) if isinstance(row, Finding)]
    used = next(note for note in notes if note.data["class"] == "most_used")
    never = next(note for note in notes if note.data["class"] == "never_used")
    assert used.data["tokens"][0] == {"id": 1, "bytes": "61", "count": 5}
    assert never.data["tokens"] == [{"id": 3, "bytes": "63"}]
    assert never.data["n"] == 1


def test_utilization_is_compared_at_the_fewest_tokens_of_the_corpus() -> None:
    made = tallies(
        {
            ("t", "eng_Latn"): tally({"tokens": [2]}, {1: 1, 2: 1}),
            ("t", "deu_Latn"): tally({"tokens": [4]}, {1: 2, 2: 2}),
        }
    )
    rows = {
        row.language: row
        for row in Information().measure(made)
        if isinstance(row, Measurement)
        and row.metric.name == "vocabulary_utilization_at_equal_tokens"
    }
    assert rows["eng_Latn"].value == 2 / 256
    assert rows["deu_Latn"].value == pytest.approx(5 / 3 / 256)
    assert rows["deu_Latn"].params["tokens"] == 2
