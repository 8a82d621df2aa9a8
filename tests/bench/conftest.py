"""A corpus in one line, for the tests of the corpus layer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from tokbench.bench.config.corpora import AnyCorpus, CorpusEntry
from tokbench.bench.corpus.slices import Slice, materialise

Materialise = Callable[..., Slice]


@pytest.fixture(scope="session")
def entry() -> Callable[..., AnyCorpus]:
    """Make a corpus entry of keyword arguments, as a config would."""
    adapter: TypeAdapter[Any] = TypeAdapter(CorpusEntry)
    return lambda **options: adapter.validate_python(options)


@pytest.fixture
def make(entry: Callable[..., AnyCorpus], tmp_path: Path) -> Materialise:
    """Materialise one language of an entry; files are looked for in `tmp_path`, or in `folder`."""

    def make_slice(key: str = "en", /, *, folder: Path = tmp_path, **options: Any) -> Slice:
        if "languages" not in options:
            options["language"] = key
        return materialise("mine", entry(**options), key, folder)

    return make_slice


@pytest.fixture(scope="session")
def make_plugin() -> Callable[..., None]:
    """Make a folder look like an installed distribution with plug-ins, once on PYTHONPATH."""

    def make(
        folder: Path, module: str, source: str, entries: Mapping[str, Mapping[str, str]]
    ) -> None:
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        lines = []
        for group, names in entries.items():
            lines += [f"[{group}]", *(f"{name} = {module}:{it}" for name, it in names.items())]
        (info / "entry_points.txt").write_text("\n".join([*lines, ""]))

    return make


@pytest.fixture(scope="session")
def install_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Build an example package and install it into a folder of its own."""

    def install(example: Path) -> Path:
        folder = tmp_path_factory.mktemp("installed")
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
        command = [sys.executable, "-m", "pip", "install", *options, str(folder), str(example)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"hatchling is not here to build it: {done.stderr[-200:]}")
        return folder

    return install


Process = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def tokbench() -> Callable[..., Process]:
    """Run the command line in a process of its own; `folder` is where it runs and has plug-ins."""

    def run(folder: Path, *arguments: str, timeout: float = 240, **variables: str) -> Process:
        path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-m", "tokbench", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, **variables},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run
