"""What a run can be measured with, and why the rest is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokbench.bench.config.schema import Config, load_config
from tokbench.bench.count.tally import CellKey
from tokbench.bench.model import Place
from tokbench.bench.run.inputs import RunContext, prepare

CONFIG = {
    "name": "inputs",
    "corpora": {
        "here": {
            "source": "files",
            "languages": {"en": {"file": "en.txt"}, "de": {"file": "de.txt"}},
        },
        "gone": {"source": "files", "path": "nowhere.txt", "language": "en"},
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "words": {
            "train": {"trainer": "words", "corpus": "here", "vocab_size": 9, "languages": ["en"]}
        },
        "lost": {"train": {"trainer": "words", "vocab_size": 9, "corpus": "gone"}},
    },
}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "en.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "de.txt").write_text("eins\nzwei\n", encoding="utf-8")
    (tmp_path / "inputs.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    return load_config(tmp_path / "inputs.yaml")


def test_what_cannot_be_read_or_trained_costs_only_the_cells_that_need_it(config: Config) -> None:
    prepared = prepare(RunContext(config=config))
    assert list(prepared.slices) == [Place("here", "en"), Place("here", "de")]
    assert list(prepared.failures) == [Place("gone", "en")]
    assert list(prepared.sources) == ["bytes", "words"]
    assert list(prepared.untrained) == ["lost"]
    assert prepared.why_missing(CellKey("bytes", "here", "en")) is None
    assert "nowhere.txt" in str(prepared.why_missing(CellKey("bytes", "gone", "en")))
    assert "gone, en" in str(prepared.why_missing(CellKey("lost", "here", "en")))
    [failure] = prepared.findings()
    assert (failure.kind, failure.corpus, failure.language) == ("failure", "gone", "en")


def test_what_was_trained_is_taken_from_the_cache_the_next_time(
    config: Config, listener: type
) -> None:
    first, second = listener(), listener()
    trained = [
        prepare(RunContext(config=config, progress=heard)).trained for heard in (first, second)
    ]
    assert trained[0] == trained[1]
    assert any(step.startswith("tokenizer words") for step in first.steps)
    assert not any(step.startswith("tokenizer words") for step in second.steps)
