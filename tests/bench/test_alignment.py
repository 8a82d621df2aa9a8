"""Shuffled parallel text is noticed by the lengths of its documents."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tokbench.bench.corpus.alignment import (
    length_facts,
    rank_correlation,
    why_doubtful,
    with_alignment,
)
from tokbench.bench.corpus.slices import Slice, check_parallel
from tokbench.bench.results.run_folder import load_results


def lines(n: int, unit: str, *, seed: int = 0, noise: int = 3) -> list[str]:
    """Make n lines whose lengths go with those of any other unit under any seed."""
    lengths, noises = random.Random(0), random.Random(seed)
    return [unit * (lengths.randint(1, 40) + noises.randint(0, noise)) for _ in range(n)]


@pytest.fixture
def parallel(make: Callable[..., Slice], tmp_path: Path) -> Callable[..., dict[str, Slice]]:
    def read(en: list[str], de: list[str]) -> dict[str, Slice]:
        for key, one in (("en", en), ("de", de)):
            (tmp_path / f"{key}.txt").write_text("\n".join(one), encoding="utf-8")
        options = {"source": "files", "path": "{language}.txt", "languages": ["en", "de"],
                   "parallel": True, "pivot": "en"}  # fmt: skip
        return with_alignment(check_parallel([make(key, **options) for key in ("en", "de")]))

    return read


def shuffled(some: list[str]) -> list[str]:
    return random.Random(1).sample(some, len(some))


def doubts(slices: dict[str, Slice]) -> list[str]:
    return [doubt for one in slices.values() if (doubt := why_doubtful(one.meta))]


@pytest.mark.parametrize("n", [24, 99, 400, 2000])
def test_aligned_lines_raise_no_doubt_and_shuffled_ones_do(parallel, n: int) -> None:
    assert doubts(parallel(lines(n, "a "), lines(n, "bcd ", seed=1))) == []
    (doubt,) = doubts(parallel(lines(n, "a "), shuffled(lines(n, "bcd ", seed=1))))
    assert doubt.startswith("lengths do not follow those of en (rank correlation ")
    assert "check that rows of the same line number are the same text" in doubt


def test_files_that_part_company_halfway_are_noticed(parallel) -> None:
    de = lines(800, "bc", seed=1)
    late = de[:600] + de[601:] + ["bc"]  # one line is missing from the 601st on
    (doubt,) = doubts(parallel(lines(800, "a"), late))
    assert "in a part of the documents" in doubt


def test_a_language_that_is_three_times_as_long_is_fine(parallel) -> None:
    slices = parallel(lines(100, "a", noise=0), lines(100, "aaa", noise=0))
    facts = slices["de"].meta.alignment
    assert facts is not None
    assert (facts["ratio_10"], facts["ratio_median"], facts["ratio_90"]) == (3.0, 3.0, 3.0)
    assert facts["length_correlation"] == 1.0
    assert slices["en"].meta.alignment is None


def test_few_documents_and_equal_lengths_say_nothing(parallel) -> None:
    assert parallel(["a", "bb"], ["bb", "a"])["de"].meta.alignment is None
    assert doubts(parallel(["same"] * 50, ["as long"] * 50)) == []


def test_the_correlation_is_spearmans() -> None:
    """Ranks 1, 2.5, 2.5, 4 against 2, 1, 3, 4: deviations multiply to 3.0, norms to √(4.5 × 5)."""
    a, b = np.array([1, 5, 5, 9]), np.array([20, 10, 30, 40])
    assert rank_correlation(a, b) == pytest.approx(3.0 / np.sqrt(4.5 * 5.0))
    assert length_facts(a, b)["lowest_in_a_part"] is None


def test_a_run_warns_and_its_report_says_by_what_lines_were_matched(
    tmp_path: Path, tokbench: Callable[..., Any]
) -> None:
    (tmp_path / "en.txt").write_text("\n".join(lines(60, "a")), encoding="utf-8")
    (tmp_path / "de.txt").write_text("\n".join(shuffled(lines(60, "bc"))), encoding="utf-8")
    corpus = {"source": "files", "path": "{language}.txt", "languages": ["en", "de"],
              "parallel": True, "pivot": "en"}  # fmt: skip
    config = {"name": "p", "corpora": {"c": corpus}, "tokenizers": {"b": {"type": "utf8_bytes"}}}
    (tmp_path / "p.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(tmp_path, "run", "p.yaml")
    assert done.returncode == 0, done.stderr
    assert "lengths do not follow those of en" in done.stderr
    results = load_results(tmp_path / "runs" / "p-1")
    (warning,) = [f for f in results.findings.to_pylist() if f["reason"] == "lengths_disagree"]
    assert (warning["corpus"], warning["language"]) == ("c", "de")
    written = sorted((tmp_path / "runs" / "p-1").glob("*.md"))
    report = "".join(path.read_text(encoding="utf-8") for path in written)
    assert "parallel by line number with pivot en" in report
    assert "Read from 2 files." in report
    assert "Characters of each document" in report
    assert "lengths do not follow those of en" in report
    brief = (tmp_path / "runs" / "p-1" / "report.md").read_text(encoding="utf-8")
    assert "parallel with pivot en. **Perhaps not parallel: de.**" in brief


FLORES = ["eng_Latn", "fra_Latn", "zho_Hans", "amh_Ethi", "tam_Taml"]


def test_real_translations_raise_no_doubt(make, data_folder) -> None:
    options = {"source": "files", "path": "corpora/flores200/{language}.parquet", "id": "id",
               "languages": FLORES, "parallel": True, "pivot": "eng_Latn"}  # fmt: skip
    slices = [make(key, folder=data_folder, **options) for key in FLORES]
    assert doubts(with_alignment(check_parallel(slices))) == []
