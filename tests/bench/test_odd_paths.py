"""Paths that cannot be opened, wherever a user may write one: told in words, at their own cost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import tokbench as in_this_process
from tokbench.bench.results.run_folder import load_results

ODD = {
    "nobody": ("~no-such-user/a", "is not a valid path: no such home folder"),
    "nul": ("a\0b", "is not a valid path: embedded null byte"),
    "long": ("x" * 300, "cannot be read: File name too long"),
    "circle": ("circle", "is not a valid path: its symbolic links form a loop"),
    "folder": ("folder", "is a folder"),
    "beneath": ("c.yaml/a", "cannot be read: Not a directory"),
}
NO_FILE = "paths start from the config's folder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    return tmp_path


def test_each_costs_its_own_cells_and_is_named_as_it_was_written(
    folder: Path, tokbench: Callable[..., Any]
) -> None:
    corpora: dict[str, Any] = {
        "good": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}
    }
    tokenizers: dict[str, Any] = {"good": {"type": "utf8_bytes"}}
    for name, (path, _) in ODD.items():
        files = {"source": "files", "path": path, "format": "jsonl", "language": "eng_Latn"}
        hub = {"source": "huggingface", "path": f"./{path}", "language": "eng_Latn"}
        data = {"source": "huggingface", "path": "json", "data_files": [path], "split": "train"}
        corpora |= {
            f"files_{name}": files,
            f"folder_{name}": hub,
            f"data_{name}": {**data, "language": "eng_Latn"},
        }
        tokenizers[f"huggingface_{name}"] = {"type": "huggingface", "file": path}
        tokenizers[f"tiktoken_{name}"] = {"type": "tiktoken", "file": path, "pattern": "."}
        tokenizers[f"sentencepiece_{name}"] = {"type": "sentencepiece", "file": path}
    config = {"name": "odd", "corpora": corpora, "tokenizers": tokenizers, "reports": []}
    (folder / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    validated = tokbench(folder, "validate", "c.yaml", "--offline")
    assert validated.returncode == 3
    assert "Traceback" not in validated.stderr
    for name in ODD:
        assert f"tokenizers.tiktoken_{name}.file: " in validated.stderr
        assert f"corpora.files_{name}" in validated.stderr
    done = tokbench(folder, "run", "c.yaml", "--jobs", "2", "--offline")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    cells = load_results(folder / "runs" / "odd-1").run["cells"]
    reasons = {(cell["tokenizer"], cell["corpus"]): cell["detail"] for cell in cells}
    assert reasons.pop(("good", "good")) is None
    for name, (_, words) in ODD.items():
        for tokenizer in ("huggingface", "tiktoken", "sentencepiece"):
            assert words in reasons[f"{tokenizer}_{name}", "good"]
        for corpus in ("files", "folder", "data"):
            reason = reasons["good", f"{corpus}_{name}"]
            told = (
                NO_FILE,
                "cannot be",
                "is not a valid path",
                "has no data files",
                "is a folder; use folder/*.txt",
            )
            assert any(words in reason for words in told)
            assert str(folder) not in reason


@pytest.mark.parametrize(
    "command",
    [
        ["run", "x" * 300],
        ["run", "x" * 300 + ".yaml"],
        ["report", "x" * 300],
        ["compare", "x" * 300, "y"],
        ["baseline", "show", "x" * 300],
        ["inspect", "a", "--config", "circle"],
        ["run", "folder"],
    ],
)
def test_the_command_line_says_what_the_system_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(folder)
    done = in_this_process(*command)
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (2, 3)
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TOKBENCH_CACHE", "~no-such-user/cache", "no-such-user"),
        ("TOKBENCH_CACHE", "file/cache", "cannot be used: Not a directory"),
        ("TIKTOKEN_CACHE_DIR", "file", "cannot be read: Not a directory"),
        ("HF_HOME", "file", "cannot be read: Not a directory"),
        ("HF_HOME", "~no-such-user", "cannot be checked: RuntimeError"),
        ("HF_ENDPOINT", "nonsense", "cannot be reached"),
    ],
)
def test_doctor_looks_at_the_rest_of_an_odd_machine(
    folder: Path, tokbench: Callable[..., Any], variable: str, value: str, words: str
) -> None:
    (folder / "file").write_text("no folder", encoding="utf-8")
    offline = [] if variable == "HF_ENDPOINT" else ["--offline"]
    variables = {"HF_HUB_OFFLINE": "0", variable: value}
    done = tokbench(folder, "doctor", "--json", *offline, **variables)
    assert "Traceback" not in done.stderr
    found = json.loads(done.stdout)
    assert any(words in one["text"] for one in found)
    assert done.returncode == (0 if variable == "HF_ENDPOINT" else 3)
    assert {"python", "processor", "threads"} <= {one["topic"] for one in found}


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_entered_is_told(
    folder: Path, tokbench: Callable[..., Any]
) -> None:
    (folder / "folder").chmod(0)
    corpus = {"source": "files", "path": "folder/a.jsonl", "language": "en"}
    config = {"name": "n", "corpora": {"c": corpus}, "tokenizers": {"t": {"type": "utf8_bytes"}}}
    (folder / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(folder, "run", "c.yaml")
    (folder / "folder").chmod(0o700)
    assert done.returncode == 3
    assert "'folder/a.jsonl' cannot be read: Permission denied" in done.stderr


def test_a_name_that_is_no_text_costs_its_own_corpus(
    tmp_path: Path, tokbench: Callable[..., Any]
) -> None:
    try:
        (tmp_path / os.fsdecode(b"gr\xfc.txt")).write_text("hello\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (tmp_path / "good.txt").write_text("hello\n", encoding="utf-8")
    files = {"source": "files", "language": "en"}
    config = {
        "name": "odd",
        "corpora": {"good": {**files, "path": "good.txt"}, "bad": {**files, "path": "gr*.txt"}},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(tmp_path, "run", "c.yaml", "--jobs", "1")
    assert done.returncode == 3
    assert "the file name is not UTF-8" in done.stderr
    cells = load_results(tmp_path / "runs" / "odd-1").run["cells"]
    assert {cell["corpus"]: cell["status"] for cell in cells} == {"good": "ok", "bad": "failed"}
    out = os.fsdecode(b"out\xfc")
    refused = tokbench(tmp_path, "run", "c.yaml", "--output", out)
    assert refused.returncode == 3
    assert "choose another --output" in refused.stderr
    assert not (tmp_path / out).exists()
