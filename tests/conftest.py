"""What all tests share: real data where it is there, and no network anywhere."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent

# `datasets` reads these when it is imported: tests never reach the network nor the user's caches.
_HF_HOME = tempfile.TemporaryDirectory(prefix="tokbench-tests-")
os.environ["HF_HOME"] = _HF_HOME.name
os.environ["HF_HUB_OFFLINE"] = "1"


def pytest_unconfigure() -> None:
    _HF_HOME.cleanup()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real tokenizers and corpora; tests that need them are skipped elsewhere."""
    return _folder("TOKBENCH_DATA", "data")


@pytest.fixture(scope="session")
def cases_folder() -> Path:
    """Inputs that broke other tools; tests that need them are skipped elsewhere."""
    return _folder("TOKBENCH_CASES", "cases")


def _folder(variable: str, name: str) -> Path:
    folder = Path(os.environ.get(variable, REPOSITORY.parent / "shared" / name))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no {name} folder at {folder}; set {variable} to run this test")
    return folder.resolve()
