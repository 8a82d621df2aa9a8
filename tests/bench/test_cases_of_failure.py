"""Inputs that made other tools crash or hang, each with the right behaviour."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import load_results


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


ROWS_OF_A_MIB = 64


def test_b6_memory_is_bounded_by_the_batch_and_recorded(
    tmp_path: Path, tokbench: Callable[..., Any]
) -> None:
    """A kept encoding of `tokenizers` costs about 200 bytes a token, and here a token is a byte."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({byte: i for i, byte in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "bytes.json"))
    peaks = {}
    for mebibytes in (2, 8):
        name = f"of_{mebibytes}"
        # every row differs, so that nothing is saved by a cache of words
        texts = [f"{row:08} " * 1820 for row in range(mebibytes * ROWS_OF_A_MIB)]
        lines = [json.dumps({"text": text}) for text in texts]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        files = {"source": "files", "path": f"{name}.jsonl", "language": "text", "kind": "code"}
        config = {
            "name": name,
            "corpora": {"c": files},
            "tokenizers": {"bytes": {"type": "huggingface", "file": "bytes.json"}},
            "suites": ["efficiency"],
            "reports": [],
        }
        (tmp_path / f"{name}.yaml").write_text(json.dumps(config), encoding="utf-8")
        done = tokbench(tmp_path, "run", f"{name}.yaml", "--jobs", "1")
        assert done.returncode == 0, done.stderr
        results = load_results(tmp_path / "runs" / f"{name}-1")
        peaks[mebibytes] = results.environment["peak_bytes"]["bytes"]
    kept = 6 * 2**20 * 200
    assert peaks[8] - peaks[2] < kept / 10


def test_c1_c2_c7_data_sets_that_need_care_cost_their_own_cells(
    cases_folder: Path, run: Any
) -> None:
    def folder(name: str, **options: str) -> dict[str, str]:
        path = str(cases_folder / name)
        return {"source": "huggingface", "path": path, "language": "nb", **options}

    corpora = {
        "script": folder("script_only"),
        "none_chosen": folder("two_configs"),
        "chosen": folder("two_configs", config="nb"),
        "wrong": folder("two_configs", config="nn"),
        "card": folder("norwegian", config="en"),
    }
    done, results = run({"corpora": corpora, "tokenizers": {"bytes": {"type": "utf8_bytes"}}})
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    cells = {cell["corpus"]: cell for cell in results.run["cells"]}
    assert {name: cell["status"] for name, cell in cells.items()} == {
        **dict.fromkeys(corpora, "failed"),
        "chosen": "ok",
    }
    reasons = {name: str(cell["detail"]) for name, cell in cells.items()}
    for name in set(corpora) - {"chosen"}:
        assert f"corpus {name!r}" in reasons[name]
        assert f"corpus {name}, nb" in done.stderr
    assert "requires a loading script" in reasons["script"]
    assert "refs/convert/parquet" in reasons["script"]
    assert "several configs and none is chosen" in reasons["none_chosen"]
    assert "has no config 'nn'" in reasons["wrong"]
    for name in ("none_chosen", "wrong"):
        assert "its configs are: en, nb" in reasons[name]
    assert "README.md, line 5: config_name no is not read as text" in reasons["card"]


def test_c1_code_of_a_data_set_is_refused_before_a_run(
    tmp_path: Path, tokbench: Callable[..., Any], cases_folder: Path
) -> None:
    corpus = {"source": "huggingface", "path": str(cases_folder / "script_only"), "language": "en"}
    config = {"name": "n", "corpora": {"c": corpus}, "tokenizers": {"t": {"type": "utf8_bytes"}}}
    (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(tmp_path, "validate", "c.yaml")
    assert done.returncode == 2
    assert "corpora.c: data set" in done.stderr
    assert "requires a loading script" in done.stderr
    corpus["trust_remote_code"] = True  # type: ignore[assignment]
    (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    for command in ("validate", "run"):
        done = tokbench(tmp_path, command, "c.yaml")
        assert done.returncode == 2
        assert "c.yaml:1:" in done.stderr
        assert "tokbench never runs code of a data set" in done.stderr
