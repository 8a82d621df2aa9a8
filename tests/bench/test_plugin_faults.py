"""A plug-in that fails at its work costs what it had still to give, and is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import Results, load_results

SOURCE = '''
from pathlib import Path

from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.timing.suite import ClockSuite; from tokbench.bench.count.suite import CountsSuite; from tokbench.bench.results.report import ReportPlugin; from tokbench.bench.run.probe import TokenizerSuite

FIRST, SECOND = (
    MetricSpec(name=name, unit="tokens", direction="none", definition="A number.")
    for name in ("first", "second")
)


def give(suite, fault):
    def row(metric, value, **more):
        return Measurement(metric=metric, tokenizer="well", value=value, **more)

    yield row(FIRST, 1)
    if fault == "raises":
        raise KeyError("nowhere")
    if fault == "homely":
        raise FileNotFoundError(2, "No such file or directory", str(Path.home() / "secret" / "x"))
    if fault == "nan":
        yield row(SECOND, float("nan"))
    if fault == "silent":
        yield row(SECOND, None)
    if fault == "unlisted":
        yield row(SECOND, None, reason="mood")
    if fault == "other":
        yield 7
    if fault == "unsendable":
        yield Finding(kind="note", reason="other", message="m", data={"f": lambda: 0})
    if fault == "unwritable":
        yield row(SECOND, 2, params={"a": {1, 2}})


def of(kind, name, fault):
    body = {"metrics": (FIRST, SECOND), "measure": lambda self, given: give(name, fault)}
    return type(name, (kind,), {"__module__": __name__, "__doc__": "Fails.", **body})


for fault in ("raises", "homely", "nan", "silent", "unlisted", "other", "unsendable", "unwritable"):
    globals()[f"counts_{fault}"] = of(CountsSuite, f"counts_{fault}", fault)
    globals()[f"asks_{fault}"] = of(TokenizerSuite, f"asks_{fault}", fault)


class Times(ClockSuite):
    """Cannot time."""

    metrics = (FIRST,)

    def measure(self, contest):
        raise KeyError("nowhere")


class Report(ReportPlugin):
    """Cannot report."""

    def render(self, results):
        raise KeyError("nowhere")
'''


KEPT = {
    "raises": "KeyError: 'nowhere' (faulty_suites, line",
    "homely": "FileNotFoundError: [Errno 2] No such file or directory: '~/secret/x'",
    "nan": "ValueError: metric second returned nan, not a finite number",
    "silent": "ValueError: second has neither a plain value nor a reason",
    "unlisted": "ValueError: unknown reason 'mood'",
    "other": "TypeError: it yielded a int, which is neither a Measurement nor a Finding",
}
"""Faults before which a suite's values are kept."""
FAULTS = (*KEPT, "unsendable", "unwritable")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_plugin: Any) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    names = [f"{kind}_{fault}" for kind in ("counts", "asks") for fault in FAULTS]
    entries = {
        "tokbench.suites": {"stopwatch": "Times", **{name: name for name in names}},
        "tokbench.reports": {"broken": "Report"},
    }
    make_plugin(folder, "faulty_suites", SOURCE, entries)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path, tokbench: Callable[..., Any]) -> Callable[..., Any]:
    def run(suites: list[str], reports: list[str], output: Path) -> Any:
        config = {
            "name": "faults",
            "corpora": {
                "c": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}
            },
            "tokenizers": {"well": {"type": "utf8_bytes"}},
            "suites": ["efficiency", *suites],
            "reports": reports,
        }
        (folder / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
        done = tokbench(folder, "run", "c.yaml", "--output", str(output))
        assert "Traceback" not in done.stderr
        assert done.returncode == 3
        return done

    return run


@pytest.fixture(scope="module")
def faulty(run: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Results]:
    """What a run says, and its results, in which whatever can fail on its own does."""
    output = tmp_path_factory.mktemp("faulty")
    suites = [f"{kind}_{fault}" for kind in ("counts", "asks") for fault in KEPT]
    done = run([*suites, "asks_unsendable", "stopwatch"], ["broken", "markdown"], output)
    return done.stderr, load_results(output / "faults-1")


def values(results: Results, suite: str) -> dict[str, tuple[Any, str, str]]:
    rows = [row for row in results.measurements.to_pylist() if row["suite"] == suite]
    return {row["metric"]: (row["value"], row["status"], row["detail"]) for row in rows}


@pytest.mark.parametrize("suite", ["counts", "asks"])
@pytest.mark.parametrize("fault", KEPT)
def test_a_suite_keeps_what_it_gave_before_its_fault(faulty: Any, suite: str, fault: str) -> None:
    said, results = faulty
    assert f"suite {suite}_{fault}" in said
    assert KEPT[fault] in said
    given = values(results, f"{suite}_{fault}")
    assert given["first"] == (1, "ok", None)
    assert given["second"][:2] == (None, "failed")
    assert KEPT[fault] in given["second"][2]


def test_an_answer_that_cannot_travel_is_said(faulty: Any) -> None:
    said, results = faulty
    assert "its answer cannot be sent: Can't" in said
    given = values(results, "asks_unsendable")
    assert {status for _, status, _ in given.values()} == {"failed"}


def test_a_clock_suite_and_a_report_cost_themselves(faulty: Any) -> None:
    said, results = faulty
    assert "report broken: KeyError: 'nowhere' (faulty_suites, line" in said
    assert "stopwatch: KeyError: 'nowhere'" in said  # the name of the entry point, not the class
    assert (results.folder / "report.md").exists()


def test_no_path_of_the_user_is_told(faulty: Any) -> None:
    said, results = faulty
    home = str(Path.home() / "secret")
    assert home not in said
    for path in results.folder.rglob("*"):
        assert path.is_dir() or home.encode() not in path.read_bytes()


def test_the_rest_is_measured(faulty: Any) -> None:
    _, results = faulty
    assert values(results, "efficiency")["bytes_per_token"][0] == 1
    assert {cell["status"] for cell in results.run["cells"]} == {"ok"}


@pytest.mark.parametrize("suite", ["counts", "asks"])
def test_what_cannot_be_written_is_said_with_its_suite(
    run: Any, tmp_path: Path, suite: str
) -> None:
    done = run([f"{suite}_unwritable"], [], tmp_path)
    assert f"suite {suite}_unwritable: the params of second cannot be written" in done.stderr
    assert "this is a fault of the suite" in done.stderr
