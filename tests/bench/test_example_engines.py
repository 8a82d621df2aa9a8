"""The example package of engines: found as a plug-in, honest about what is not installed, exact."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import load_results

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "tokbench-engines"
PACKAGES = {
    "bpe_openai": "bpe-openai",
    "quicktok": "quicktok-v1",
    "fastokens": "fastokens",
    "gigatoken": "gigatoken",
    "splintr": "splintr-rs",
    "tuetoken": "tuetoken",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "fastokens": {"file": "ranks", "encoding": "cl100k_base"},
    "gigatoken": {"file": "ranks", "pretokenizer": "gpt4"},
    "tuetoken": {"file": "tokenizer.json"},
}
CL100K = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""The name of cl100k_base.tiktoken in a cache of tiktoken."""

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, install_example: Any) -> Path:
    """The example package in a folder of its own, with the config of its page."""
    folder: Path = install_example(EXAMPLE)
    (config,) = re.findall(
        r"```yml\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    (folder / "engines.yaml").write_text(config, encoding="utf-8")
    return folder


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def needs(*engines: str) -> None:
    missing = [PACKAGES[name] for name in engines if version_of(PACKAGES[name]) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def verdicts(folder: Path, tokbench: Tokbench, config: str, *options: str) -> dict[str, Any]:
    """Return what `conform` says, after a look at the bytes that each engine says its ids have."""
    kept = ["--output", f"kept-{config}"]
    done = tokbench(folder, "conform", config, "--json", "--jobs", "1", *kept, *options)
    assert done.stdout, done.stderr
    [run] = (folder / f"kept-{config}").iterdir()
    findings = load_results(run).findings.to_pylist()
    breaches = [row["message"] for row in findings if row["message"].startswith("token bytes")]
    assert breaches == []
    return {one["engine"]: one for one in json.loads(done.stdout)}


QUICK = ["--set", "suites.conformance.code_points=false"]


def test_the_config_of_its_page_is_valid_without_the_engines(
    installed: Path, tokbench: Tokbench
) -> None:
    done = tokbench(installed, "validate", "engines.yaml")
    assert done.returncode == 0, done.stderr


def test_an_engine_that_is_not_installed_says_what_to_install(
    installed: Path, tokbench: Tokbench
) -> None:
    missing = [name for name, package in PACKAGES.items() if version_of(package) is None]
    if not missing:
        pytest.skip("all engines are installed")
    options = {"type": missing[0], **OPTIONS.get(missing[0], {"encoding": "cl100k_base"})}
    config = {
        "name": "absent",
        "corpora": {"s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}},
        "tokenizers": {"engine": options},
    }
    (installed / "absent.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(installed, "inspect", "a", "--config", "absent.yaml")
    assert done.returncode == 3
    assert f"this needs `pip install {PACKAGES[missing[0]]}`" in done.stderr


@pytest.mark.usefixtures("data_folder")
def test_the_engines_that_carry_their_files_give_tiktokens_ids(
    installed: Path, tokbench: Tokbench
) -> None:
    needs("bpe_openai", "quicktok")
    found = verdicts(installed, tokbench, "engines.yaml", *QUICK)
    assert found["quicktok"]["verdict"] == "exact"
    assert found["bpe_openai"]["verdict"] == "exact except"
    assert "49 lone_surrogates" in found["bpe_openai"]["message"]


@pytest.mark.parametrize("engine", ["fastokens", "gigatoken"])
def test_the_engines_that_read_a_rank_file_give_tiktokens_ids(
    engine: str, installed: Path, tokbench: Tokbench, data_folder: Path
) -> None:
    needs(engine)
    ranks = data_folder / "tiktoken_cache" / CL100K
    special = {"<|endoftext|>": 100257, "<|endofprompt|>": 100276}
    options: dict[str, Any] = {**OPTIONS[engine], "type": engine, "file": str(ranks)}
    config: dict[str, Any] = {
        "name": "ranks",
        "corpora": {"s": {"source": "builtin", "dataset": "sentences", "languages": ["tur_Latn"]}},
        "tokenizers": {
            "cl100k": {"type": "tiktoken", "encoding": "cl100k_base"},
            "engine": options | ({"special_tokens": special} if engine == "gigatoken" else {}),
        },
    }
    config["suites"] = {"conformance": {"engines": {"engine": "cl100k"}, "fuzz": 20}}
    (installed / f"{engine}.yaml").write_text(json.dumps(config), encoding="utf-8")
    found = verdicts(installed, tokbench, f"{engine}.yaml", *QUICK)
    assert found["engine"]["verdict"] == "exact"


@pytest.mark.parametrize("engine", ["splintr", "tuetoken"])
def test_splintr_and_tuetoken_give_the_ids_of_their_references(
    engine: str, installed: Path, tokbench: Tokbench, data_folder: Path
) -> None:
    """tuetoken is asked on 2 and 8 threads, splintr's pool of threads has 8."""
    needs(engine)
    file = {"file": str(data_folder / "tokenizers" / "gpt2" / "tokenizer.json")}
    pairs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "splintr": ({"encoding": "cl100k_base", "threads": 8}, {"encoding": "cl100k_base"}),
        "tuetoken": (file, file),
    }
    mine, reference = pairs[engine]
    kind = "tiktoken" if "encoding" in reference else "huggingface"
    config: dict[str, Any] = {
        "name": engine,
        "corpora": {"s": {"source": "builtin", "dataset": "sentences", "languages": ["tha_Thai"]}},
        "tokenizers": {
            "reference": {"type": kind, **reference},
            "engine": {"type": engine, **mine},
        },
        "suites": {"conformance": {"engines": {"engine": "reference"}, "fuzz": 20}},
    }
    (installed / f"{engine}.yaml").write_text(json.dumps(config), encoding="utf-8")
    found = verdicts(installed, tokbench, f"{engine}.yaml", *QUICK)
    assert found["engine"]["verdict"].startswith("exact")


def test_ids_of_a_published_engine_that_decode_to_the_right_text_are_found_wrong(
    installed: Path, tokbench: Tokbench, data_folder: Path
) -> None:
    """quicktok 0.4.0 takes entries of Llama 3 that merging does not reach."""
    if version_of("quicktok-v1") != "0.4.0":
        pytest.skip("this is about quicktok-v1 0.4.0, which is not installed")
    folder = data_folder / "tokenizers"
    key = "llama3/tokenizer.model"
    llama3 = {"file": str(folder / key), "spec": str(folder / "tiktoken_specs.json")}
    files = {"source": "files", "path": "t.txt", "language": "tr"}
    config = {
        "name": "llama",
        "corpora": {"t": files},
        "tokenizers": {
            "llama3": {"type": "tiktoken", **llama3, "spec_key": key},
            "quicktok": {"type": "quicktok", "encoding": "llama3"},
        },
        "suites": {"fidelity": {}, "conformance": {"engines": {"quicktok": "llama3"}, "fuzz": 1}},
    }
    (installed / "t.txt").write_text("bir kimya şirketi\niyesia\n", encoding="utf-8")
    (installed / "llama.yaml").write_text(json.dumps(config), encoding="utf-8")
    found = verdicts(installed, tokbench, "llama.yaml", *QUICK)["quicktok"]
    assert found["verdict"] == "wrong"
    assert "114767 64 and 72 9891 689" in found["witnesses"][0]
