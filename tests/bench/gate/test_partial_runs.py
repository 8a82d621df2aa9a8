"""Runs in which something failed: one schema, no filler, no pass (case D5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.sides import compare_sides, side_of
from tokbench.bench.config.gate import Gate
from tokbench.bench.results.run_folder import Results

FILES = {"en.jsonl": ["fine", "boom", "fine too"], "de.jsonl": ["gut"]}


@pytest.fixture
def run(measure: Callable[..., Any]) -> Callable[..., Results]:
    """Run the toy that fails on a word; without the word everything is fine."""

    def run_with(word: str, *, missing: bool = False) -> Results:
        languages = {"en": {"file": "en.jsonl"}, "de": {"file": "none" if missing else "de.jsonl"}}
        config = {
            "corpora": {"web": {"source": "files", "languages": languages, "id": "id"}},
            "tokenizers": {"toy": {"type": "toy_faulty", "word": word}},
            "reports": [],
        }
        results: Results = measure(config, FILES).results
        return results

    return run_with


def compared(base: Results, candidate: Results) -> Comparison:
    return compare_sides(side_of(base, "base"), side_of(candidate, "candidate"), Gate())


def test_whole_partial_and_failed_runs_have_one_schema_and_concatenate(
    run: Callable[..., Results],
) -> None:
    runs = [run("nothing"), run("boom"), run("fine", missing=True)]
    tables = [pq.read_table(r.folder / "measurements.parquet") for r in runs]
    assert tables[0].schema == tables[1].schema == tables[2].schema
    assert pa.concat_tables(tables).schema.field("n").type == pa.int64()


def test_a_partial_cell_is_incomparable_and_the_whole_one_beside_it_is_compared(
    run: Callable[..., Results],
) -> None:
    found = compared(run("nothing"), run("boom"))
    by_language = {v.key.language: v for v in found.verdicts if v.key.metric == "tokens"}
    assert by_language["en"].outcome == "incomparable"
    assert "1 of 3 documents failed, first 1" in by_language["en"].reason
    assert by_language["de"].outcome == "same"
    assert found.exit_code == 3


def test_two_runs_that_fail_alike_are_still_no_pass(run: Callable[..., Results]) -> None:
    found = compared(run("boom"), run("boom"))
    assert found.exit_code == 3
    assert found.counts["worse"] == found.counts["changed"] == 0


def test_a_cell_that_fails_as_a_whole_is_missing(run: Callable[..., Results]) -> None:
    found = compared(run("nothing"), run("nothing", missing=True))
    outcomes = {v.key.language: v.outcome for v in found.verdicts if v.key.metric == "tokens"}
    assert outcomes == {"en": "same", "de": "missing"}
    assert [v.in_words() for v in found.verdicts if v.effect == "fails"] == []
    assert found.exit_code == 3
