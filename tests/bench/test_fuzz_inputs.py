"""Damaged inputs give errors of our own tree, never a traceback of another's."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tokbench.bench.config.corpora import CorpusEntry
from tokbench.bench.config.schema import load_config
from tokbench.bench.corpus.slices import materialise
from tokbench.bench.errors import TokbenchError
from tokbench.bench.workers.sources import TokenizerSource
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace

FUZZ = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
CONFIG = b"""\
name: mine
corpora:
  s: {source: builtin, dataset: sentences, languages: [eng_Latn]}
tokenizers:
  b: {type: utf8_bytes}
suites: {efficiency: {}}
limits: {memory: 2 GB}
"""
JSONL = b'{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}\n'
SPEC = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]},
    }
).encode()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["one", "two"]}), sink)
    return sink.getvalue()


def damaged(data: bytes) -> st.SearchStrategy[bytes]:
    """Cut short, with a bit flipped, with bytes put in, or something else altogether."""
    place = st.integers(0, len(data) - 1)
    flipped = st.builds(
        lambda i, bit: data[:i] + bytes([data[i] ^ (1 << bit)]) + data[i + 1 :],
        place,
        st.integers(0, 7),
    )
    filled = st.builds(lambda i, more: data[:i] + more + data[i:], place, st.binary(max_size=9))
    return st.one_of(st.builds(lambda i: data[:i], place), flipped, filled, st.binary(max_size=40))


def allowed(call: Any) -> None:
    """Let a call succeed, or fail with an error of our own tree."""
    with contextlib.suppress(TokbenchError):
        call()


@FUZZ
@given(data=damaged(CONFIG))
def test_a_damaged_config(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(data)
    allowed(lambda: load_config(path))


def _read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    options = {"source": "files", "path": name, "language": "en", "id": "id"}
    entry = TypeAdapter(CorpusEntry).validate_python(options)
    allowed(lambda: materialise("mine", entry, "en", tmp_path))


@FUZZ
@given(data=damaged(JSONL))
def test_damaged_json_lines(tmp_path: Path, data: bytes) -> None:
    _read(tmp_path, "rows.jsonl", data)


@FUZZ
@given(data=damaged(_parquet()))
def test_a_damaged_parquet_file(tmp_path: Path, data: bytes) -> None:
    _read(tmp_path, "rows.parquet", data)


@FUZZ
@given(data=damaged(SPEC))
def test_a_damaged_tokenizer_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "tokenizer.json").write_bytes(data)
    source = TokenizerSource(key="t", plugin=HuggingFace(file="tokenizer.json"), folder=tmp_path)
    allowed(source.load)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=4,
)


@FUZZ
@given(
    key=st.sampled_from(["type", "model", "added_tokens", "normalizer", "decoder"]), value=VALUES
)
def test_a_tokenizer_file_with_a_value_of_the_wrong_type(
    tmp_path: Path, key: str, value: Any
) -> None:
    spec = {**json.loads(SPEC), key: value}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    source = TokenizerSource(key="t", plugin=HuggingFace(file="tokenizer.json"), folder=tmp_path)
    allowed(source.load)


def test_what_is_damaged_here_is_sound_otherwise(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(CONFIG)
    load_config(tmp_path / "c.yaml")
    (tmp_path / "tokenizer.json").write_bytes(SPEC)
    source = TokenizerSource(key="t", plugin=HuggingFace(file="tokenizer.json"), folder=tmp_path)
    assert source.load().vocabulary.n_ids == 3
