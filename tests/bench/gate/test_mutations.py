"""No input to the gate ends in a traceback, and exit code 1 says that the gate failed."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from mutations import COUNTS, SEED, changed_table, flipped, mutated
from tokbench.bench.cli import main
from tokbench.bench.compare.baseline_file import seal_of
from tokbench.bench.files import parse_json
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.seal import file_digest, sealed_text

MeasureBpe = Callable[..., Results]


@pytest.fixture(scope="module")
def runner() -> CliRunner:
    return CliRunner()


def tokbench(runner: CliRunner, *arguments: object) -> Result:
    done = runner.invoke(main, [str(argument) for argument in arguments])
    fault = None if isinstance(done.exception, SystemExit) else done.exception
    assert fault is None, f"{type(fault).__name__}: {fault}\n{arguments}"
    assert done.exit_code in (0, 1, 3), (done.exit_code, done.output)
    if done.exit_code == 1:
        assert "Fails:" in done.output or ".parquet: refused: " in done.output
    assert "\x1b" not in done.output
    assert not any(line.startswith("::") for line in done.output.splitlines())
    return done


@pytest.mark.parametrize("n", COUNTS)
def test_mutated_baselines(
    measure_bpe: MeasureBpe, tmp_path: Path, runner: CliRunner, n: int
) -> None:
    run = measure_bpe(tokenizers={"bpe": ("th",), "other": ("th", "at")}, extra=GATE).folder
    path, bad = tmp_path / "good.baseline.json", tmp_path / "bad.baseline.json"
    tokbench(runner, "baseline", "save", run, path)
    whole = path.read_bytes()
    document = json.loads(whole)
    chosen = random.Random(SEED)
    codes = []
    for _ in range(n):
        how = chosen.choice(("bytes", "unsealed", "sealed", "sealed"))
        if how == "bytes":
            bad.write_bytes(flipped(whole, chosen))
        else:
            changed = mutated(document, chosen)
            if how == "sealed" and isinstance(changed, dict):
                changed["seal"] = seal_of(changed)
            bad.write_text(json.dumps(changed), encoding="utf-8")
        sides = (bad, run) if chosen.random() < 0.8 else (run, bad)
        done = tokbench(runner, "compare", *sides, "--output", tmp_path / "out")
        codes.append(done.exit_code)
        if how == "unsealed" and changed != document:
            assert done.exit_code == 3, changed
        tokbench(runner, "baseline", "show", bad)
    assert {1, 3} <= set(codes)  # else the series tries nothing


GATE = {"gate": {"rules": [{"metric": "space_initial_share", "gated": False}]}}


@pytest.mark.parametrize("n", COUNTS)
def test_mutated_run_folders(
    measure_bpe: MeasureBpe, tmp_path: Path, runner: CliRunner, n: int
) -> None:
    good = measure_bpe("good", extra=GATE).folder
    base = measure_bpe("base", tokenizers={"bpe": ("th",)}).folder
    folder = tmp_path / "bad"
    chosen = random.Random(SEED)
    for _ in range(n):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        _damage(folder, chosen)
        for command in chosen.sample(COMMANDS, 2):
            tokbench(runner, *(_filled(part, folder, base, tmp_path) for part in command))


COMMANDS = [
    ("compare", "BASE", "BAD", "--output", "OUT"),
    ("compare", "BAD", "BASE"),
    ("report", "BAD"),
    ("report", "BASE", "BAD"),
    ("baseline", "save", "BAD", "OUT/x.baseline.json"),
    ("report", "BAD", "--format", "html"),
    ("report", "BAD", "--format", "svg"),
    ("report", "BAD", "--format", "latex"),
    ("show", "BAD"),
    ("leaderboard", "add", "BAD", "--to", "OUT/board.parquet"),
    ("export", "hub", "BAD", "--output", "OUT/hub"),
]


def _filled(part: str, folder: Path, base: Path, tmp_path: Path) -> str:
    named = {"BASE": base, "BAD": folder, "OUT": tmp_path / "out"}
    head, slash, tail = part.partition("/")
    return f"{named.get(head, head)}{slash}{tail}"


TABLES = ("table",) * 4


def _damage_a_table(folder: Path, chosen: random.Random) -> None:
    """Change a table as someone would who also makes its digest and the seal anew."""
    path = folder / "run.json"
    run: dict[str, Any] = parse_json(path.read_bytes())
    del run["seal"]
    name = chosen.choice(sorted(n for n in run["files"] if n.endswith(".parquet")))
    pq.write_table(changed_table(pq.read_table(folder / name), chosen), folder / name)
    run["files"][name] = file_digest(folder / name)
    path.write_text(sealed_text(run), encoding="utf-8")


def _damage(folder: Path, chosen: random.Random) -> None:
    """Change `run.json` as its writer would, as an older tokbench wrote it, or any file's bytes."""
    path = folder / "run.json"
    how = chosen.choice(("bytes", "sealed", "sealed", "older", "gone", "environment", *TABLES))
    if how in TABLES:
        _damage_a_table(folder, chosen)
        return
    if how in ("sealed", "older"):
        run: dict[str, Any] = parse_json(path.read_bytes())
        del run["seal"]
        if how == "older":
            del run["files"]
            run["schema_version"] = 1
        changed = mutated(run, chosen)
        if isinstance(changed, dict) and how == "sealed":
            path.write_text(sealed_text(changed), encoding="utf-8")
        else:
            path.write_text(json.dumps(changed), encoding="utf-8")
        return
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".parquet", ".json"))
    file = folder / "environment.json" if how == "environment" else chosen.choice(files)
    if how == "gone":
        file.unlink()
    elif how == "environment":
        changed = mutated(json.loads(file.read_text(encoding="utf-8")), chosen)
        file.write_text(json.dumps(changed), encoding="utf-8")
    else:
        file.write_bytes(flipped(file.read_bytes(), chosen))


@pytest.mark.parametrize("n", COUNTS)
def test_mutated_benchmark_files(
    measure_bpe: MeasureBpe, tmp_path: Path, runner: CliRunner, n: int
) -> None:
    results = measure_bpe("timed")
    run, path = results.folder, tmp_path / "benchmark.json"
    info = {
        "tokenizer": "bpe",
        "tokenizer_fingerprint": results.run["tokenizers"]["bpe"]["fingerprint"],
        "corpus": "web",
        "language": None,
        "slices": {k: v["sha256"] for k, v in results.run["corpora"]["web"].items()},
        "cpu": results.environment["cpu"],
        "bytes": 21,
        "documents": 3,
        "document_bytes": [7, 7, 7],
        "phase": "encode",
        "call": "batch",
        "batch_size": 3,
        "threads": 1,
        "text": "repeated",
        "length": "whole",
    }
    latency = {**info, "phase": "latency"}
    benchmarks = [
        {"name": name, "extra_info": one, "stats": {"data": [0.5, 0.25, 1.0]}}
        for name, one in (("a", info), ("b", latency), ("other", {}))
    ]
    document = {"machine_info": {}, "benchmarks": benchmarks}
    path.write_text(json.dumps(document), encoding="utf-8")
    done = tokbench(runner, "import-benchmark", run, path)
    assert done.exit_code == 0
    chosen = random.Random(SEED)
    for _ in range(n):
        path.write_text(json.dumps(mutated(document, chosen)), encoding="utf-8")
        tokbench(runner, "import-benchmark", run, path)
