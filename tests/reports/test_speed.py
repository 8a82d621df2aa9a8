"""The report's section on speed, from stored rows that were made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import load_results
from tokbench.bench.results.schemas import MEASUREMENTS, table_of, write_parquet
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.detail import Detail

SHAPE = {"phase": "encode", "call": "batch", "batch_size": None, "threads": 1, "text": "repeated"}
TEXT = {
    "documents": 3,
    "bytes": 1234,
    "document_bytes": {"least": 1, "median": 22, "p90": 333, "most": 444},
}
RATIO = {
    "reference": "bytes",
    "verdict": "faster",
    "comparisons": 4,
    "correction": "holm",
    "p_holm": 0.01,
    "processes": 5,
    "interval_over": "processes",
}


def row(metric: str, tokenizer: str, value: float | None, **given: Any) -> dict[str, Any]:
    params = {**SHAPE, "length": None, **given.pop("params", {})}
    return {
        **dict.fromkeys(MEASUREMENTS.names),
        "suite": "throughput",
        "metric": metric,
        "unit": "MB/s",
        "direction": "higher",
        "tokenizer": tokenizer,
        "corpus": "texts",
        "value": value,
        "n": 55,
        "status": "ok",
        "ranked": True,
        **given,
        "params": json.dumps(params),
    }


def speed(tokenizer: str, value: float, **given: Any) -> dict[str, Any]:
    params = {**TEXT, "quartiles": [value - 1, value + 1], **given.pop("params", {})}
    return row("encode_throughput", tokenizer, value, params=params, **given)


def ratio(tokenizer: str, value: float, **changes: Any) -> dict[str, Any]:
    bounds = {"ci_low": value - 0.1, "ci_high": value + 0.1}
    return row("relative_speed", tokenizer, value, params={**RATIO, **changes}, **bounds)


@pytest.fixture
def report(good_run: RunOutcome, tmp_path: Path) -> Callable[..., str]:
    """Return the report of a run with other timings."""

    def render(*rows: dict[str, Any]) -> str:
        folder = tmp_path / "copy-1"
        for path in good_run.results.folder.rglob("*"):
            target = folder / path.relative_to(good_run.results.folder)
            if path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        environment = {**good_run.results.environment, "cpu": "CPU 7"}
        (folder / "environment.json").write_text(json.dumps(environment), encoding="utf-8")
        write_parquet(folder / "throughput.parquet", table_of(list(rows), MEASUREMENTS))
        return Detail().render(load_results(folder))["detail.md"]

    return render


def test_without_timings_there_is_no_section(report: Callable[..., str]) -> None:
    assert "## Speed" not in report()


def test_ratios_stand_beside_the_pinned_tokenizer_with_interval_and_floor(
    report: Callable[..., str],
) -> None:
    text = report(
        speed("bytes", 10.0),
        speed("pieces", 20.0),
        speed("lossy", 10.1),
        ratio("pieces", 2.0),
        ratio("lossy", 1.0, verdict="not resolvable"),
        row("timing_floor", "bytes", 1.0123),
    )
    assert "### Encode: one batch, 1 thread, repeated text" in text
    assert "| text | pieces | bytes | lossy | floor of bytes |" in text
    assert "| texts | 2.00 (1.90 to 2.10) | pinned | ≈ 1.00 (0.90 to 1.10) | 1.012 |" in text
    assert "| texts | 20.0 (19.0 to 21.0) | 10.0 (9.0 to 11.0) | 10.1 (9.1 to 11.1) |" in text
    assert "| texts | repeated | 3 | 1,234 | 1 | 22 | 333 | 444 |" in text
    assert "5 fresh processes of each tokenizer, 55 rounds in all" in text
    assert "4 comparisons, verdicts corrected by Holm." in text
    assert "Measured on CPU 7: compare within this page only" in text


def test_few_processes_are_said_to_speak_for_themselves_only(report: Callable[..., str]) -> None:
    few = {"processes": 1, "interval_over": "rounds", "correction": "pointwise"}
    text = report(speed("bytes", 10.0), speed("pieces", 20.0), ratio("pieces", 2.0, **few))
    assert "1 fresh process of each tokenizer" in text
    assert (
        "over rounds: with fewer than three processes it does not cover the difference between"
        in text
    )
    assert "4 comparisons, pointwise." in text
    assert "All intervals are pointwise" in text


def test_calls_of_different_kinds_and_texts_of_different_lengths_are_apart(
    report: Callable[..., str],
) -> None:
    single = {"call": "single"}
    fresh = {"batch_size": 8, "threads": 2, "text": "first_sight", "length": "to_9"}
    text = report(
        speed("bytes", 1.0, params=single), speed("bytes", 2.0, params=fresh), speed("bytes", 3.0)
    )
    for heading in (
        "### Encode: one call a document, 1 thread, repeated text",
        "### Encode: batches of 8 documents, 2 threads, text at first sight",
        "### Encode: one batch, 1 thread, repeated text",
    ):
        assert heading in text
    assert "| texts, to 9 bytes | 2.0 (1.0 to 3.0) |" in text
    assert "No ratio to a pinned tokenizer could be given" in text


def test_another_pinned_tokenizer_is_named_in_the_heading(report: Callable[..., str]) -> None:
    text = report(
        *(speed(name, 10.0) for name in ("bytes", "pieces", "lossy")),
        ratio("pieces", 2.0),
        ratio("lossy", 1.5, reference="pieces"),
        row("timing_floor", "bytes", 1.01),
        row("timing_floor", "pieces", 1.02),
    )
    assert "| pieces | bytes | lossy (by pieces) | floor of bytes | floor of pieces |" in text


def test_doubts_are_listed_and_what_was_not_timed_is_told_once(report: Callable[..., str]) -> None:
    missing = {"status": "refused", "detail": "not timed: no document is of this length"}
    text = report(
        speed("bytes", 10.0, detail="unsteady: close other programs"),
        *(row("encode_throughput", name, None, **missing) for name in ("pieces", "lossy")),
    )
    assert "<summary>1 measurement is unreliable</summary>" in text
    assert "- bytes, texts, encode: one batch, 1 thread, repeated text: unsteady:" in text
    assert "- pieces, lossy on texts: not timed: no document is of this length" in text


def test_load_time_and_memory_are_by_tokenizer_and_threads(report: Callable[..., str]) -> None:
    whole = {"corpus": None, "params": {"threads": 2}, "n": 5}
    text = report(
        speed("bytes", 10.0),
        row("load_time", "bytes", 0.1234, **whole),
        row("peak_memory", "bytes", 61.4, **whole),
    )
    assert "| bytes | 2 | 0.123 | 61 | 5 |" in text
