"""Neighbours and shapes of frequencies against loops, closed forms and a run."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokbench
from tokbench.bench.count.encoded import flatten
from tokbench.bench.count.neighbours import Neighbours, neighbours_of
from tokbench.reports import detail
from tokbench.reports.view import View
from tokbench.suites.distributions import shape


def by_loops(documents: list[list[int]]) -> Neighbours:
    after: dict[int, Counter[int]] = defaultdict(Counter)
    before: dict[int, set[int]] = defaultdict(set)
    for ids in documents:
        for a, b in zip(ids, ids[1:], strict=False):
            after[a][b] += 1
            before[b].add(a)

    def entropy(of: Counter[int]) -> float:
        return -sum(c / of.total() * log2(c / of.total()) for c in of.values())

    n = sum(one.total() for one in after.values())
    some = {a: one for a, one in after.items() if one.total() >= 3}
    weights = [one.total() for one in some.values()]
    even = [entropy(one) / log2(len(one)) if len(one) > 1 else 0.0 for one in some.values()]
    most = [min(len(before), one.total()) for one in some.values()]
    share = [
        entropy(one) / log2(m) if m > 1 else 0.0 for one, m in zip(some.values(), most, strict=True)
    ]
    variety = [min(len(one), len(before[a])) for a, one in some.items()]
    return Neighbours(
        documents=len(documents),
        tokens=sum(map(len, documents)),
        pairs=n,
        entropy=sum(one.total() * entropy(one) for one in after.values()) / n if n else None,
        ids=len(some),
        evenness=float(np.average(even, weights=weights)) if some else None,
        efficiency=float(np.mean(share)) if some else None,
        variety=float(np.mean(variety)) if some else None,
    )


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(st.integers(0, 4), max_size=25), max_size=6))
def test_neighbours_of_any_documents_are_those_of_loops(documents: list[list[int]]) -> None:
    found = neighbours_of([flatten(documents[:2]), flatten(documents[2:])])
    expected = by_loops(documents)
    for name, value in vars(expected).items():
        assert getattr(found, name) == (None if value is None else pytest.approx(value)), name


def test_a_chain_of_certain_successors_has_no_entropy() -> None:
    found = neighbours_of([flatten([[1, 2, 3] * 9])])
    assert (found.entropy, found.evenness, found.efficiency, found.variety) == (0, 0, 0, 1)


def test_fair_successors_have_as_many_bits_as_a_coin() -> None:
    found = neighbours_of([flatten([[0, i] for i in (1, 2, 3, 4)])])
    assert (found.entropy, found.evenness, found.ids, found.pairs) == (2.0, 1.0, 1, 4)


def test_pairs_do_not_cross_documents() -> None:
    whole = neighbours_of([flatten([[1, 2, 3, 4]])])
    halves = neighbours_of([flatten([[1, 2], [], [3, 4], [5]])])
    assert (whole.pairs, halves.pairs) == (3, 2)


@pytest.mark.parametrize("s", [0.8, 1.0, 1.5])
def test_a_power_law_has_the_area_of_its_trapezoid_and_no_deviation(s: float) -> None:
    ranks = np.arange(1.0, 3001.0)
    counts = (2.0**50 / ranks**s).astype(np.int64)
    expected = 1 - s * log2(3000) / (2 * 50)
    assert shape.rank_frequency_area(counts) == pytest.approx(expected, abs=1e-9)
    assert shape.power_law_deviation(counts) == pytest.approx(0, abs=1e-6)


def test_a_kink_shows_as_deviation() -> None:
    ranks = np.arange(1.0, 1025.0)
    bent = (2.0**40 / np.where(ranks < 32, ranks, ranks**2 / 32)).astype(np.int64)
    found = shape.power_law_deviation(bent)
    assert found is not None
    assert 0.2 < found < 1


def test_heaps_exponent_of_two_extremes_and_of_a_brute_force() -> None:
    assert shape.heaps_exponent(np.ones(64, np.int64)) == 1.0
    assert shape.heaps_exponent(np.array([10**6, 10**6])) == pytest.approx(0, abs=1e-9)
    counts = np.array([20, 10, 5, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    text = np.repeat(np.arange(len(counts)), counts)
    draws = np.random.default_rng(3)
    points = [len(text) >> k for k in range(5)]
    means = [
        np.mean([len(set(draws.permutation(text)[:n].tolist())) for _ in range(4000)])
        for n in points
    ]
    slope = np.polyfit(np.log(points), np.log(means), 1)[0]
    assert shape.heaps_exponent(counts) == pytest.approx(slope, abs=0.01)


def test_too_few_ids_have_no_shape() -> None:
    few = np.array([5, 4, 3])
    assert shape.rank_frequency_area(few) is None
    assert shape.power_law_deviation(few) is None
    assert shape.heaps_exponent(np.array([5])) is None
    assert shape.rank_frequency_area(np.ones(20, np.int64)) is None


CONFIG = """
name: shapes
corpora: {c: {source: files, path: text.txt, language: en}}
tokenizers: {bytes: {type: utf8_bytes}}
suites: [distributions]
reports: []
"""
TEXT = "some words that come again\nand words that come again and again\n"


def test_a_run_counts_neighbours_and_keeps_no_ids(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "run.yaml").write_text(CONFIG)
    results = tokbench.run(tmp_path / "run.yaml", output=tmp_path, jobs=1)
    view = View(results)
    expected = by_loops([list(line.encode()) for line in TEXT.splitlines()])
    row = view.row("successor_entropy", "bytes", "c", "en")
    assert row is not None
    assert row["value"] == pytest.approx(expected.entropy)
    assert (row["n"], row["params"]["tokens"]) == (expected.pairs, expected.tokens)
    assert view.value("accessor_variety", "bytes", "c", "en") == pytest.approx(expected.variety)
    assert view.value("heaps_curve", "bytes", "c", None, tokens=expected.tokens) == len(
        set(TEXT.replace("\n", ""))
    )
    assert results.documents("bytes", "c")["ids"].null_count == 2
    assert "### What follows what" in detail.page(view)
