"""Folders that tests share: real data where it is there, caches of their own everywhere."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
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


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test an empty cache folder."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TOKBENCH_CACHE", str(folder))
    return folder


LANGUAGES = (
    "eng_Latn", "vie_Latn", "tur_Latn", "ell_Grek", "rus_Cyrl", "arb_Arab", "heb_Hebr",
    "hin_Deva", "tha_Thai", "khm_Khmr", "mya_Mymr", "kor_Hang", "jpn_Jpan", "zho_Hans",
)  # fmt: skip


@pytest.fixture(scope="session")
def corpus_texts(data_folder: Path) -> Callable[[str, str, int], list[str]]:
    """Return a reader of the first n rows of one language of a corpus."""

    def read(corpus: str, language: str, n: int) -> list[str]:
        table = pyarrow.parquet.read_table(data_folder / "corpora" / corpus / f"{language}.parquet")
        return [str(text) for text in table["text"][:n].to_pylist()]

    return read


@pytest.fixture(scope="session")
def mixed_texts(corpus_texts: Callable[[str, str, int], list[str]]) -> list[str]:
    """Return prose in many scripts and some code."""
    prose = [t for language in LANGUAGES for t in corpus_texts("flores200", language, 60)]
    return prose + corpus_texts("source_code", "python", 5) + corpus_texts("udhr", "all", 400)
