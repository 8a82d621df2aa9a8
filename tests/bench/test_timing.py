"""Workers take turns; one that fails, dies or hangs is a finding and ends no other's timing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import timing
from bench.loading import TokenizerSource
from bench.runner import RunOutcome
from bench.timing import Contest, Failure, Sample, take_turns
from suites.throughput import Throughput

Measure = Callable[..., RunOutcome]


@pytest.fixture
def contest(toys: None, tmp_path: Path) -> Callable[..., Contest]:
    import tokbench_toys as toys_package

    def make(texts: dict[str, list[str]], **tokenizers: dict[str, Any]) -> Contest:
        plugins = {
            name: toys_package.Faulty(**options) if options else toys_package.Pieces()
            for name, options in tokenizers.items()
        }
        return Contest(
            tokenizers={
                name: TokenizerSource(key=name, plugin=plugin, folder=tmp_path)
                for name, plugin in plugins.items()
            },
            texts=texts,
            seed=0,
            progress=lambda text: None,
        )

    return make


@pytest.fixture
def quick_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "REPLY_SECONDS", 8)


@pytest.fixture
def timed(contest: Any, quick_replies: None) -> tuple[list[Sample], list[Failure]]:
    """One sound tokenizer among four that are not; the text is longer than any pipe holds."""
    texts = {"first": ["boom " * 20_000] * 3, "second": ["x"]}
    return take_turns(
        contest(
            texts,
            sound={},
            raises={"how": "raise"},
            dies={"how": "die"},
            hangs={"how": "hang"},
            unloadable={"where": "load", "how": "panic"},
        ),
        rounds=3,
        warm_ups=1,
    )


def test_a_worker_that_fails_dies_hangs_or_never_starts_is_named_with_its_reason(
    timed: tuple[list[Sample], list[Failure]],
) -> None:
    samples, failures = timed
    reasons = {failure.tokenizer: failure.reason for failure in failures}
    assert set(reasons) == {"raises", "dies", "hangs", "unloadable"}
    assert len(failures) == 4
    assert "ValueError: cannot go on" in reasons["raises"]
    assert "its process ended while it was timed (exit code 7)" in reasons["dies"]
    assert "said nothing for 8 s" in reasons["hangs"]
    assert "PanicException: the regex engine ran out of stack" in reasons["unloadable"]
    sound = [s for s in samples if s.tokenizer == "sound"]
    assert len(sound) == 2 * 2 * 4  # corpora, phases, rounds and a warm-up
    assert {(s.corpus, s.phase) for s in sound} == {
        (corpus, phase) for corpus in ("first", "second") for phase in ("encode", "decode")
    }
    assert [s.round for s in sound if s.warm_up] == [0] * 4
    assert all(s.wall_seconds > 0 and s.cpu_seconds >= 0 for s in samples)


def test_speeds_are_bytes_over_the_median_and_a_failure_is_a_finding(contest: Any) -> None:
    suite = Throughput(rounds=3, warm_ups=1)
    result = suite.measure(contest({"c": ["é" * 500, "a" * 24]}, sound={}, bad={"word": "é"}))
    [encode, decode] = [m for m in result.measurements if m.value is not None]
    assert (encode.metric.name, decode.metric.name) == ("encode_throughput", "decode_throughput")
    walls = sorted(s.wall_seconds for s in result.samples if s.phase == "encode" and not s.warm_up)
    assert encode.value == pytest.approx(1024 / 1e6 / walls[1])
    assert (encode.n, encode.params["bytes"], encode.params["documents"]) == (3, 1024, 2)
    assert encode.params["characters_per_second"] == pytest.approx(524 / walls[1])
    assert encode.tokenizer == "sound"
    [finding] = result.findings
    assert (finding.tokenizer, finding.kind) == ("bad", "failure")
    assert "ValueError: cannot go on" in finding.message


def test_a_corpus_is_cut_at_whole_documents(contest: Any) -> None:
    suite = Throughput(rounds=3, warm_ups=1, max_bytes=25)
    result = suite.measure(contest({"c": ["a" * 10] * 9}, sound={}))
    assert result.measurements[0].params["bytes"] == 30


def test_a_failure_of_timing_is_told_and_leaves_the_exact_files_alone(
    measure: Measure, tmp_path: Path
) -> None:
    """Counting works document by document, a timed batch does not: only speed is missing."""
    config: dict[str, Any] = {
        "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"good": {"type": "utf8_bytes"}, "bad": {"type": "toy_faulty"}},
        "suites": {"efficiency": {}, "throughput": {"rounds": 3, "warm_ups": 1}},
    }
    files = {"en.jsonl": ["one", "boom"]}
    run = measure(config, files, folder=tmp_path)
    rows = [
        (r["tokenizer"], r["metric"], r["status"], r["value"] is None)
        for r in run.results.throughput.to_pylist()
    ]
    assert rows == [
        ("bad", "decode_throughput", "failed", True),
        ("good", "decode_throughput", "ok", False),
        ("bad", "encode_throughput", "failed", True),
        ("good", "encode_throughput", "ok", False),
    ]
    assert "throughput" not in run.results.findings["suite"].to_pylist()
    report = (run.results.folder / "report.md").read_text(encoding="utf-8")
    assert "not timed: ValueError: cannot go on" in report
    assert any("bad: not timed: ValueError" in problem for problem in run.problems)
    assert run.exit_code == 3
