"""Premiums, their spread, and when they are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hand_made import tallies, tally
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import CellKey, Tally
from tokbench.bench.model import Finding, Measurement
from tokbench.suites.multilingual.suite import Multilingual

PIVOT = [10, 20, 30]


def measure(made: Tallies, **options: Any) -> list[Measurement]:
    suite = Multilingual.model_validate(options)
    return [row for row in suite.measure(made) if isinstance(row, Measurement)]


def one(rows: list[Measurement], metric: str, language: str | None, **params: Any) -> Measurement:
    found = [
        row
        for row in rows
        if row.metric.name == metric
        and row.language == language
        and params.items() <= row.params.items()
    ]
    assert len(found) == 1, (metric, language, found)
    return found[0]


def of(tokens: list[int], **columns: list[int]) -> Tally:
    n = len(tokens)
    base = {"tokens": tokens, "bytes": [100] * n, "characters": [50] * n, "words": [5] * n}
    return tally({**base, **columns})


def three() -> Tallies:
    return tallies(
        {
            ("t", "eng_Latn"): of(PIVOT),
            ("t", "deu_Latn"): of([20, 40, 60]),
            ("t", "fin_Latn"): of([30, 60, 90]),
        }
    )


def test_the_spread_is_over_all_languages_with_the_pivot() -> None:
    rows = measure(three())
    everywhere = {"script": None}
    assert one(rows, "mean_premium", None, **everywhere).value == 2
    assert one(rows, "gini", None, **everywhere).value == pytest.approx(2 / 9)
    assert one(rows, "premium_max_min", None, **everywhere).value == 3
    deviation = one(rows, "premium_standard_deviation", None, **everywhere).value
    assert deviation == pytest.approx((2 / 3) ** 0.5)
    assert one(rows, "gini", None, **everywhere).n == 3


def test_languages_above_a_limit_leave_the_pivot_out() -> None:
    rows = measure(three(), limits=[1.5, 2.0])
    assert one(rows, "languages_above", None, script=None, above=1.5).value == 1
    assert one(rows, "languages_above", None, script=None, above=2.0).value == 0.5


def test_a_spread_is_given_for_each_script_of_two_languages() -> None:
    assert one(measure(three()), "gini", None, script="Latn").value == pytest.approx(2 / 9)


def test_proportional_languages_have_an_interval_of_no_width() -> None:
    row = one(measure(three()), "premium", "deu_Latn")
    assert (row.value, row.ci_low, row.ci_high) == (2, 2, 2)


def test_the_premium_is_a_ratio_of_totals_and_no_mean_of_ratios() -> None:
    made = tallies({("t", "eng_Latn"): of([1, 99]), ("t", "deu_Latn"): of([3, 99])})
    assert one(measure(made), "premium", "deu_Latn").value == 102 / 100


def test_lost_text_is_no_cheap_text() -> None:
    made = tallies(
        {("t", "eng_Latn"): of(PIVOT), ("t", "tha_Thai"): of([1, 1, 1], lost_unknown=[50, 0, 0])}
    )
    row = one(measure(made), "premium", "tha_Thai")
    assert row.status == "refused"
    assert row.value is None
    assert "16.7% of the bytes of t on tha_Thai are lost (limit 10%)" in str(row.detail)
    assert one(measure(made), "context_characters", "tha_Thai").status == "refused"
    assert one(measure(made), "gini", None, script=None).status == "refused"


def test_the_spread_says_which_languages_it_lacks() -> None:
    made = three()
    cells = dict(made.cells)
    key = CellKey("t", "corpus", "fin_Latn")
    cells[key] = replace(cells[key], status="failed")
    row = one(measure(replace(made, cells=cells)), "mean_premium", None, script=None)
    assert row.value == 1.5
    assert row.detail == "without fin_Latn: no premium there"


def test_without_parallel_text_there_is_a_refusal_and_no_premium() -> None:
    made = tallies({("t", "eng_Latn"): of(PIVOT), ("t", "deu_Latn"): of(PIVOT)}, parallel=False)
    rows = list(Multilingual().measure(made))
    refusals = [row.message for row in rows if isinstance(row, Finding)]
    assert len(refusals) == 1
    assert "the corpus is not parallel" in refusals[0]
    assert not [r for r in rows if isinstance(r, Measurement) and r.metric.name == "premium"]


def test_differing_ids_refuse_every_premium() -> None:
    made = tallies(
        {("t", "eng_Latn"): of(PIVOT), ("t", "deu_Latn"): of(PIVOT)}, parallel_refusal="ids differ"
    )
    row = one(measure(made), "premium", "deu_Latn")
    assert (row.status, row.detail) == ("refused", "ids differ")


def test_programs_have_a_program_premium_beside_their_characters() -> None:
    made = tallies(
        {("t", "python"): of(PIVOT), ("t", "c"): of(PIVOT, characters=[100, 100, 100])},
        kind="code",
        pivot="python",
        script=None,
    )
    rows = measure(made)
    assert one(rows, "program_premium", "c").value == 1
    assert one(rows, "characters_ratio", "c").value == 2
    assert not [row for row in rows if row.metric.name in ("premium", "overhead", "gini")]


def test_documents_that_failed_on_one_side_count_on_neither() -> None:
    made = tallies({("t", "eng_Latn"): of(PIVOT), ("t", "deu_Latn"): of([20, 40, 60])})
    key = CellKey("t", "corpus", "deu_Latn")
    short = replace(tally({"tokens": [20, 40]}), rows=np.array([0, 1]))
    cells = {**made.cells, key: replace(made.cells[key], status="partial", tally=short)}
    row = one(measure(replace(made, cells=cells)), "premium", "deu_Latn")
    assert (row.value, row.n, row.status) == (2, 2, "partial")
