"""Intervals: a published one, their coverage on a known distribution, and their cost."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from hand_made import tallies, tally
from tokbench.bench.count.stats import draw_weights, interval_of_resamples
from tokbench.suites.anchors.measuring import results_of
from tokbench.suites.efficiency.suite import Efficiency
from tokbench.suites.multilingual.suite import Multilingual

RATIO = 1.586


@pytest.mark.parametrize(("n", "lowest"), [(40, 0.90), (250, 0.92)])
def test_a_95_per_cent_interval_covers_the_truth_as_often_as_it_says(n: int, lowest: float) -> None:
    # documents of very different length, each costing RATIO times as much up to noise of mean 1
    rng = np.random.default_rng(0)
    covered, trials = 0, 300
    for trial in range(trials):
        pivot = 5 + rng.poisson(rng.lognormal(3, 0.5, n)).astype(np.float64)
        tokens = pivot * RATIO * rng.gamma(25, 1 / 25, n)
        weights = draw_weights(n, 400, seed=trial)
        resampled = (weights @ tokens) / (weights @ pivot)
        low, high = interval_of_resamples(resampled, tokens, pivot)
        assert low is not None
        assert high is not None
        covered += low <= RATIO <= high
    assert lowest <= covered / trials <= 0.98


def test_the_german_premium_of_cl100k_is_the_published_one(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    config = {
        "name": "german",
        "resamples": 2000,
        "corpora": {
            "flores": {
                "source": "huggingface",
                "path": "corpora/flores200",
                "config": "{language}",
                "split": "devtest",
                "languages": ["eng_Latn", "deu_Latn"],
                "parallel": True,
                "pivot": "eng_Latn",
            }
        },
        "tokenizers": {"cl100k_base": {"type": "tiktoken", "encoding": "cl100k_base"}},
        "suites": ["multilingual"],
    }
    with results_of(config, data_folder) as results:
        rows = results.measurements.to_pylist()
        documents = results.documents("cl100k_base", "flores").to_pydict()
    row = next(r for r in rows if (r["metric"], r["language"]) == ("premium", "deu_Latn"))
    assert row["value"] == pytest.approx(1.586, abs=0.0005)
    assert row["ci_low"] == pytest.approx(1.570, abs=0.002)
    assert row["ci_high"] == pytest.approx(1.601, abs=0.002)
    tokens = np.array(documents["tokens"]).reshape(2, -1)
    of_german = 1 if documents["language"][0] == "eng_Latn" else 0
    mean_of_ratios = (tokens[of_german] / tokens[1 - of_german]).mean()
    assert mean_of_ratios == pytest.approx(1.599, abs=0.0005)


def test_a_million_documents_are_resampled_in_blocks_and_fast() -> None:
    n = 1_000_000
    rng = np.random.default_rng(0)
    pivot = rng.poisson(30, n) + 1
    columns = {"bytes": pivot * 4, "characters": pivot * 4, "words": pivot}
    made = tallies(
        {
            ("t", "eng_Latn"): tally({"tokens": pivot, **columns}),
            ("t", "deu_Latn"): tally({"tokens": rng.poisson(48, n) + 1, **columns}),
        }
    )
    start = time.process_time()
    rows = [*Efficiency().measure(made), *Multilingual().measure(made)]
    spent = time.process_time() - start
    premium = next(r for r in rows if r.metric.name == "premium" and r.language == "deu_Latn")
    assert premium.ci_low < premium.value < premium.ci_high
    assert premium.ci_high - premium.ci_low < 0.002
    assert spent < 10, f"{spent:.1f} s of CPU time"
