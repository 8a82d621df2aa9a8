"""pytest-benchmark over a config's cases, and its JSON taken into a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from tokbench.bench.cli import main
from tokbench.bench.errors import ResultsError
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.run.runner import RunOutcome
from tokbench.bench.speed.benchmark_json import import_json

pytest.importorskip("pytest_benchmark")
_SPEC = find_spec("tokbench.suites.perf.test_throughput")
assert _SPEC is not None
assert _SPEC.origin is not None
SUITE = _SPEC.origin
CONFIG: dict[str, Any] = {
    "corpora": {"web": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
    "tokenizers": {"bytes": {"type": "utf8_bytes"}, "characters": {"type": "characters"}},
    "suites": {
        "efficiency": {},
        "throughput": {
            "phases": ["encode", "latency"],
            "calls": ["single", "batch"],
            "threads": [1, 2],
            "rounds": 6,
            "processes": 1,
            "milliseconds": 0.1,
        },
    },
}
FILES = {"en.jsonl": ["first text", "second text", "third"]}
NAMES = {
    f"test_throughput[{tokenizer}-web-{case}]"
    for tokenizer in ("bytes", "characters")
    for case in ("encode-single", "encode-batch", "to_256-latency")
}


@pytest.fixture(scope="module")
def run(measure: Callable[..., RunOutcome], tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    return measure(CONFIG, FILES, folder=tmp_path_factory.mktemp("timed"))


@pytest.fixture(scope="module")
def done(run: RunOutcome) -> subprocess.CompletedProcess[str]:
    """pytest on the run's own config, its JSON beside it."""
    folder = run.results.folder.parent.parent
    (folder / "config.yaml").write_text(json.dumps({"name": "test", **CONFIG}), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", SUITE, "-p", "no:cacheprovider", "-rs"]
    command += ["--tokbench-config", "config.yaml", "--benchmark-json", "benchmark.json"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), "-c", os.devnull],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**_alone(), "TOKBENCH_CACHE": str(folder / "cache")},
    )


def _alone() -> dict[str, str]:
    """The environment without what says that xdist runs this: pytest-benchmark then measures."""
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")}


@pytest.fixture
def benchmark_file(done: subprocess.CompletedProcess[str], run: RunOutcome) -> Path:
    assert done.returncode == 0, done.stdout + done.stderr
    return run.results.folder.parent.parent / "benchmark.json"


def test_every_case_is_a_test_with_a_short_id_and_threads_are_left_to_runs(
    done: subprocess.CompletedProcess[str], benchmark_file: Path
) -> None:
    found = json.loads(benchmark_file.read_text(encoding="utf-8"))["benchmarks"]
    assert {one["name"] for one in found} == NAMES
    assert {one["group"] for one in found} == {
        "web-encode-single",
        "web-encode-batch",
        "web-to_256-latency",
    }
    assert "text" not in "".join(NAMES).replace("test_throughput", "")
    assert "time this case with `tokbench run`" in done.stdout
    [calls] = [one for one in found if one["name"].endswith("[bytes-web-to_256-latency]")]
    assert calls["stats"]["rounds"] == 3 * 6  # texts and rounds


def test_its_json_goes_into_the_parquet_of_a_run_and_only_there(
    benchmark_file: Path, run: RunOutcome
) -> None:
    folder = run.results.folder
    before = load_results(folder)
    digest, own = before.run["digest"], before.throughput.num_rows
    done = CliRunner().invoke(main, ["import-benchmark", str(folder), str(benchmark_file)])
    assert done.exit_code == 0, done.output
    assert "imported 6 tests" in done.stderr
    after = load_results(folder)
    assert after.run["digest"] == digest
    rows = [r for r in after.throughput.to_pylist() if "pytest-benchmark" in r["params"]]
    assert len(rows) == 2 * (2 + 2)  # tokenizers, speeds and percentiles
    assert after.throughput.num_rows == own + len(rows)
    [batch] = [
        r
        for r in rows
        if (r["tokenizer"], r["metric"]) == ("bytes", "encode_throughput")
        and json.loads(r["params"])["call"] == "batch"
    ]
    raw = json.loads(benchmark_file.read_text(encoding="utf-8"))["benchmarks"]
    [source] = [b for b in raw if b["name"].endswith("[bytes-web-encode-batch]")]
    speeds = [26 / 1e6 / seconds for seconds in source["stats"]["data"]]
    assert batch["value"] == pytest.approx(median(speeds))
    assert (batch["n"], batch["corpus"], batch["unit"]) == (6, "web", "MB/s")
    timings = pq.read_table(folder / "timings.parquet").to_pylist()
    imported = [t for t in timings if t["source"] == "pytest-benchmark"]
    assert sorted(
        t["wall_seconds"] for t in imported if (t["tokenizer"], t["phase"]) == ("bytes", "latency")
    ) == sorted(next(b for b in raw if "bytes-web-to_256" in b["name"])["stats"]["data"])


def test_importing_again_replaces_what_was_imported(benchmark_file: Path, run: RunOutcome) -> None:
    folder = run.results.folder
    import_json(folder, benchmark_file)
    once = load_results(folder).throughput.num_rows, load_results(folder).timings.num_rows
    import_json(folder, benchmark_file)
    assert once == (load_results(folder).throughput.num_rows, load_results(folder).timings.num_rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu": "another"}, "timed on another CPU"),
        ({"tokenizer_fingerprint": "0"}, "has no tokenizer of that name with these ids"),
        ({"slices": {"en": "0"}}, "has other text in en"),
    ],
)
def test_what_was_measured_on_something_else_is_refused(
    benchmark_file: Path, run: RunOutcome, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    found = json.loads(benchmark_file.read_text(encoding="utf-8"))
    found["benchmarks"][0]["extra_info"] |= change
    (tmp_path / "changed.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ResultsError, match=message):
        import_json(run.results.folder, tmp_path / "changed.json")


def test_a_json_without_raw_times_or_without_our_tests_says_how_to_make_one(
    benchmark_file: Path, run: RunOutcome, tmp_path: Path
) -> None:
    found = json.loads(benchmark_file.read_text(encoding="utf-8"))
    del found["benchmarks"][0]["stats"]["data"]
    (tmp_path / "short.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ResultsError, match="--benchmark-save-data"):
        import_json(run.results.folder, tmp_path / "short.json")
    (tmp_path / "other.json").write_text('{"benchmarks": []}', encoding="utf-8")
    with pytest.raises(ResultsError, match="--tokbench-config CONFIG --benchmark-json FILE"):
        import_json(run.results.folder, tmp_path / "other.json")
    (tmp_path / "none.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ResultsError, match="is not a JSON file of pytest-benchmark"):
        import_json(run.results.folder, tmp_path / "none.json")
