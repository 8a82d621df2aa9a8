"""The cases of a config under pytest-benchmark, one test for each tokenizer and case.

    pytest suites/perf/test_throughput.py --tokbench-config configs/throughput.yaml

Its storage, `pytest-benchmark compare` and histograms work on them as on any other; the JSON can be
taken into a run: `tokbench import-benchmark RUN FILE`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tokbench.bench.speed.benchmarks import Benchmarks, TimedCase


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "timed" not in metafunc.fixturenames:
        return
    path = metafunc.config.getoption("--tokbench-config")
    if path is None:
        reason = pytest.mark.skip(reason="needs --tokbench-config CONFIG")
        metafunc.parametrize("timed", [pytest.param(None, marks=reason, id="no_config")])
        return
    metafunc.parametrize("timed", [pytest.param(t, id=t.id) for t in Benchmarks(path).tests()])


@pytest.mark.benchmark(disable_gc=True)
def test_throughput(benchmark: Any, timed: TimedCase) -> None:
    timed.run(benchmark)
