"""Suites that ask tokenizers within a run: recorded apart, repeatable, and never the end of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tokbench
from tokbench.bench.errors import ConfigError

ASKING: dict[str, Any] = {
    "witnesses": {"fuzz": 3},
    "vocabulary": {},
    "probes": {},
    "differential": {"pairs": [{"first": "bytes", "second": "again"}], "fuzz": 2},
}


def measured(folder: Path, suites: dict[str, Any]) -> tokbench.Results:
    builtin = {"source": "builtin"}
    config = {
        "name": "asking",
        "corpora": {
            "sentences": {**builtin, "dataset": "sentences", "languages": ["eng_Latn", "jpn_Jpan"]},
            "programs": {**builtin, "dataset": "programs", "languages": ["python"]},
        },
        "tokenizers": {"bytes": {"type": "utf8_bytes"}, "again": {"type": "utf8_bytes"}},
        "suites": suites,
        "reports": [],
    }
    return tokbench.run(config, folder / "runs", jobs=0, new=True)


def test_time_and_texts_of_each_suite_are_recorded_apart(tmp_path: Path) -> None:
    results = measured(tmp_path, ASKING)
    environment = results.environment
    assert not results.problems
    assert set(ASKING) <= set(environment["cpu_seconds"])
    assert set(environment["asked"]) == set(ASKING)
    assert all(asked["texts"] > 0 for asked in environment["asked"].values())


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (measured(tmp_path, ASKING).folder for _ in range(2))
    assert first != second
    for name in ("measurements.parquet", "findings.parquet", "run.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_every_value_is_of_a_metric_that_its_suite_declares(tmp_path: Path) -> None:
    results = measured(tmp_path, ASKING)
    from tokbench.bench import plugins

    declared = {
        (name, metric.name)
        for name in ASKING
        for metric in plugins.find(plugins.SuitePlugin, name).metrics
    }
    rows = results.measurements.to_pylist()
    assert {(row["suite"], row["metric"]) for row in rows} <= declared
    assert {row["suite"] for row in rows} == set(ASKING)


def test_a_suite_that_cannot_go_on_is_a_problem_and_not_the_end(tmp_path: Path) -> None:
    pair = {"first": "bytes", "second": "missing"}
    suites = {"differential": {"pairs": [pair]}, "fidelity": {}}
    results = measured(tmp_path, suites)
    assert "tokenizer 'missing' was not loaded" in results.problems[0]
    assert results.measurements.num_rows > 0


def test_an_explanation_that_does_not_exist_is_refused_in_the_config(tmp_path: Path) -> None:
    pair = {"first": "bytes", "second": "again", "expected": ["nfcc"]}
    with pytest.raises(ConfigError, match="unknown explanation 'nfcc'"):
        measured(tmp_path, {"differential": {"pairs": [pair]}})
