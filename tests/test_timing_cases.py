"""Inputs that made other tools' timings mislead, each through a config and a run (B4, B5, D3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.compare.sides import compare_sides, gate_of, side_of
from tokbench.bench.model import HasSingleCall, HasThreads, Ids
from tokbench.bench.plugins import LoadContext, TokenizerPlugin, find
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.run.runner import RunOutcome
from tokbench.bench.timing.standalone_worker import LOADERS

Measure = Callable[..., RunOutcome]
Row = dict[str, Any]


def timed_rows(run: RunOutcome, metric: str) -> list[Row]:
    rows = run.results.throughput.to_pylist()
    return [{**r, "params": json.loads(r["params"])} for r in rows if r["metric"] == metric]


def corpus(path: str) -> Row:
    return {"source": "files", "path": path, "language": "en", "id": "id"}


def throughput(**options: Any) -> Row:
    once = {"processes": 1, "rounds": 6, "warm_ups": 1, "milliseconds": 0.1}
    return {"efficiency": {}, "throughput": {**once, **options}}


def test_b4_speed_is_given_by_length_of_whole_documents(
    measure: Measure, case_tokenizers: Path
) -> None:
    """Without a pre-tokenizer time grows faster than length, so one figure for all would mislead."""
    texts = ["words in a document " * n for n in (10, 20, 300, 320, 3000)]
    config = {
        "corpora": {"web": corpus("en.jsonl")},
        "tokenizers": {
            "whole": {"type": "huggingface", "file": str(case_tokenizers / "no_pretokenizer.json")}
        },
        "suites": throughput(lengths=[1000, 10_000], phases=["encode"], max_bytes=50_000),
    }
    run = measure(config, {"en.jsonl": texts})
    found = {row["params"]["length"]: row for row in timed_rows(run, "encode_throughput")}
    assert {length: row["params"]["documents"] for length, row in found.items()} == {
        "to_1000": 2,
        "1001_to_10000": 2,
        "over_10000": 1,
    }
    assert all(row["value"] > 0 for row in found.values())
    longest = found["over_10000"]["params"]
    assert longest["bytes"] == len(texts[-1]) > 50_000  # more than max_bytes, and not cut
    assert found["1001_to_10000"]["params"]["document_bytes"]["median"] == len(texts[2])
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    assert "| web, over 10000 bytes |" in report


def test_b5_single_calls_and_batches_never_share_a_figure(
    measure: Measure, case_tokenizers: Path
) -> None:
    """sentencepiece makes a pool of threads for every batch: a loop is far quicker for few texts."""
    texts = ["a", "some", "few words"]
    config = {
        "corpora": {"short": corpus("en.jsonl")},
        "tokenizers": {
            "spm": {"type": "sentencepiece", "file": str(case_tokenizers / "sp_lossless.model")},
            "json": {"type": "huggingface", "file": str(case_tokenizers / "bl.json")},
        },
        "suites": throughput(
            calls=["single", "batch"], batch_sizes=[None, 2], threads=[1, 2], phases=["encode"]
        ),
    }
    run = measure(config, {"en.jsonl": texts})
    kinds = [("single", None, 1), ("batch", None, 1), ("batch", None, 2)]
    kinds += [("batch", 2, 1), ("batch", 2, 2)]
    speeds = timed_rows(run, "encode_throughput")
    ratios = timed_rows(run, "relative_speed")
    for name, rows in (("spm", speeds), ("json", [*speeds, *ratios])):
        found = [_kind(row) for row in rows if row["tokenizer"] == name]
        assert sorted(found, key=str) == sorted(kinds * (1 if name == "spm" else 2), key=str)
    assert {row["params"]["reference"] for row in ratios} == {"spm"}
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    for call in (
        "### Encode: one call a document, 1 thread, repeated text",
        "### Encode: one batch, 1 thread, repeated text",
        "### Encode: batches of 2 documents, 2 threads, repeated text",
    ):
        assert call in report


def _kind(row: Row) -> tuple[str, int | None, int]:
    params = row["params"]
    return params["call"], params["batch_size"], params["threads"]


def test_d3_timing_of_another_cpu_is_skipped_with_a_line_and_sizes_are_compared(
    measure: Measure, tmp_path: Path
) -> None:
    config = {
        "corpora": {"web": corpus("en.jsonl")},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}, "characters": {"type": "characters"}},
        "suites": throughput(),
    }
    run = measure(config, {"en.jsonl": ["some text"]})
    other = tmp_path / "other-1"
    other.mkdir()
    for path in run.results.folder.rglob("*"):
        target = other / path.relative_to(run.results.folder)
        if path.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(path.read_bytes())
    environment = {**run.results.environment, "cpu": "another CPU"}
    (other / "environment.json").write_text(json.dumps(environment), encoding="utf-8")
    sides = side_of(run.results, "base"), side_of(load_results(other), "candidate")
    comparison = compare_sides(*sides, gate_of(sides[1]))
    assert comparison.exit_code == 0
    assert comparison.counts["same"] > 0
    [line] = [note for note in comparison.notes if "timing" in note]
    assert line.startswith("timing not compared: the CPU differs (")
    assert line.endswith("→ another CPU)")


TEXTS = ["a few words", "", "zwei Wörter", "日本", "two  spaces <|endoftext|>"]


@pytest.fixture(params=["sentencepiece", "tiktoken", "huggingface"])
def plugin(case_tokenizers: Path, request: pytest.FixtureRequest) -> TokenizerPlugin:
    """One tokenizer of each library that is timed in other environments."""
    options: Row = {"file": str(case_tokenizers / "sp_lossless.model")}
    if request.param == "tiktoken":
        ranks = str(case_tokenizers / "bytes256.tiktoken")
        special = {"<|endoftext|>": 256}
        options = {"file": ranks, "pattern": r"\p{L}+|\P{L}+", "special_tokens": special}
    if request.param == "huggingface":
        options = {"file": str(case_tokenizers / "bl_strip.json")}
    return find(TokenizerPlugin, request.param).model_validate(options)


def as_ints(documents: Sequence[Ids]) -> list[list[int]]:
    return [[int(i) for i in ids] for ids in documents]


def test_single_calls_and_threads_give_the_ids_of_the_batch(plugin: TokenizerPlugin) -> None:
    """What is timed in another shape is the very same work."""
    loaded = plugin.load(LoadContext(folder=Path()))
    wanted = as_ints(loaded.encode_batch(TEXTS))
    assert isinstance(loaded, HasThreads)
    assert as_ints(loaded.encode_batch_on(TEXTS, 2)) == wanted
    if isinstance(loaded, HasSingleCall):
        assert as_ints([loaded.encode_one(text) for text in TEXTS]) == wanted


def test_a_worker_without_tokbench_gives_the_same_ids_and_texts(
    plugin: TokenizerPlugin, tmp_path: Path
) -> None:
    loaded = plugin.load(LoadContext(folder=Path()))
    spec = plugin.bare(LoadContext(folder=Path()), tmp_path)
    assert spec is not None
    bare = LOADERS[spec["library"]](dict(spec))
    wanted = loaded.encode_batch(TEXTS)
    for encode in bare.encoders.values():
        found = encode(TEXTS)
        assert as_ints(found) == as_ints(wanted)
        assert list(bare.decode(found)) == list(loaded.decode_batch(wanted))
