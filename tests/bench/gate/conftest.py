"""Small runs whose numbers a reader can count: a byte-pair encoding of a handful of merges."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.schema import load_config
from tokbench.bench.progress import SILENT
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run import runner
from tokbench.bench.workers.executors import executor

TEXTS = {"en": ["the cat", "the mat"], "de": ["der hut"]}
MERGES = ("th", "the", "at")
"""With these, "the cat" is the|␣|c|at and "der hut" is seven letters."""

WITHOUT_THE = ("th", "he", "at")
"""One merge is another one: "the" is th|e, everything else stays."""

Write = Callable[..., Path]
MeasureBpe = Callable[..., Results]


def rank_file(path: Path, merges: Sequence[str]) -> Path:
    """Write a rank file of 256 bytes and some merges, in tiktoken's format."""
    tokens = [bytes([i]) for i in range(256)] + [merge.encode() for merge in merges]
    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def config_file(
    folder: Path,
    *,
    tokenizers: Mapping[str, Sequence[str]] | None = None,
    texts: Mapping[str, Sequence[str]] = TEXTS,
    name: str = "toy",
    pattern: str = r" ?\w+|\s+|[^\w\s]+",
    extra: Mapping[str, Any] | None = None,
) -> Path:
    """Write a config with one tokenizer per list of merges, and the files it names."""
    for language, documents in texts.items():
        lines = [json.dumps({"text": text}) for text in documents]
        (folder / f"{name}.{language}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    entries = {}
    for key, merges in (tokenizers or {"bpe": MERGES}).items():
        file = rank_file(folder / f"{name}.{key}.tiktoken", merges).name
        entries[key] = {"type": "tiktoken", "file": file, "pattern": pattern}
    corpus = {"source": "files", "languages": {k: {"file": f"{name}.{k}.jsonl"} for k in texts}}
    document = {"name": name, "corpora": {"web": corpus}, "tokenizers": entries}
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(document | dict(extra or {})), encoding="utf-8")  # JSON is YAML
    return path


def results_of(
    folder: Path, output: str = "runs", *, keep_ids: bool = True, jobs: int = 0, **options: Any
) -> Results:
    """Run such a config in its folder; its ids are kept."""
    extra = {"reports": [], "keep_ids": keep_ids, **options.pop("extra", {})}
    config = load_config(config_file(folder, extra=extra, **options))
    with executor(jobs, SILENT) as workers:
        return runner.run(config, output=folder / output, executor=workers).results


@pytest.fixture
def write_config(tmp_path: Path) -> Write:
    """Write a config with one tokenizer per list of merges, and the files it names."""
    return partial(config_file, tmp_path)


@pytest.fixture
def measure_bpe(tmp_path: Path) -> MeasureBpe:
    """Run a config made of keyword arguments; ids are kept unless told otherwise."""
    return partial(results_of, tmp_path)


TIMED = {
    "suites": {"efficiency": {}, "throughput": {"rounds": 6, "processes": 1, "milliseconds": 0.1}}
}


@pytest.fixture(scope="module")
def timed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with timings; tests change copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        return results_of(tmp_path_factory.mktemp("timed"), extra=TIMED).folder
