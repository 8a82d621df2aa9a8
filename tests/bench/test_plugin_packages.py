"""A package of somebody else adds a tokenizer, a suite and a report; a broken one is named."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import load_results

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "tokbench-chunks"

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(install_example: Any) -> Path:
    """The example package, built and installed into a folder of its own."""
    folder: Path = install_example(EXAMPLE)
    page = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```yml\n(.*?)```", page, re.DOTALL)
    (folder / "plugged.yaml").write_text(config, encoding="utf-8")
    return folder


def test_the_config_of_its_page_runs(installed: Path, tokbench: Tokbench) -> None:
    done = tokbench(installed, "run", "plugged.yaml", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    results = load_results(installed / "runs" / "plugged-1")
    (row,) = results.measurements.to_pylist()
    assert (row["metric"], row["tokenizer"]) == ("longest_document", "chunks")
    assert (results.folder / "one_line.txt").read_text(encoding="utf-8") == "1 values\n"


def test_its_options_are_in_the_schema_the_lists_and_the_messages(
    installed: Path, tokbench: Tokbench
) -> None:
    schema = json.loads(tokbench(installed, "schema").stdout)
    (mine,) = {
        json.dumps(kind): kind
        for kind in _objects(schema["properties"]["tokenizers"])
        if kind.get("properties", {}).get("type", {}).get("const") == "chunks"
    }.values()
    assert mine["properties"]["size"]["maximum"] == 2
    assert "longest_document" in tokbench(installed, "list", "metrics").stdout
    wrong = tokbench(installed, "validate", "plugged.yaml", "--set", "tokenizers.chunks.size=3")
    assert wrong.returncode == 2
    assert "tokenizers.chunks.size: must be at most 2, not 3" in wrong.stderr


@pytest.fixture
def broken(tmp_path: Path, make_plugin: Any) -> Path:
    """A package whose module cannot be imported, beside a config that does without it."""
    entries = {"tokbench.tokenizers": {"bad": "Bad"}, "tokbench.suites": {"bad_suite": "Bad"}}
    make_plugin(tmp_path, "broken", "import nothing_of_that_name", entries)
    sentences = {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}
    for name, kind in (("fine", "utf8_bytes"), ("needs", "bad")):
        config = {"name": name, "corpora": {"s": sentences}, "tokenizers": {"t": {"type": kind}}}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


def test_a_broken_plug_in_is_a_warning_that_names_it(broken: Path, tokbench: Tokbench) -> None:
    assert tokbench(broken, "validate", "fine.yaml").returncode == 0
    for command in (["schema"], ["list", "metrics"]):
        done = tokbench(broken, *command)
        assert done.returncode == 0, done.stderr
        assert "warning: plug-in 'bad" in done.stderr
    assert "bad" in tokbench(broken, "list", "tokenizers").stdout
    doctor = tokbench(broken, "doctor", "--offline")
    assert doctor.returncode == 3
    assert "plug-in 'bad' (broken:Bad, tokbench.tokenizers) cannot be imported" in doctor.stdout


def test_a_broken_plug_in_that_a_config_needs_is_an_error(broken: Path, tokbench: Tokbench) -> None:
    done = tokbench(broken, "validate", "needs.yaml")
    assert done.returncode == 2
    assert "No module named 'nothing_of_that_name'; fix or uninstall the package" in done.stderr


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping of a JSON value, at any depth."""
    if isinstance(value, dict):
        yield value
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from _objects(child)
