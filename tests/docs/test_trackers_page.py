"""The recipes for trackers run as printed, with the real clients where these are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pages import blocks
from tokbench.bench.results.run_folder import Results, load_results

PAGE = "docs/trackers.md"

pytestmark = pytest.mark.long


@pytest.fixture
def folder(folder_with_run: Path, tmp_path: Path) -> Path:
    """A folder of its own with `runs/quick-1`."""
    shutil.copytree(folder_with_run / "runs", tmp_path / "runs")
    return tmp_path


def run_recipe(module: str, folder: Path) -> None:
    """Run the recipe that imports a client, in a process of its own."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}: pip install {module}")
    [recipe] = [code for code in blocks(PAGE, "python") if f"import {module}\n" in code]
    quiet = {"WANDB_SILENT": "true", "WANDB_DIR": str(folder), "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", recipe],
        cwd=folder,
        env={**os.environ, **quiet, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def values_of(results: Results, metric: str) -> dict[tuple[str, str], float]:
    rows = results.measurements.to_pylist()
    return {(r["tokenizer"], r["language"]): r["value"] for r in rows if r["metric"] == metric}


def test_mlflow_gets_a_run_for_each_tokenizer_with_its_values(folder: Path) -> None:
    run_recipe("mlflow", folder)
    results = load_results(folder / "runs" / "quick-1")
    wanted = values_of(results, "bytes_per_token")
    store = sqlite3.connect(folder / "mlflow.db")
    try:
        found = store.execute("SELECT r.name, m.key, m.value FROM metrics m JOIN runs r USING (run_uuid)").fetchall()  # fmt: skip
    finally:
        store.close()
    logged = {
        (name.split(" ")[1], key.split("/")[2]): value
        for name, key, value in found
        if key.startswith("bytes_per_token/sentences/")
    }
    assert logged == wanted


def test_wandb_gets_a_table_and_a_summary_without_a_network(folder: Path) -> None:
    run_recipe("wandb", folder)
    [run] = (folder / "wandb").glob("offline-run-*")
    [table] = run.rglob("*.table.json")
    rows = json.loads(table.read_text(encoding="utf-8"))["data"]
    found = {(r[0], r[2]): r[4] for r in rows if r[3] == "bytes_per_token"}
    results = load_results(folder / "runs" / "quick-1")
    assert found == values_of(results, "bytes_per_token")
