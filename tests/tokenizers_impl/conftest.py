"""Where real tokenizers and hard cases come from, and a world without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext, TokenizerPlugin

_BESIDE = Path(__file__).resolve().parents[2].parent / "shared"
DATA = Path(os.environ.get("TOKBENCH_DATA", _BESIDE / "data"))
CASES = Path(os.environ.get("TOKBENCH_CASES", _BESIDE / "cases"))

Load = Callable[[TokenizerPlugin], Tokenizer]


@pytest.fixture(scope="session", autouse=True)
def _no_network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Any request goes to a closed port at once; caches are empty ones of this test run."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
            patch.setenv(variable, "http://127.0.0.1:9")
        for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR", "NO_PROXY", "no_proxy"):
            patch.delenv(variable, raising=False)
        patch.setenv("TOKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real tokenizers and corpora."""
    if not (DATA / "tokenizers" / "index.json").exists():
        pytest.skip(f"no test data at {DATA}; set TOKBENCH_DATA")
    return DATA


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of inputs that broke other tools."""
    if not (CASES / "make_tokenizers.py").exists():
        pytest.skip(f"no cases at {CASES}; set TOKBENCH_CASES")
    return CASES


@pytest.fixture(scope="session")
def load_case(case_tokenizers: Path) -> Load:
    """Load a plug-in whose paths start at the case tokenizers."""
    return lambda plugin: plugin.load(LoadContext(folder=case_tokenizers))


@pytest.fixture(scope="session")
def case_texts(cases: Path) -> Callable[[str], list[str]]:
    """Return the texts of a jsonl file of the cases."""

    def texts(name: str) -> list[str]:
        lines = (cases / name).read_text(encoding="utf-8").split("\n")
        return [json.loads(line)["text"] for line in lines if line]

    return texts


def index() -> list[dict[str, Any]]:
    """Return the entries of the data folder's list of tokenizers that a library loads."""
    path = DATA / "tokenizers" / "index.json"
    if not path.exists():
        return []
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [entry for entry in entries if not entry["path"].endswith("claude.json")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `real_entry` over every tokenizer of the data folder."""
    if "real_entry" in metafunc.fixturenames:
        entries = index()
        names = [entry["name"] for entry in entries]
        metafunc.parametrize("real_entry", entries, ids=names, scope="module", indirect=True)


@pytest.fixture(scope="module")
def real_entry(request: pytest.FixtureRequest, data: Path) -> dict[str, Any]:
    """One entry of the data folder's list of tokenizers."""
    entry: dict[str, Any] = request.param
    return entry
