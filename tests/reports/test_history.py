"""The history of several runs finds where exact values and stored speeds changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tokbench.bench import plugins
from tokbench.bench.compare.snapshot import Snapshot, snapshot_of
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.comparison.change_points import (
    ChangePoint,
    SpeedPoint,
    TimedRun,
    change_points,
    speed_points,
)

OTHER_TEXT = "the dog"


@pytest.fixture(scope="module")
def runs(measure: Callable[..., RunOutcome]) -> list[Results]:
    """The tokenizer loses ``cat`` in the third run; the German of the fourth is another."""

    def run(pieces: list[str], german: str) -> Results:
        corpus = {"source": "files", "path": "{language}.jsonl", "languages": ["en", "de"]}
        toy = {"type": "toy_pieces", "pieces": pieces}
        config = {"corpora": {"c": {**corpus, "id": "id"}}, "tokenizers": {"toy": toy}}
        texts = {"en.jsonl": ["the cat"], "de.jsonl": [german]}
        return measure({**config, "suites": {"efficiency": {}}, "reports": []}, texts).results

    both = ["the", " cat"]
    return [run(both, "Hut"), run(both, "Hut"), run(["the"], "Hut"), run(["the"], OTHER_TEXT)]


def named(runs: list[Results]) -> list[tuple[str, Snapshot]]:
    """Runs 1, 2, 3, ... of a library that is one version further in each."""
    return [
        (f"run-{n}", replace(snapshot_of(run), versions={"library": f"1.{n}"}))
        for n, run in enumerate(runs, 1)
    ]


def test_any_other_exact_value_on_equal_text_is_a_change_with_the_libraries_that_changed(
    runs: list[Results],
) -> None:
    found = {point.metric: point for point in change_points(named(runs))}
    # the, ␣cat are 2 tokens; the, ␣, c, a, t are 5
    assert found["tokens"] == ChangePoint(
        before="run-2",
        after="run-3",
        versions=("library 1.2 → 1.3",),
        tokenizer="toy",
        corpus="c",
        metric="tokens",
        languages=("en",),
        old="2",
        new="5",
        change="+3 (+150.0 %)",
    )
    assert {point.after for point in found.values()} == {"run-3"}
    assert {"fingerprint", "n_entries", "ids", "bytes_per_token"} < found.keys()
    assert found["n_entries"].corpus is None
    [others] = [metric for metric in found if ": " in metric]
    assert "token_length_share" in others


def test_a_run_without_the_value_hides_no_change(runs: list[Results]) -> None:
    first, second, third, _ = named(runs)
    empty = replace(second[1], values={})
    [point] = change_points([first, ("run-2", empty), third], ["tokens"])
    assert (point.before, point.after) == ("run-1", "run-3")
    assert point.versions == ("library 1.1 → 1.3",)


def test_named_metrics_have_rows_of_their_own(runs: list[Results]) -> None:
    points = change_points(named(runs), ["characters_per_token", "tokens"])
    assert sorted(point.metric for point in points) == ["characters_per_token", "tokens"]
    assert change_points(named(runs), ["n_ids"])[0].change == "−1 (−0.4 %)"


@pytest.mark.parametrize("name", ["markdown", "text", "html"])
def test_every_form_of_a_history_says_where_the_change_is(runs: list[Results], name: str) -> None:
    [text] = plugins.find(HistoryPlugin, name)().render(runs, ["tokens"]).values()
    row = next(line for line in text.splitlines() if "150.0 %" in line)
    assert "toy" in row
    assert "same library versions" in text
    assert "values of toy changed" in text


def test_a_history_without_a_change_says_so(runs: list[Results]) -> None:
    [text] = plugins.find(HistoryPlugin, "text")().render(runs[:2], []).values()
    assert text == "No exact value changed over 2 runs.\n"


KEY = ("toy", "c", None)
MACHINE = {"cpu": "one CPU"}


def timed(*ratios: tuple[float, float], cpu: dict[int, str] | None = None) -> list[TimedRun]:
    """Runs 0, 1, 2, ... with ratios and the half width of their intervals."""
    runs = []
    for n, (value, half) in enumerate(ratios):
        row: dict[str, Any] = {
            "tokenizer": "toy",
            "corpus": "c",
            "language": None,
            "value": value,
            "ci_low": value - half,
            "ci_high": value + half,
            "params": {"phase": "encode", "call": "batch", "reference": "gpt2"},
        }
        machine = {"cpu": (cpu or {}).get(n, "one CPU")}
        runs.append(TimedRun(str(n), machine, {"library": f"1.{n}"}, {KEY: row}))
    return runs


def places(points: list[SpeedPoint]) -> list[tuple[str, str, bool]]:
    return [(point.before, point.after, point.confirmed) for point in points]


def test_a_ratio_that_stays_outside_its_band_has_changed_once() -> None:
    points = speed_points(timed((2.0, 0.1), (2.05, 0.1), (1.95, 0.1), (1.5, 0.1), (1.52, 0.1)))
    assert places(points) == [("2", "3", True)]
    assert points[0].versions == ("library 1.2 → 1.3",)
    assert points[0].change == 0.75
    assert points[0].old == "2.00 (1.90 to 2.10)"


@pytest.mark.parametrize(
    "ratios",
    [
        [(2.0, 0.1), (1.5, 0.1), (2.0, 0.1)],  # one noisy run
        [(2.0, 0.3), (1.5, 0.3), (1.5, 0.3)],  # intervals overlap
        [(2.0, 0.01), (1.95, 0.01), (1.95, 0.01)],  # below the limit of 5 %
    ],
)
def test_noise_is_no_change(ratios: list[tuple[float, float]]) -> None:
    assert speed_points(timed(*ratios)) == []


def test_the_last_run_is_not_confirmed() -> None:
    assert places(speed_points(timed((2.0, 0.1), (2.0, 0.1), (3.0, 0.1)))) == [("1", "2", False)]


def test_a_slow_drift_is_found_where_it_leaves_the_band() -> None:
    drift = [(2.0 - 0.05 * n, 0.04) for n in range(8)]
    assert places(speed_points(timed(*drift)))[0][1] == "3"


def test_another_machine_begins_a_band_of_its_own() -> None:
    runs = timed((2.0, 0.1), (1.5, 0.1), (1.5, 0.1), cpu={1: "another", 2: "another"})
    assert speed_points(runs) == []
