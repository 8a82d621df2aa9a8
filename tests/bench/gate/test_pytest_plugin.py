"""`pytest --tokbench-gate`: the gate as tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.compare import baseline
from tokbench.bench.compare.baseline_file import seal_of
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


FAULTY = '''
import ctypes, time
from tokbench.bench.plugins import TokenizerPlugin
from tokbench.tokenizers_impl.baselines.utf8_bytes import Utf8Bytes


class Faulty(TokenizerPlugin):
    """Bytes, or what the config asks for."""

    fault: str = "none"

    def load(self, context):
        if self.fault == "crash":
            ctypes.string_at(0)
        if self.fault == "hang":
            time.sleep(1000)
        return Utf8Bytes().load(context)
'''


@pytest.mark.parametrize("fault", ["crash", "hang"])
def test_a_tokenizer_that_crashes_or_hangs_is_a_failed_test_and_pytest_goes_on(
    fault: str,
    tmp_path: Path,
    write_config: Callable[..., Path],
    make_plugin: Callable[..., None],
    tokbench: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugins = {"tokbench.tokenizers": {"faulty": "Faulty"}}
    make_plugin(tmp_path, "faulty_toy", FAULTY, plugins)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def config(fault: str, **limits: float) -> Path:
        return write_config(
            extra={
                "tokenizers": {"bad": {"type": "faulty", "fault": fault}},
                "gate": {"baseline": "toy.baseline.json"},
                "limits": limits,
                "reports": [],
            }
        )

    tokbench(tmp_path, "run", config("none").name)
    done = tokbench(tmp_path, "baseline", "save", "runs/toy-1", "toy.baseline.json")
    assert done.returncode == 0, done.stderr
    path = config(fault, load_seconds=5)
    done = run_pytest(path, "-q")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "FAILED toy.yaml::bad-web-tokens" in done.stdout
    assert "tokbench gate, toy.yaml: Nothing to compare" in done.stdout


def test_rows_that_the_baseline_should_have_are_a_failed_test(config: Path) -> None:
    path = config.with_name("toy.baseline.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    n_ids = "bpe / * / * / n_ids"
    document["values"] = {n_ids: document["values"][n_ids]}
    document["seal"] = seal_of(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    done = run_pytest(config, "-q")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "the base names it but has no such row" in done.stdout
    assert "FAILED toy.yaml::baseline-is-whole" in done.stdout
