"""A trainer that gives another model each time: kept, hashed, and its spread allowed (case E1)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.sides import compare_sides, side_of
from tokbench.bench.config.gate import Gate
from tokbench.bench.results.run_folder import Results


def config(data: Path, trainer: str = "tokenizers_wordpiece") -> dict[str, Any]:
    file = str(data / "corpora" / "flores200" / "eng_Latn.parquet")
    corpus = {"source": "files", "language": "eng_Latn", "path": file, "id": "id"}
    trained = {"trainer": trainer, "corpus": "flores", "vocab_size": 2000}
    return {
        "corpora": {"flores": {**corpus, "limit": {"rows": 400}}},
        "tokenizers": {"own": {"train": trained}},
        "reports": [],
        "keep_ids": True,
    }


def compared(base: Results, candidate: Results) -> Comparison:
    return compare_sides(side_of(base, "base"), side_of(candidate, "candidate"), Gate())


def test_a_stored_model_is_reused_so_that_a_repeat_is_the_same(
    measure: Callable[..., Any], data_folder: Path, tmp_path: Path
) -> None:
    runs = [measure(config(data_folder), cache=tmp_path).results for _ in range(2)]
    assert compared(*runs).exit_code == 0
    assert compared(*runs).counts["same"] == len(compared(*runs).verdicts)


def test_wordpiece_trained_anew_in_another_cache_is_the_same_model(
    measure: Callable[..., Any], data_folder: Path
) -> None:
    runs = [measure(config(data_folder)).results for _ in range(2)]
    assert compared(*runs).exit_code == 0
    assert compared(*runs).notes == ()


def test_models_trained_anew_differ_and_the_gate_says_that_it_is_spread(
    measure: Callable[..., Any], data_folder: Path
) -> None:
    runs = [measure(config(data_folder, "tokenizers_unigram")).results for _ in range(2)]
    found = compared(*runs)
    fingerprints = {r.run["tokenizers"]["own"]["fingerprint"] for r in runs}
    assert found.exit_code == 0
    if len(fingerprints) == 2:  # nearly always: its last digits depend on threads
        assert "is not deterministic" in found.notes[0]
        assert not any(v.gated for v in found.moved)
