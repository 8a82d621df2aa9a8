"""Real tokenizers and corpora for tests: the folder in TOKBENCH_DATA, or ../shared/data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("TOKBENCH_DATA") or ROOT.parent / "shared" / "data")

LANGUAGES = (
    "eng_Latn", "vie_Latn", "tur_Latn", "ell_Grek", "rus_Cyrl", "arb_Arab", "heb_Hebr",
    "hin_Deva", "tha_Thai", "khm_Khmr", "mya_Mymr", "kor_Hang", "jpn_Jpan", "zho_Hans",
)  # fmt: skip


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real tokenizers and corpora, or skip the test."""
    if not FOLDER.is_dir():
        pytest.skip(f"no test data in {FOLDER} (set TOKBENCH_DATA)")
    return FOLDER


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
