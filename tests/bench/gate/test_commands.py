"""The command line of the gate: three outcomes, three exit codes, from any folder (case D3)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from command_line import tokbench
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import MEASUREMENTS, table_of, write_parquet

MeasureBpe = Callable[..., Results]
WITHOUT_THE = ("th", "he", "at")


def copied(run: Path) -> Path:
    """Return a copy of a run: equal, and another folder."""
    return Path(shutil.copytree(run, run.with_name("copy")))


@pytest.fixture
def gated(measure_bpe: MeasureBpe, tmp_path: Path) -> tuple[Path, Path]:
    """A config whose gate names a baseline beside it, and a run that equals the baseline."""
    run = measure_bpe(extra={"gate": {"baseline": "toy.baseline.json"}})
    assert tokbench("baseline", "save", run.folder, tmp_path / "toy.baseline.json").exit_code == 0
    return tmp_path / "toy.yaml", run.folder


def test_the_same_again_passes(gated: tuple[Path, Path]) -> None:
    config, run = gated
    done = tokbench("compare", "--config", config, run)
    assert done.exit_code == 0
    assert "Passes: all" in done.output


def test_a_changed_merge_fails_with_exit_code_1(
    gated: tuple[Path, Path], measure_bpe: MeasureBpe
) -> None:
    _, run = gated
    changed = measure_bpe("other", tokenizers={"bpe": WITHOUT_THE}).folder
    done = tokbench("compare", run, changed)
    assert done.exit_code == 1
    assert "the" in done.output
    assert "th · e" in done.output
    assert tokbench("compare", run, copied(run)).exit_code == 0


def test_without_a_baseline_there_is_nothing_to_compare_and_no_pass(
    gated: tuple[Path, Path],
) -> None:
    config, run = gated
    config.with_name("toy.baseline.json").unlink()
    done = tokbench("compare", "--config", config, run)
    assert done.exit_code == 3
    assert "nothing to compare" in done.output


def test_the_working_folder_does_not_matter(
    gated: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config, run = gated
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert tokbench("compare", "--config", config, run).exit_code == 0


def set_environment(run: Path, **changes: Any) -> None:
    path = run / "environment.json"
    environment = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(environment | changes), encoding="utf-8")


def set_ratio(run: Path, value: float) -> None:
    """Store a ratio to a pinned tokenizer, so that nothing depends on the clock."""
    path = run / "throughput.parquet"
    rows = pq.read_table(path).to_pylist()
    row = next(r for r in rows if r["metric"] in ("encode_throughput", "relative_speed"))
    params = {**json.loads(row["params"]), "reference": "pinned"}
    bounds = {"ci_low": value - 0.01, "ci_high": value + 0.01}
    row |= {"metric": "relative_speed", "value": value, "params": json.dumps(params), **bounds}
    write_parquet(path, table_of([row], MEASUREMENTS))


@pytest.fixture
def timed(timed_run: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of a run with a stored ratio of 0.80 on the same CPU."""
    base, candidate = (Path(shutil.copytree(timed_run, tmp_path / name)) for name in ("a", "b"))
    for run in (base, candidate):
        set_ratio(run, 0.8)
        set_environment(run, cpu="CPU A")
    return base, candidate


def test_a_stored_ratio_that_moved_warns_and_never_fails(timed: tuple[Path, Path]) -> None:
    still = tokbench("compare", *timed)
    set_ratio(timed[1], 0.5)
    moved = tokbench("compare", *timed)
    assert (still.exit_code, moved.exit_code) == (0, 0)
    assert "1 stored ratios compared, 0 moved" in still.output
    assert (
        "warning: bpe / web, encode: 0.80 (0.79 to 0.81) → 0.50 (0.49 to 0.51) times as fast as "
        "pinned; to confirm, time both sides with tokbench speed"
    ) in moved.output


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cpu": "CPU B"}, "the CPU differs (CPU A → CPU B)"),
        ({"cpu_count": 99}, "the number of CPUs differs"),
        ({"threads": {"RAYON_NUM_THREADS": "7"}}, "the number of threads differs"),
        ({"compiler": "another"}, "the build of Python differs"),
        ({"python": "3.99.0"}, "the Python differs"),
    ],
)
def test_sizes_are_compared_on_any_machine_and_timing_only_on_the_same(
    timed: tuple[Path, Path], change: dict[str, Any], reason: str
) -> None:
    set_environment(timed[1], **change)
    done = tokbench("compare", *timed)
    assert done.exit_code == 0
    assert "Passes: all" in done.output
    assert f"timing not compared: {reason}" in done.output


