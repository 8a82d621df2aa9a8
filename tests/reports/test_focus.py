"""What a mix of languages costs, and whether it is what the run itself says."""

from __future__ import annotations

import numpy as np
import pytest

from tokbench.bench.count import resampling
from tokbench.bench.count.resampling import units_of
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports import focus
from tokbench.reports.focus import Rates, rates, standings
from tokbench.reports.view import View

N = 130
"""Enough documents for plain percentiles, which are what a focus uses."""

WORDS = ("the cat", "a cat is the cat", "the end of the the", "sat")


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> RunOutcome:
    """A parallel corpus of two languages and one without a pivot."""
    measure = request.getfixturevalue("measure")
    english = [f"{WORDS[i % 4]} {i % 7}" for i in range(N)]
    german = [f"{WORDS[i % 3]} {'und ' * (i % 5)}" for i in range(N)]
    outcome: RunOutcome = measure(
        {
            "corpora": {
                "texts": {
                    "source": "files",
                    "path": "{language}.jsonl",
                    "languages": ["en", "de"],
                    "id": "id",
                    "parallel": True,
                    "pivot": "en",
                },
                "single": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"},
            },
            "tokenizers": {
                "bytes": {"type": "utf8_bytes"},
                "pieces": {"type": "toy_pieces", "pieces": ["the", " the", " cat", "und "]},
            },
            "suites": {"efficiency": {"pairs": True}, "multilingual": {}, "fidelity": {}},
        },
        {"en.jsonl": english, "de.jsonl": german},
    )
    return outcome


def test_the_draws_are_those_of_the_run(run: RunOutcome) -> None:
    view = View(run.results)
    found = rates(view, "texts")
    name, de, en = (
        found.tokenizers.index("pieces"),
        found.languages.index("de"),
        found.languages.index("en"),
    )
    row = view.row("premium", "pieces", "texts", "de")
    assert row is not None
    ends = np.quantile(found.drawn[:, name, de] / found.drawn[:, name, en], [0.025, 0.975])
    assert ends.tolist() == pytest.approx([row["ci_low"], row["ci_high"]], rel=1e-12)


def test_a_focus_on_one_language_is_the_ratio_of_its_totals(run: RunOutcome) -> None:
    view = View(run.results)
    tokens = {name: view.value("tokens", name, "single", "en") for name in view.tokenizers}
    found = rates(view, "single")
    best, other = standings(found, {"en": 1}, {"bytes": True, "pieces": True})
    assert (best.tokenizer, best.ratio, best.rank, other.rank) == ("pieces", 1, 1, 2)
    assert other.ratio == pytest.approx((tokens["bytes"] or 0) / (tokens["pieces"] or 1))
    assert found.unit == "1,000 bytes"
    n_bytes = view.corpora["single"]["en"]["bytes"]
    assert other.cost == pytest.approx(1000 * (tokens["bytes"] or 0) / n_bytes)


def test_on_parallel_text_weights_are_shares_of_the_documents(run: RunOutcome) -> None:
    view = View(run.results)
    found = rates(view, "texts")
    total = {k: view.value("tokens", "pieces", "texts", k) or 0 for k in ("en", "de")}
    best, _ = standings(found, {"de": 3, "en": 1}, {"bytes": True, "pieces": True})
    assert best.cost == pytest.approx((0.75 * total["de"] + 0.25 * total["en"]) / N)


def test_who_has_no_place_is_listed_last_and_is_not_what_others_are_compared_with(
    run: RunOutcome,
) -> None:
    found = rates(View(run.results), "texts")
    first, last = standings(found, {"en": 1}, {"bytes": True, "pieces": False})
    assert (first.tokenizer, first.rank, first.ratio) == ("bytes", 1, 1)
    assert (last.tokenizer, last.rank) == ("pieces", None)
    assert last.ratio is not None
    assert last.ratio < 1


def test_a_missing_count_has_no_cost() -> None:
    measured = np.array([[2.0, np.nan], [1.0, 1.0]])
    made = Rates(
        corpus="c",
        tokenizers=("a", "b"),
        languages=("en", "de"),
        unit="document",
        measured=measured,
        drawn=np.stack([measured] * 5),
    )
    first, last = standings(made, {"en": 1, "de": 1}, {"a": True, "b": True})
    assert (first.tokenizer, last.tokenizer, last.cost, last.rank) == ("b", "a", None, None)


def test_fewer_draws_are_the_first_of_more_and_are_read_once(run: RunOutcome) -> None:
    first, again = View(run.results), View(run.results)
    many = rates(first, "texts")
    few = rates(first, "texts", 30)  # from those that are kept
    alone = rates(again, "texts", 30)  # nothing was kept
    more = rates(again, "texts")
    assert (len(few.drawn), len(more.drawn)) == (30, len(many.drawn))
    assert np.array_equal(few.drawn, many.drawn[:30])
    assert np.array_equal(alone.drawn, few.drawn)
    assert np.array_equal(more.drawn, many.drawn)
    assert np.shares_memory(rates(first, "texts", 30).drawn, rates(first, "texts", 20).drawn)


def test_many_documents_are_added_up_in_the_blocks_that_the_run_draws(
    run: RunOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = rates(View(run.results), "single")
    for module in (resampling, focus):
        monkeypatch.setattr(module, "MAX_UNITS", 7)
    found = rates(View(run.results), "single")
    assert found.measured.tolist() == plain.measured.tolist()
    units = units_of(N, "single", resamples=len(found.drawn), seed=0)
    assert units.n == 7
    table = run.results.documents("pieces", "single", columns=("language", "tokens", "bytes"))
    tokens, size = (
        units.weights() @ units.totals(table[name].to_numpy()) for name in ("tokens", "bytes")
    )
    drawn = found.drawn[:, found.tokenizers.index("pieces"), 0]
    assert drawn == pytest.approx(tokens * 1000 / size, rel=1e-6)
