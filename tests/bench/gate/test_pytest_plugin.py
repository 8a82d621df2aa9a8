"""`pytest --tokbench-gate`: the gate as tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.compare import baseline
from tokbench.bench.results.run_folder import Results

MeasureBpe = Callable[..., Results]


@pytest.fixture
def config(measure_bpe: MeasureBpe, tmp_path: Path) -> Path:
    """A config with a baseline, in a folder without other tests."""
    run = measure_bpe(extra={"gate": {"baseline": "toy.baseline.json"}})
    baseline.save(run, tmp_path / "toy.baseline.json")
    return tmp_path / "toy.yaml"


def run_pytest(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tokbench.bench.compare.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    return subprocess.run(
        [*command, "--tokbench-gate", str(config), "--rootdir", str(config.parent), *arguments],
        cwd=config.parent,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_there_is_one_short_test_for_each_tokenizer_corpus_and_metric(config: Path) -> None:
    listed = run_pytest(config, "--collect-only", "-q").stdout.splitlines()
    assert "toy.yaml::bpe-web-tokens" in listed
    assert "toy.yaml::bpe-fingerprint" in listed
    assert len(listed) == len(set(listed))


def test_the_tests_pass_when_nothing_moved(config: Path) -> None:
    done = run_pytest(config, "-q")
    assert done.returncode == 0, done.stdout
    assert "failed" not in done.stdout


def test_a_changed_merge_fails_the_tests_of_what_moved_with_figures(
    config: Path, tmp_path: Path, write_config: Callable[..., Path]
) -> None:
    gate = {"gate": {"baseline": "toy.baseline.json"}}
    write_config(tokenizers={"bpe": ("th", "he", "at")}, extra=gate)
    done = run_pytest(config, "-q")
    assert done.returncode == 1
    assert "bpe / web / en / tokens: worse: 8 → 10 tokens" in done.stdout
    assert "FAILED toy.yaml::bpe-web-tokens" in done.stdout
    assert "FAILED toy.yaml::bpe-n_entries" not in done.stdout


def test_without_a_baseline_nothing_passes(config: Path) -> None:
    config.with_name("toy.baseline.json").unlink()
    done = run_pytest(config, "-q")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "there is nothing to compare" in done.stdout + done.stderr
