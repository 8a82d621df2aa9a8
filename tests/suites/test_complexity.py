"""Growth with length by a clock that is told what to say, and what ends a probe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.plugins import LoadContext
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.bench.workers.job import Died
from tokbench.bench.workers.sources import TokenizerSource
from tokbench.suites.complexity import suite
from tokbench.suites.complexity.families import FAMILIES, text_of
from tokbench.suites.complexity.growth import Point, fit, resolvable
from tokbench.suites.complexity.suite import Complexity, Probed, ProbeTask, Series, noise_of, timed
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace

Measure = Callable[..., RunOutcome]

LENGTHS = [1000, 2000, 4000, 8000, 16_000, 32_000]


def powers(exponent: float, noise: Sequence[float] = ()) -> list[Point]:
    factors = noise or [1.0] * len(LENGTHS)
    return [
        Point(length=n, seconds=1e-9 * n**exponent * factor)
        for n, factor in zip(LENGTHS, factors, strict=True)
    ]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_an_exact_power_is_found_with_an_interval_of_no_width(exponent: float) -> None:
    growth = fit(powers(exponent), upper=5)
    assert growth is not None
    assert growth.exponent == pytest.approx(exponent)
    assert growth.low == pytest.approx(growth.high)
    assert growth.lengths == tuple(LENGTHS[1:])


def test_only_the_upper_lengths_are_fitted() -> None:
    bent = [Point(length=n, seconds=1e-6 * max(n, n**2 / 4000)) for n in LENGTHS]
    growth = fit(bent, upper=4)
    assert growth is not None
    assert growth.exponent == pytest.approx(2.0)


def test_the_interval_is_that_of_a_slope() -> None:
    # x = 0, 1, 2, 3 and y = 0, 1, 2, 4 in logarithms to the base e: slope 1.3, residuals
    # 0.2, -0.1, -0.4, 0.3, so s² = 0.3 / 2 and the error √(0.15 / 5) = 0.17321
    from math import exp

    points = [
        Point(length=round(1e6 * exp(x)), seconds=exp(y))
        for x, y in ((0, 0), (1, 1), (2, 2), (3, 4))
    ]
    growth = fit(points, upper=4)
    assert growth is not None
    assert growth.exponent == pytest.approx(1.3, abs=1e-5)
    assert growth.high - growth.exponent == pytest.approx(4.303 * 0.17321, abs=1e-3)
    assert growth.exponent - growth.low == pytest.approx(4.303 * 0.17321, abs=1e-3)


def test_times_within_the_noise_are_not_used() -> None:
    points = powers(1.0)
    assert resolvable(points, floor=points[2].seconds) == points[2:]
    assert resolvable(points, floor=1.0) == []
    assert fit(resolvable(points, floor=points[3].seconds), upper=5) is None


def ticking(*seconds: float) -> Callable[[], float]:
    """Return a clock whose calls are told to take so long, one after the other."""
    readings: Iterator[float] = iter([edge for s in seconds for edge in (0.0, s)])
    return lambda: next(readings)


def test_a_call_is_timed_by_the_clock_it_is_given() -> None:
    assert timed(lambda texts: [len(texts[0])], "abc", ticking(2.5)) == (2.5, [3])


def test_noise_is_many_times_a_call_on_one_letter() -> None:
    calls = [1.0] * 11 + [50.0] * 10  # the median is not moved by ten slow ones
    assert noise_of(lambda texts: texts, ticking(*calls)) == 20.0
    assert noise_of(lambda texts: texts, ticking(*[1e-9] * 21)) == 1e-4


def series(*got: Probed) -> Series:
    made = Series(family="spaces", fitted=5)
    for length, one in zip(LENGTHS, got, strict=False):
        made.add(length, one)
    return made


def rows(made: Series) -> dict[str, Any]:
    return {m.metric.name: m for m in made.measurements("t")}


def test_the_fastest_call_of_a_length_counts() -> None:
    got = [Probed(seconds=(900.0, 1e-3 * n, 800.0), noise=1e-4, tokens=n) for n in LENGTHS]
    found = rows(series(*got))
    assert found["growth_exponent"].value == pytest.approx(1.0)
    assert found["growth_exponent"].n == 5
    assert found["longest_text"].value == 32_000
    assert found["longest_text"].params["tokens"] == 32_000
    assert found["longest_text"].status == "ok"


def test_what_the_clock_cannot_tell_is_not_resolvable() -> None:
    found = rows(series(*[Probed(seconds=(1e-5,), noise=1e-4)] * 6))["growth_exponent"]
    assert found.value is None
    assert found.detail == (
        "not resolvable: 0 of 6 lengths take longer than the noise of the clock (0.1 ms); "
        "at least 4 are needed"
    )


def test_what_ended_a_series_is_told_with_family_and_length() -> None:
    got = [Probed(seconds=(1e-3 * n,)) for n in LENGTHS[:4]]
    found = rows(
        series(*got, Probed(ended="timed out: no progress for 20 s (suites.complexity.seconds)"))
    )
    assert found["growth_exponent"].value == pytest.approx(1.0)
    assert (found["longest_text"].value, found["longest_text"].status) == (8000, "partial")
    assert found["longest_text"].detail == (
        "timed out: no progress for 20 s (suites.complexity.seconds), on 16,000 code points of spaces"
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_has_the_length_asked_for(family: str) -> None:
    for n in (1, 2, 999, 70_000):
        text = text_of(family, n, ["<end>"])
        assert text is not None
        assert len(text) == n


def test_lengths_double_up_to_the_longest() -> None:
    assert Complexity(longest=1_000_000).lengths()[-3:] == [250_000, 500_000, 1_000_000]
    assert Complexity(longest=1_000_000).lengths()[0] == 1953


TOYS: dict[str, Any] = {
    "sound": {"type": "toy_pieces"},
    "raises": {"type": "toy_limited", "most": 300},
    "panics": {"type": "toy_limited", "most": 300, "beyond": "panic"},
    "dies": {"type": "toy_limited", "most": 300, "beyond": "die"},
    "hangs": {"type": "toy_limited", "most": 300, "beyond": "hang"},
    "hoards": {"type": "toy_limited", "most": 300, "beyond": "hoard"},
    "cuts": {"type": "toy_limited", "most": 300, "beyond": "cut"},
}


@pytest.fixture(scope="module")
def outcome(measure: Measure) -> RunOutcome:
    suite = {
        "families": ["one_letter", "special_tokens"],
        "shortest": 64,
        "longest": 1024,
        "seconds": 6,
        "memory": "500 MB",
    }
    config = {
        "corpora": {"texts": {"source": "files", "path": "t.jsonl", "language": "en", "id": "id"}},
        "tokenizers": TOYS,
        "suites": {"fidelity": {}, "complexity": suite},
    }
    return measure(config, {"t.jsonl": ["a", "b"]})


@pytest.fixture(scope="module")
def results(outcome: RunOutcome) -> Results:
    return outcome.results


def longest(results: Results, tokenizer: str, family: str = "one_letter") -> dict[str, Any]:
    (row,) = (
        row
        for row in results.throughput.to_pylist()
        if (row["metric"], row["tokenizer"]) == ("longest_text", tokenizer)
        and json.loads(row["params"])["family"] == family
    )
    return dict(row)


@pytest.mark.parametrize(
    ("tokenizer", "reason"),
    [
        ("raises", "ValueError: cannot go on"),
        ("panics", "PanicException: the regex engine ran out of stack"),
        ("dies", "its worker process ended (exit code 7)"),
        ("hangs", "timed out: no progress for 6 s (suites.complexity.seconds)"),
        ("hoards", "used more than 500 MB of memory (suites.complexity.memory)"),
        ("cuts", "its tokens hold 300 of 512 bytes of the text"),
    ],
)
def test_what_ends_a_call_is_a_finding_and_the_run_goes_on(
    results: Results, tokenizer: str, reason: str
) -> None:
    row = longest(results, tokenizer)
    assert (row["value"], row["status"]) == (256, "partial")
    assert row["detail"] == f"{reason}, on 512 code points of one_letter"
    assert longest(results, tokenizer, "special_tokens")["value"] == 256


def test_a_sound_tokenizer_reaches_the_end_with_every_byte(results: Results) -> None:
    row = longest(results, "sound")
    assert (row["value"], row["status"], row["detail"]) == (1024, "ok", None)
    assert json.loads(row["params"])["tokens"] == 1024


def test_times_are_in_the_noisy_lane_only(results: Results) -> None:
    names = set(results.measurements["metric"].to_pylist())
    assert not names & {metric.name for metric in Complexity.metrics}


def test_the_report_lists_what_ended(results: Results) -> None:
    report = (results.folder / "detail.md").read_text(encoding="utf-8")
    section = report.partition("## Growth with length")[2].partition("\n## ")[0]
    assert "| one_letter |" in section
    assert (
        "- hangs: timed out: no progress for 6 s (suites.complexity.seconds), on 512 code points of one_letter"
        in section
    )


def test_a_tokenizer_without_special_tokens_has_no_such_family(measure: Measure) -> None:
    suite = {"families": ["special_tokens"], "shortest": 16, "longest": 64}
    config = {
        "corpora": {"texts": {"source": "files", "path": "t.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
        "suites": {"complexity": suite},
    }
    assert measure(config, {"t.jsonl": ["a"]}).results.throughput.num_rows == 0


def test_a_process_that_dies_while_it_loads_is_not_tried_for_every_family() -> None:
    source = TokenizerSource(key="t", plugin=HuggingFace(sample="deepseek"), folder=Path())
    limits = suite.Limits()
    task = ProbeTask(source=source, family="spaces", length=10, calls=1, limits=limits)
    settled = task.lost(Died(kind="died", step=("load",), reason="gone"))
    assert settled.group == "gone while loading"
    assert task.lost(Died(kind="died", step=("call",), reason="gone")).group is None


def test_b4_a_document_without_pre_tokenization_is_probed_whole_within_a_limit(
    case_tokenizers: Path, measure: Measure
) -> None:
    """A time limit may end it; nothing cuts it, since cutting changes the counts."""
    file = str(case_tokenizers / "no_pretokenizer.json")
    config = {
        "corpora": {"texts": {"source": "files", "path": "t.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"whole": {"type": "huggingface", "file": file}},
        "suites": {"complexity": {"families": ["words"], "longest": 100_000, "seconds": 60}},
    }
    row = longest(measure(config, {"t.jsonl": ["a"]}).results, "whole", "words")
    tokenizer = HuggingFace(file=file).load(LoadContext(folder=Path()))
    text = text_of("words", 100_000)
    assert text is not None
    [whole] = tokenizer.encode_batch([text])
    pieces = tokenizer.encode_batch([text[at : at + 2000] for at in range(0, len(text), 2000)])
    assert (row["value"], row["status"]) == (100_000, "ok")
    assert json.loads(row["params"])["tokens"] == len(whole) != sum(map(len, pieces))
