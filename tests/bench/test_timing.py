"""Workers take turns; one that fails, dies or hangs is a finding and ends no other's timing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.limits import Limits
from tokbench.bench.plugins import TrainerPlugin, find
from tokbench.bench.run.runner import RunOutcome
from tokbench.bench.timing.cases import Case
from tokbench.bench.timing.contest import Contest, Failure, Sample, Schedule, Training, take_turns
from tokbench.bench.workers.sources import TokenizerSource
from tokbench.suites.throughput.suite import Throughput

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
            texts={(corpus, "en"): documents for corpus, documents in texts.items()},
            seed=0,
            progress=lambda text: None,
        )

    return make


def schedule(**changes: Any) -> Schedule:
    plain = {"processes": 1, "rounds": 3, "warm_ups": 1, "seconds": 0.001, "pinned": frozenset()}
    return Schedule(**{**plain, **changes})


def cases(contest: Contest, **options: Any) -> list[Case]:
    return list(Throughput(**options).cases(contest).cases)


@pytest.fixture
def timed(contest: Any) -> tuple[list[Sample], list[Failure]]:
    """One sound tokenizer among four that are not; the text is longer than any pipe holds."""
    made = contest(
        {"first": ["boom " * 20_000], "second": ["x"]},
        sound={},
        raises={"how": "raise"},
        dies={"how": "die"},
        hangs={"how": "hang"},
        unloadable={"where": "load", "how": "panic"},
    )
    made = replace(made, limits=Limits(seconds=8))
    return take_turns(made, cases(made), schedule())


def test_a_worker_that_fails_dies_hangs_or_never_starts_is_named_with_its_reason(
    timed: tuple[list[Sample], list[Failure]],
) -> None:
    samples, failures = timed
    reasons = {failure.tokenizer: failure.reason for failure in failures}
    assert set(reasons) == {"raises", "dies", "hangs", "unloadable"}
    assert "ValueError: cannot go on" in reasons["raises"]
    assert "its worker process ended (exit code 7) while it was being timed" in reasons["dies"]
    assert "no progress for 8 s (limits.seconds)" in reasons["hangs"]
    assert "PanicException: the regex engine ran out of stack" in reasons["unloadable"]
    sound = [s for s in samples if s.tokenizer == "sound" and s.phase != "load"]
    assert len(sound) == 2 * 2 * 4  # corpora, phases, rounds and a warm-up
    assert [s.round for s in sound if s.warm_up] == [0] * 4
    assert all(s.wall_seconds > 0 for s in samples)


def test_a_failing_text_costs_its_own_cases_and_no_others(
    timed: tuple[list[Sample], list[Failure]],
) -> None:
    samples, failures = timed
    failed = {f.case.corpus for f in failures if f.tokenizer == "raises"}
    kept = {s.corpus for s in samples if s.tokenizer == "raises" and s.phase != "load"}
    assert (failed, kept) == ({"first"}, {"second"})


def test_a_pinned_tokenizer_has_a_twin_and_every_process_a_load_sample(contest: Any) -> None:
    made = contest({"c": ["a", "b"]}, one={}, two={})
    samples, _ = take_turns(
        made, cases(made, phases=["encode"]), schedule(processes=2, pinned=frozenset({"one"}))
    )
    loads = [(s.tokenizer, s.twin, s.process) for s in samples if s.phase == "load"]
    lanes = [("one", False), ("one", True), ("two", False)]
    assert sorted(loads) == sorted((*lane, p) for lane in lanes for p in (0, 1))
    assert all(s.peak_bytes for s in samples if s.phase == "load")
    encodes = [s for s in samples if s.phase == "encode" and not s.warm_up]
    assert len(encodes) == 3 * 2 * 3  # lanes, processes, rounds
    assert {s.bytes for s in encodes} == {2}


def test_a_number_of_threads_that_a_library_cannot_use_is_refused_not_failed(
    contest: Any,
) -> None:
    made = contest({"c": ["a", "b"]}, one={})
    result = Throughput(threads=[2], phases=["encode"], rounds=6, processes=1).measure(made)
    [row] = [m for m in result.measurements if m.metric.name == "encode_throughput"]
    assert (row.status, row.value) == ("refused", None)
    assert row.detail == "not timed: its library has no call that encodes a batch on 2 threads"
    assert not result.findings


def test_training_is_timed_where_a_tokenizer_was_trained(contest: Any, tmp_path: Path) -> None:
    trainer = find(TrainerPlugin, "words").model_validate({"vocab_size": 20})
    training = Training(trainer=trainer, corpus="c", languages=("en",))
    made = replace(
        contest({"c": ["some words", "and more words"]}, one={}, two={}),
        training={"one": training},
    )
    result = Throughput(phases=["train"], rounds=6, processes=1, reference="one").measure(made)
    [row] = [m for m in result.measurements if m.metric.name == "train_throughput"]
    assert (row.tokenizer, row.corpus, row.n) == ("one", "c", 6)


def test_a_failure_of_timing_is_told_and_leaves_the_exact_files_alone(
    measure: Measure, tmp_path: Path
) -> None:
    """Counting works document by document, a timed batch does not: only speed is missing."""
    config: dict[str, Any] = {
        "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"good": {"type": "utf8_bytes"}, "bad": {"type": "toy_faulty"}},
        "suites": {"efficiency": {}, "throughput": {"rounds": 6, "processes": 1}},
    }
    files = {"en.jsonl": ["one", "boom"]}
    run = measure(config, files, folder=tmp_path)
    rows = [
        (r["tokenizer"], r["metric"], r["status"], r["value"] is None)
        for r in run.results.throughput.to_pylist()
        if r["metric"].endswith("throughput")
    ]
    assert rows == [
        ("bad", "decode_throughput", "failed", True),
        ("good", "decode_throughput", "ok", False),
        ("bad", "encode_throughput", "failed", True),
        ("good", "encode_throughput", "ok", False),
    ]
    assert "throughput" not in run.results.findings["suite"].to_pylist()
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    assert "not timed: ValueError: cannot go on" in report
    assert any("bad: not timed: ValueError" in problem for problem in run.problems)
    assert run.exit_code == 3
