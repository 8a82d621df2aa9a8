"""Intervals: draws that add up, are shared where texts are, and agree with a plain bootstrap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tokbench.bench.count import resampling
from tokbench.bench.count.resampling import Resampling, Units, make_units
from tokbench.bench.count.stats import Interval, draw_weights, interval_of_resamples, seed_of
from tokbench.bench.count.tally import CorpusFacts


def facts(n: int, **changes: Any) -> CorpusFacts:
    """A corpus of n documents in one language."""
    plain = CorpusFacts(
        corpus="c",
        language="en",
        tag="en",
        script="Latn",
        kind="natural",
        parallel=False,
        pivot=None,
        sha256="0" * 64,
        document_ids=tuple(map(str, range(n))),
        clusters=None,
        words_reason=None,
    )
    return replace(plain, **changes)


def units(n: int, resamples: int = 200, seed: int = 0, **changes: Any) -> Units:
    return make_units(facts(n, **changes), resamples=resamples, seed=seed)


# draws


def test_each_resample_draws_as_many_units_as_there_are() -> None:
    weights = draw_weights(7, 500, seed=1)
    assert weights.shape == (500, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == np.floor(weights)).all()


def test_weights_are_those_of_a_multinomial() -> None:
    weights = draw_weights(10, 20_000, seed=2)
    # mean 1, variance 1 - 1/n, covariance -1/n; standard errors are below 0.01
    assert weights.mean(axis=0) == pytest.approx(np.ones(10), abs=0.04)
    assert weights.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.05)
    assert np.cov(weights[:, 0], weights[:, 1])[0, 1] == pytest.approx(-0.1, abs=0.04)


def test_a_seed_decides_the_draws_and_nothing_else_does() -> None:
    assert np.array_equal(draw_weights(5, 9, seed=3), draw_weights(5, 9, seed=3))
    assert not np.array_equal(draw_weights(5, 9, seed=3), draw_weights(5, 9, seed=4))
    assert seed_of(0, "a", "b") == seed_of(0, "a", "b") != seed_of(0, "ab")


def test_draws_depend_on_corpus_units_and_seed_alone() -> None:
    assert np.array_equal(units(6).weights(), units(6, language="de").weights())
    assert not np.array_equal(units(6).weights(), units(6, corpus="other").weights())
    assert not np.array_equal(units(6).weights(), units(6, seed=1).weights())
    assert units(6).draws == units(6, language="de").draws != units(7).draws


def test_draws_that_were_dropped_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "KEPT_BYTES", 6 * 20)
    draws = Resampling(cells=(), corpora={}, seed=0, resamples=20)
    few, more = units(6, 20), units(7, 20)
    first = draws._weights(few)
    assert draws._weights(few) is first
    assert draws._weights(more).shape == (20, 7)  # more than is kept at all
    again = draws._weights(few)
    assert again is not first
    assert np.array_equal(again, first)


def test_languages_of_a_parallel_corpus_share_the_draws() -> None:
    both = [units(6, parallel=True, pivot="en", language=key).weights() for key in ("en", "de")]
    assert np.array_equal(*both)


# units


def test_documents_of_a_cluster_are_drawn_together() -> None:
    made = units(5, clusters=("b", "a", "b", "c", "a"))
    assert (made.n, made.name) == (3, "cluster")
    counts = np.array([1, 10, 100, 1000, 10_000])
    assert made.totals(counts).tolist() == [10_010.0, 101.0, 1000.0]  # a, b, c


def test_totals_of_several_columns_are_grouped_along_the_last_axis() -> None:
    made = units(4, clusters=("x", "y", "x", "y"))
    counts = np.array([[1, 2, 3, 4], [10, 20, 30, 40]])
    assert made.totals(counts).tolist() == [[4.0, 6.0], [40.0, 60.0]]


def test_many_documents_are_drawn_in_blocks_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert units(4096).name == "document"
    monkeypatch.setattr(resampling, "MAX_UNITS", 4)
    made = units(10)
    assert (made.n, made.name) == (4, "block of documents")
    assert made.of_rows(np.arange(10)).tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert made.totals(np.arange(10)).sum() == 45


def test_an_empty_slice_has_one_unit_of_nothing() -> None:
    made = units(0)
    assert made.totals(np.zeros(0, np.int64)).tolist() == [0.0]


# intervals


def ratio_interval(top: Any, bottom: Any, resamples: int = 1000, seed: int = 5) -> Interval:
    weights = draw_weights(len(top), resamples, seed)
    return interval_of_resamples((weights @ top) / (weights @ bottom), top, bottom)


def sample(n: int, seed: int) -> tuple[Any, Any]:
    """Bytes and tokens of n documents whose ratios and lengths are both skewed."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(5, 80, n).astype(float)
    return np.round(tokens * rng.gamma(6, 0.6, n)), tokens