def test_a_baseline_says_that_it_stores_no_timing(timed_run: Path, tmp_path: Path) -> None:
    saved = tokbench("baseline", "save", timed_run, tmp_path / "t.baseline.json")
    assert saved.exit_code == 0, saved.output
    done = tokbench("compare", tmp_path / "t.baseline.json", timed_run)
    assert done.exit_code == 0, done.output
    assert "timing not compared: a baseline stores no timing" in done.output


def test_the_gate_of_the_config_decides(measure_bpe: MeasureBpe) -> None:
    base = measure_bpe("a").folder
    loose = {"gate": {"rules": [{"allow": "anything"}]}}
    candidate = measure_bpe("b", tokenizers={"bpe": WITHOUT_THE}, extra=loose).folder
    done = tokbench("compare", base, candidate)
    assert done.exit_code == 0
    assert "allowed by the gate" in done.output


def test_reports_are_written_where_asked(gated: tuple[Path, Path], tmp_path: Path) -> None:
    _, run = gated
    tokbench("compare", run, copied(run), "--output", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "bencher.json",
        "benchmark-bigger-is-better.json",
        "benchmark-smaller-is-better.json",
        "comparison-short.md",
        "comparison.html",
        "comparison.json",
        "comparison.md",
        "comparison.txt",
        "junit.xml",
    ]


def test_json_is_for_programs(gated: tuple[Path, Path]) -> None:
    _, run = gated
    assert json.loads(tokbench("compare", run, copied(run), "--json").output)["exit_code"] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "one"),
        ("compare", "one", "two", "three"),
        ("compare", "one", "--base-python", "python"),
        ("compare", "one", "two", "--set", "name=x"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: Sequence[str]) -> None:
    assert tokbench(*arguments).exit_code == 2


def test_a_rule_with_a_slip_is_located(measure_bpe: MeasureBpe, tmp_path: Path) -> None:
    measure_bpe()
    path = tmp_path / "toy.yaml"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["gate"] = {"rules": [{"metric": "tokens", "tolerence": 0.1}]}
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    done = tokbench("validate", path)
    assert done.exit_code == 2
    assert "gate.rules.0.tolerence" in done.output
    assert "tolerance" in done.output


def test_baselines_are_shown_and_listed(gated: tuple[Path, Path], tmp_path: Path) -> None:
    shown = tokbench("baseline", "show", tmp_path / "toy.baseline.json").output
    assert "corpus web: 2 languages, 3 documents" in shown
    assert "toy.baseline.json" in tokbench("baseline", "list", tmp_path).output


def test_several_runs_are_shown_as_a_history(measure_bpe: MeasureBpe) -> None:
    base = measure_bpe("a").folder
    candidate = measure_bpe("b", tokenizers={"bpe": WITHOUT_THE}).folder
    done = tokbench("report", base, candidate, "--metric", "tokens")
    assert done.exit_code == 0
    rows = [line for line in done.output.splitlines() if line.startswith("| bpe")]
    assert rows == ["| bpe | web | de | 7 | 7 |", "| bpe | web | en | 8 | 10 |"]
    assert "tokenizers" in done.output


def test_a_line_end_in_the_name_of_a_baseline_makes_no_second_line(
    gated: tuple[Path, Path], tmp_path: Path
) -> None:
    _, run = gated
    odd = tmp_path / "a\n::error::b.baseline.json"
    saved = tokbench("baseline", "save", run, odd)
    assert saved.exit_code == 0
    said = [
        saved.output,
        tokbench("baseline", "show", odd).output,
        tokbench("baseline", "list", tmp_path).output,
        tokbench("compare", odd, run).output,
        tokbench("compare", f"{odd}x", run).output,
    ]
    for output in said:
        assert r"a\u{A}::error::b.baseline.json" in output
        assert not any(line.lstrip().startswith("::") for line in output.splitlines())


@pytest.mark.parametrize("name", ["gone.baseline.json", "main:gone.baseline.json"])
def test_a_missing_baseline_of_the_gate_is_named_by_a_relative_path(
    measure_bpe: MeasureBpe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run = measure_bpe(extra={"gate": {"baseline": name}})
    monkeypatch.chdir(tmp_path)
    done = tokbench("compare", "--config", tmp_path / "toy.yaml", run.folder)
    assert done.exit_code == 3
    assert done.output.startswith(f"error: {name}: ")
    assert str(tmp_path) not in done.output
