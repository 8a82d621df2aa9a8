"""Inputs that made other tools crash or hang, each with the right behaviour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.results import load_results


@pytest.fixture
def run(tmp_path: Path, tokbench: Callable[..., Any]) -> Callable[..., Any]:
    """Run a config in a process of its own; return the process and the results."""

    def run(config: dict[str, Any], *arguments: str, **variables: str) -> Any:
        config = {"name": "case", "reports": [], "suites": ["efficiency", "fidelity"], **config}
        (tmp_path / "case.yaml").write_text(json.dumps(config), encoding="utf-8")
        done = tokbench(tmp_path, "run", "case.yaml", *arguments, **variables)
        return done, load_results(tmp_path / "runs" / "case-1")

    return run


def test_b1_a_panic_costs_its_document_only(tmp_path: Path, run: Any) -> None:
    """tiktoken gives up at a million spaces; in some versions by a panic, which is no Exception."""
    texts = {"before": "one two", "spaces": " " * 1_000_000 + "x", "after": "three"}
    rows = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    ranks = [f"{_base64(bytes([i]))} {i}" for i in range(256)]
    (tmp_path / "bytes.tiktoken").write_text("\n".join(ranks), encoding="utf-8")
    files = {"source": "files", "language": "en", "path": "rows.jsonl", "id": "id"}
    tokenizers = {
        "panics": {"type": "tiktoken", "file": "bytes.tiktoken", "pattern": pattern},
        "well": {"type": "utf8_bytes"},
    }
    done, results = run({"corpora": {"c": files}, "tokenizers": tokenizers})
    assert done.returncode == 3, done.stderr
    cells = {cell["tokenizer"]: cell for cell in results.run["cells"]}
    assert (cells["panics"]["status"], cells["panics"]["n"]) == ("partial", 2)
    assert cells["panics"]["detail"].startswith("1 of 3 documents failed, first spaces: ")
    assert cells["well"]["status"] == "ok"


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


@pytest.mark.parametrize("parallelism", ["true", "false", None])
def test_b2_workers_finish_whatever_the_thread_setting(run: Any, parallelism: str | None) -> None:
    corpus = {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn", "fin_Latn"]}
    train = {"trainer": "tokenizers_bpe", "corpus": "c", "vocab_size": 400}
    variables = {} if parallelism is None else {"TOKENIZERS_PARALLELISM": parallelism}
    done, results = run(
        {"corpora": {"c": corpus}, "tokenizers": {"t": {"train": train}}},
        "--jobs",
        "2",
        **variables,
    )
    assert done.returncode == 0, done.stderr
    threads = results.environment["threads"]["TOKENIZERS_PARALLELISM"]
    assert threads == (parallelism or "false")