def test_equal_documents_have_an_interval_of_no_width() -> None:
    low, high = ratio_interval(np.full(20, 12.0), np.full(20, 4.0))
    assert (low, high) == pytest.approx((3, 3))


def test_percentiles_are_those_of_the_resamples() -> None:
    resampled = np.arange(1.0, 1002.0)
    np.random.default_rng(0).shuffle(resampled)
    assert interval_of_resamples(resampled, np.ones(100), np.ones(100)) == (26.0, 976.0)


def test_there_is_no_interval_of_one_unit_nor_where_a_resample_divides_by_nothing() -> None:
    assert ratio_interval(np.ones(1), np.ones(1)) == (None, None)
    with np.errstate(invalid="ignore", divide="ignore"):
        assert ratio_interval(np.array([3.0, 0.0]), np.array([1.0, 0.0])) == (None, None)


def test_two_documents_still_have_an_interval_within_their_ratios() -> None:
    low, high = ratio_interval(np.array([2.0, 9.0]), np.array([1.0, 3.0]))
    assert low is not None
    assert high is not None
    assert 2 <= low <= high <= 3


def test_percentile_intervals_agree_with_resampling_one_document_at_a_time() -> None:
    top, bottom = sample(300, seed=11)
    rng = np.random.default_rng(12)
    ratios = []
    for _ in range(4000):
        picks = rng.integers(0, 300, 300)
        ratios.append(sum(top[picks]) / sum(bottom[picks]))
    expected = np.quantile(ratios, [0.025, 0.975])
    width = expected[1] - expected[0]
    assert ratio_interval(top, bottom, resamples=4000) == pytest.approx(expected, abs=0.06 * width)


@pytest.mark.parametrize("n", [12, 30, 99])
def test_bca_intervals_agree_with_scipy(n: int) -> None:
    bootstrap = pytest.importorskip("scipy.stats").bootstrap
    top, bottom = sample(n, seed=n)
    theirs = bootstrap(
        (top, bottom),
        lambda t, b, axis: t.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        vectorized=True,
        method="BCa",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    width = theirs.high - theirs.low
    ours = ratio_interval(top, bottom, resamples=20_000)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.05 * width)


def test_few_documents_are_corrected_and_many_are_not() -> None:
    for n, corrected in ((99, True), (100, False)):
        top, bottom = sample(n, seed=3)
        weights = draw_weights(n, 2000, seed=1)
        resampled = (weights @ top) / (weights @ bottom)
        plain = np.quantile(resampled, [0.025, 0.975])
        ours = interval_of_resamples(resampled, top, bottom)
        assert (ours != pytest.approx(plain, abs=1e-9)) == corrected


@pytest.mark.parametrize("n", [20, 150])
def test_about_95_of_100_intervals_hold_the_true_ratio(n: int) -> None:
    rng = np.random.default_rng(7)
    hits = 0
    for trial in range(300):
        bottom = rng.integers(5, 80, n).astype(float)
        top = bottom * rng.gamma(6, 0.5, n)  # the true ratio is 3
        low, high = ratio_interval(top, bottom, resamples=400, seed=trial)
        hits += low is not None and high is not None and low <= 3 <= high
    assert 0.89 * 300 <= hits <= 0.98 * 300


# resampling of cells


def test_a_ratio_of_two_tokenizers_is_paired() -> None:
    """Both need one token a byte more or less, document for document: no width at all."""
    made = units(50)
    tokens = np.random.default_rng(1).integers(1, 500, 50).astype(float)
    resampled = (made.weights() @ (2 * tokens)) / (made.weights() @ tokens)
    assert interval_of_resamples(resampled, 2 * tokens, tokens) == pytest.approx((2, 2))


def test_the_documents_both_sides_have_are_resampled_in_their_clusters() -> None:
    """Where documents failed, what is left keeps the units of the corpus."""
    of_document = units(12, clusters=("a",) * 6 + ("b",) * 6).of_rows(np.arange(12))
    rows = np.array([0, 1, 2, 3, 4, 7, 8, 9, 10, 11])  # one of each cluster failed
    draws = resampling.Resampling(cells=[], corpora={}, resamples=500, seed=0)
    top, bottom = np.repeat([2.0, 6.0], 5), np.repeat([1.0, 2.0], 5)
    value, interval = draws.paired_ratio("c", top, bottom, unit=of_document[rows])
    assert value == 40 / 15
    assert interval == (2, 3)  # of two clusters, one is drawn twice in half of all resamples
    _, alone = draws.paired_ratio("c", top, bottom)
    assert alone.low is not None
    assert alone.low > 2  # ten documents of one cluster: once in a thousand


def test_a_part_of_nothing_has_no_ratio() -> None:
    draws = resampling.Resampling(cells=[], corpora={}, resamples=500, seed=0)
    assert draws.paired_ratio("c", np.zeros(2), np.zeros(2)) == (None, (None, None))
    assert draws.paired_ratio("c", np.zeros(0), np.zeros(0)) == (None, (None, None))
