"""What breaks a tokenizer costs the document or the cell it broke at, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from run_files import exact_files
from tokbench.bench.results.run_folder import Results, load_results

FAULTY = '''
import os, signal, sys, time
from tokbench.bench.plugins import TokenizerPlugin
from tokbench.tokenizers_impl.baselines.utf8_bytes import Utf8Bytes

HOARD = []


class Wrapped:
    """Counts bytes, except where it meets the word that it cannot bear."""

    def __init__(self, fault):
        self._inner = Utf8Bytes().load(None)
        self._fault = fault

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def encode_batch(self, texts):
        if any("poison" in text for text in texts):
            self._fault()
        return self._inner.encode_batch(texts)


def raise_(): raise ValueError("cannot bear it")
def exit_(): sys.exit(7)
def kill(): os.kill(os.getpid(), signal.SIGKILL)
def abort(): os.abort()
def hang(): time.sleep(1000)
def hoard():
    while True:
        HOARD.append(b"x" * 40_000_000)
        time.sleep(0.02)
def exhaust(): raise MemoryError("no room")
def panic():
    class PanicException(BaseException): pass
    raise PanicException("a Rust library gave up")


class Faulty(TokenizerPlugin):
    """Fails in the way it is told to."""

    fault: str
    at_load: bool = False

    def load(self, context):
        fault = globals()[self.fault]
        if self.at_load:
            fault()
        return Wrapped(fault)
'''

FAULTS = {
    "raise_": "ValueError: cannot bear it",
    "panic": "PanicException: a Rust library gave up",
    "exit_": "SystemExit: 7",
    "exhaust": "MemoryError: no room",
    "kill": "its worker process was killed by SIGKILL",
    "abort": "its worker process was killed by SIGABRT",
    "hang": "timed out: no progress for 8 s (limits.seconds)",
    "hoard": "used more than 400 MB of memory (limits.memory)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_plugin: Any) -> Path:
    """A config folder: five documents, of which the third is poison, and a faulty plug-in."""
    folder = tmp_path_factory.mktemp("faulty")
    make_plugin(folder, "faulty", FAULTY, {"tokbench.tokenizers": {"faulty": "Faulty"}})
    texts = {"a": "one", "b": "two", "c": "poison", "d": "four", "e": "five five"}
    rows = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
    (folder / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    (folder / "clean.jsonl").write_text("\n".join(rows[:2]), encoding="utf-8")
    return folder


def config(tokenizers: dict[str, Any], **more: Any) -> dict[str, Any]:
    files = {"source": "files", "language": "en", "id": "id"}
    return {
        "name": "faults",
        "corpora": {
            "clean": {**files, "path": "clean.jsonl"},
            "poisoned": {**files, "path": "rows.jsonl"},
        },
        "tokenizers": tokenizers,
        "suites": ["efficiency"],
        "reports": [],
        "limits": {"seconds": 8, "load_seconds": 30, "memory": "400 MB"},
        **more,
    }


def write(folder: Path, value: dict[str, Any]) -> str:
    path = folder / f"{value['name']}.yaml"
    path.write_text(json.dumps(value), encoding="utf-8")
    return str(path.name)


@pytest.fixture(scope="module")
def run(folder: Path, tmp_path_factory: pytest.TempPathFactory, tokbench: Any) -> Any:
    """One run with a tokenizer for each fault, and one that is well."""
    tokenizers = {name: {"type": "faulty", "fault": name} for name in FAULTS}
    tokenizers |= {
        "no_load": {"type": "faulty", "fault": "raise_", "at_load": True},
        "hung_load": {"type": "faulty", "fault": "hang", "at_load": True},
        "killed_load": {"type": "faulty", "fault": "kill", "at_load": True},
        "well": {"type": "utf8_bytes"},
    }
    name = write(folder, config(tokenizers))
    cache = str(tmp_path_factory.mktemp("cache"))
    done = tokbench(folder, "run", name, "--jobs", "2", TOKBENCH_CACHE=cache)
    return done, load_results(folder / "runs" / "faults-1"), cache


def cell(results: Results, tokenizer: str, corpus: str = "poisoned") -> dict[str, Any]:
    (found,) = (
        c for c in results.run["cells"] if (c["tokenizer"], c["corpus"]) == (tokenizer, corpus)
    )
    return dict(found)


def test_the_run_ends_with_3_and_says_what_failed(run) -> None:
    done, _, _ = run
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_document_which_is_named(run, fault) -> None:
    _, results, _ = run
    found = cell(results, fault)
    assert (found["status"], found["n"]) == ("partial", 4)
    assert found["detail"] == f"1 of 5 documents failed, first c: {FAULTS[fault]}"
    assert results.documents(fault, "poisoned")["document_id"].to_pylist() == list("abde")


@pytest.mark.parametrize("fault", FAULTS)
def test_text_without_the_fault_is_counted(run, fault) -> None:
    _, results, _ = run
    assert cell(results, fault, "clean") == {
        **cell(results, fault, "clean"),
        "status": "ok",
        "n": 2,
    }


@pytest.mark.parametrize(
    ("tokenizer", "reason"),
    [
        ("no_load", "ValueError: cannot bear it"),
        ("hung_load", "timed out: no progress for 30 s (limits.load_seconds) while loading"),
        ("killed_load", "its worker process was killed by SIGKILL while loading"),
    ],
)
def test_a_tokenizer_that_cannot_be_loaded_costs_its_cells(run, tokenizer, reason) -> None:
    _, results, _ = run
    for corpus in ("clean", "poisoned"):
        found = cell(results, tokenizer, corpus)
        assert found["status"] == "failed"
        assert reason in found["detail"]


def test_a_sound_tokenizer_beside_them_is_measured(run) -> None:
    _, results, _ = run
    assert [cell(results, "well", c)["status"] for c in ("clean", "poisoned")] == ["ok", "ok"]


def test_the_number_of_jobs_changes_no_exact_file(folder, tmp_path, tokbench) -> None:
    tokenizers = {name: {"type": "faulty", "fault": name} for name in ("raise_", "kill")}
    name = write(folder, config({**tokenizers, "well": {"type": "utf8_bytes"}}, name="few"))
    for jobs in ("1", "3"):
        done = tokbench(folder, "run", name, "--jobs", jobs, "--output", str(tmp_path / jobs))
        assert done.returncode == 3, done.stderr
    assert exact_files(tmp_path / "1" / "few-1") == exact_files(tmp_path / "3" / "few-1")


def test_too_many_lost_documents_cost_the_cell(folder, tmp_path, tokbench) -> None:
    limits = {"lost_documents": 1, "memory": "400 MB"}
    name = write(
        folder, config({"kill": {"type": "faulty", "fault": "kill"}}, name="one", limits=limits)
    )
    tokbench(folder, "run", name, "--output", str(tmp_path))
    found = cell(load_results(tmp_path / "one-1"), "kill")
    assert found["status"] == "failed"
    assert found["detail"].startswith("1 document crashed its worker (c), the limit")


def test_a_cell_that_is_given_up_takes_none_with_it_that_was_sent_along(
    folder, tmp_path, tokbench
) -> None:
    value = config({"kill": {"type": "faulty", "fault": "kill"}}, name="between")
    clean, poisoned = value["corpora"].values()
    value["corpora"] = {"before": clean, "poisoned": poisoned, "after": clean}
    value["limits"] = {"lost_documents": 1, "memory": "400 MB"}
    done = tokbench(folder, "run", write(folder, value), "--output", str(tmp_path))
    results = load_results(tmp_path / "between-1")
    found = {corpus: cell(results, "kill", corpus) for corpus in value["corpora"]}
    assert [one["status"] for one in found.values()] == ["ok", "failed", "ok"]
    assert "kept from before" not in done.stderr  # nothing was there before this run


def test_workers_that_used_the_libraries_of_the_hub_leave_nothing_over(tmp_path, tokbench) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "rows.parquet")
    corpus = {"source": "huggingface", "path": ".", "data_files": "rows.parquet", "language": "en"}
    value = {
        "name": "local",
        "corpora": {"rows": corpus},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
        "reports": [],
    }
    done = tokbench(tmp_path, "run", write(tmp_path, value), TOKBENCH_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
