"""Import the JSON of pytest-benchmark into a run: its values and every raw time.

Only tests on the run's own text, tokenizers and CPU are imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json, read_bounded
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.results.schemas import MEASUREMENTS, TIMINGS, table_of, write_parquet
from tokbench.bench.timing.contest import Sample

SOURCE = "pytest-benchmark"


def import_json(run: str | Path, path: str | Path) -> int:
    """Import a JSON of pytest-benchmark into a run's `throughput.parquet` and `timings.parquet`.

    Returns the number of imported tests; earlier imports are replaced. The exact files and
    their digest stay as they are. Raises `ResultsError` if the JSON has no raw times or no tests of
    tokbench, or if text, tokenizer or CPU differ from the run.
    """
    results = load_results(run)
    benchmarks = _read(Path(path))
    if not benchmarks:
        raise ResultsError(
            f"{path}: contains no test of tokbench; create the file with: pytest suites/perf "
            "--tokbench-config CONFIG --benchmark-json FILE"
        )
    for benchmark in benchmarks:
        _check(results, benchmark, path)
    samples = [vars(sample) for b in benchmarks for sample in _samples(b)]
    rows = [row for b in benchmarks for row in _rows(results, b)]
    kept = [r for r in results.throughput.to_pylist() if not _was_imported(r)]
    timings = [r for r in results.timings.to_pylist() if r["source"] != SOURCE]
    write_parquet(results.folder / "throughput.parquet", table_of([*kept, *rows], MEASUREMENTS))
    table = pa.Table.from_pylist([*timings, *samples], schema=TIMINGS)
    write_parquet(results.folder / "timings.parquet", table)
    return len(benchmarks)


def _has_no_place(results: Results, tokenizer: str, corpus: str) -> bool:
    """Whether exact values of a tokenizer on a corpus must not be compared."""
    measured = results.measurements
    ours = pc.and_(pc.equal(measured["tokenizer"], tokenizer), pc.equal(measured["corpus"], corpus))
    shown = pc.and_(ours, pc.is_valid(measured["value"]))
    return bool(pc.any(pc.and_(shown, pc.invert(measured["ranked"]))).as_py())


def _was_imported(row: Mapping[str, Any]) -> bool:
    return bool(json.loads(row["params"]).get("source") == SOURCE)


class _BenchmarkShape(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


Count = Annotated[int, Field(ge=0, lt=2**63)]


class BenchmarkInfo(_BenchmarkShape):
    """Extra information of a tokbench test."""

    tokenizer: str
    tokenizer_fingerprint: str
    corpus: str
    language: str | None
    slices: Mapping[str, str]
    cpu: str
    bytes: Count
    documents: Annotated[int, Field(gt=0)]
    document_bytes: Any
    phase: Literal["encode", "decode", "train", "latency"]
    call: str
    batch_size: Count | None
    threads: Count
    text: str
    length: str | None


class BenchmarkStats(_BenchmarkShape):
    """Raw times in seconds; missing without --benchmark-save-data."""

    data: list[Annotated[float, Field(ge=0)]] = Field(default_factory=list)


class BenchmarkShape(_BenchmarkShape):
    """One test."""

    name: str
    extra_info: BenchmarkInfo
    stats: BenchmarkStats


MOST_BYTES = 1 << 30


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the tests of tokbench in a file, of the right shape; those of others are left out."""
    try:
        found = parse_json(read_bounded(path, MOST_BYTES))["benchmarks"]
        ours = [b for b in found if "tokenizer_fingerprint" in b.get("extra_info", {})]
        return [BenchmarkShape.model_validate(b).model_dump() for b in ours]
    except ValidationError as exc:
        error = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in error["loc"])
        raise ResultsError(f"{path}: contains a damaged test: {place}: {error['msg']}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise ResultsError(f"{path}: is not a JSON file of pytest-benchmark ({exc})") from exc


def _check(results: Results, benchmark: Mapping[str, Any], path: str | Path) -> None:
    """Refuse tests that were not measured on the run's text, tokenizer and CPU."""
    info, run = benchmark["extra_info"], results.run
    where = f"{path}: {benchmark['name']}"
    if not benchmark["stats"].get("data"):
        raise ResultsError(f"{where}: has no raw times; save it with --benchmark-save-data")
    facts = run["tokenizers"].get(info["tokenizer"])
    if facts is None or facts["fingerprint"] != info["tokenizer_fingerprint"]:
        raise ResultsError(f"{where}: {results.name} has no tokenizer of that name with these ids")
    if info["corpus"] not in run["corpora"]:
        raise ResultsError(f"{where}: {results.name} has no corpus {info['corpus']}")
    slices = run["corpora"][info["corpus"]]
    for language, sha256 in info["slices"].items():
        if slices.get(language, {}).get("sha256") != sha256:
            raise ResultsError(f"{where}: {results.name} has other text in {language}")
    cpu = results.environment.get("cpu")
    if cpu != info["cpu"]:
        raise ResultsError(f"{where}: timed on another CPU ({info['cpu']}; the run: {cpu})")


def _samples(benchmark: Mapping[str, Any]) -> Iterator[Sample]:
    info = benchmark["extra_info"]
    latency = info["phase"] == "latency"
    for number, seconds in enumerate(benchmark["stats"]["data"]):
        yield Sample(
            source=SOURCE,
            tokenizer=info["tokenizer"],
            corpus=info["corpus"],
            language=info["language"],
            length=info["length"],
            phase=info["phase"],
            call=info["call"],
            batch_size=info["batch_size"],
            threads=info["threads"],
            text=info["text"],
            process=0,
            round=number // info["documents"] if latency else number,
            item=number % info["documents"] if latency else 0,
            bytes=None if latency else info["bytes"],
            wall_seconds=seconds,
        )


def _rows(results: Results, benchmark: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    info, seconds = benchmark["extra_info"], benchmark["stats"]["data"]
    params = {
        **{name: info[name] for name in ("phase", "call", "batch_size", "threads", "text")},
        **{name: info[name] for name in ("length", "documents", "bytes", "document_bytes")},
        "source": SOURCE,
        "processes": 1,
    }
    if info["phase"] == "latency":
        walls = np.array(seconds) * 1e6
        for name, level in (("latency_p50", 50), ("latency_p99", 99)):
            value = float(np.percentile(walls, level))
            yield _row(results, info, name, "µs", "lower", value, len(walls), params)
        return
    speeds = [info["bytes"] / 1e6 / max(one, 1e-9) for one in seconds]
    low, _, high = quantiles(speeds, n=4, method="inclusive") if speeds[1:] else speeds * 3
    params |= {"quartiles": [low, high], "unit_of_n": "rounds"}
    name = f"{info['phase']}_throughput"
    yield _row(results, info, name, "MB/s", "higher", median(speeds), len(speeds), params)


def _row(
    results: Results,
    info: Mapping[str, Any],
    metric: str,
    unit: str,
    direction: str,
    value: float,
    n: int,
    params: Mapping[str, Any],
) -> dict[str, Any]:
    slices = results.run["corpora"][info["corpus"]]
    meta = slices.get(info["language"], {})
    return {
        **dict.fromkeys(MEASUREMENTS.names),
        "suite": "throughput",
        "metric": metric,
        "unit": unit,
        "direction": direction,
        "tokenizer": info["tokenizer"],
        "tokenizer_fingerprint": info["tokenizer_fingerprint"],
        "corpus": info["corpus"],
        "corpus_sha256": meta.get("sha256"),
        "language": info["language"],
        "tag": meta.get("tag"),
        "script": meta.get("script"),
        "kind": next(iter(slices.values()))["kind"],
        "value": value,
        "n": n,
        "params": json.dumps(params, sort_keys=True, ensure_ascii=False),
        "status": "ok",
        "ranked": not _has_no_place(results, info["tokenizer"], info["corpus"]),
    }
