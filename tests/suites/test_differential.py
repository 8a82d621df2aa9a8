"""Pairs whose ids differ by an offset: what an offset is about, and what is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tokbench
from tokbench.bench.errors import ConfigError

VOCABULARY = ("[PAD]", "[UNK]", "a", "b", "##b")


def measured(folder: Path, pairs: list[dict[str, Any]], second: tuple[str, ...]) -> Any:
    """Two WordPiece vocabularies over four documents, each with its own file."""
    for name, entries in (("first", VOCABULARY), ("second", second)):
        (folder / f"{name}.txt").write_text("\n".join(entries), encoding="utf-8")
    (folder / "en.txt").write_text("a\nab\nz\nx\n", encoding="utf-8")
    config = {
        "name": "pairs",
        "corpora": {"c": {"source": "files", "language": "en", "path": str(folder / "en.txt")}},
        "tokenizers": {
            name: {
                "type": "wordpiece",
                "file": str(folder / f"{name}.txt"),
                "lowercase": False,
            }
            for name in ("first", "second")
        },
        "suites": {"differential": {"pairs": pairs, "fuzz": 0}},
        "reports": [],
    }
    return tokbench.run(config, folder / "runs", jobs=0)


def agreements(results: Any) -> Mapping[int, float]:
    rows = [r for r in results.measurements.to_pylist() if r["metric"] == "id_agreement"]

    found = {json.loads(r["params"]).get("id_offset", 0): r["value"] for r in rows}
    assert len(found) == len(rows)
    return found


# The entries stand one higher, but the unknown token stays at 1: an offset is not about it.
SHIFTED = ("[PAD]", "[UNK]", "x", "a", "b", "##b")
PAIR = {"first": "first", "second": "second"}


def test_special_and_unknown_ids_are_set_side_by_side_by_role(tmp_path: Path) -> None:
    results = measured(tmp_path, [{**PAIR, "id_offset": 1}], SHIFTED)
    # "z" is 1 in both. "x" is unknown to the first, 1, and 2 in the second: no agreement.
    assert agreements(results) == {1: 3 / 4}


def test_pairs_that_differ_in_the_offset_alone_are_told_apart_and_counted_once(
    tmp_path: Path,
) -> None:
    pairs = [PAIR, {**PAIR, "id_offset": 1}, {**PAIR, "id_offset": 2}]
    results = measured(tmp_path, pairs, SHIFTED)
    # ids of "a", "ab", "z", "x": 2, 2 4, 1, 1 and 3, 3 5, 1, 2
    assert agreements(results) == {0: 1 / 4, 1: 3 / 4, 2: 1 / 4}


def test_ids_are_shown_as_each_tokenizer_gives_them(tmp_path: Path) -> None:
    pairs = [{**PAIR, "id_offset": 5}]
    results = measured(tmp_path, pairs, SHIFTED)

    (witness,) = [
        json.loads(f["data"])
        for f in results.findings.to_pylist()
        if (f["kind"], f["suite"]) == ("witness", "differential")
    ]
    assert (witness["text"], witness["first_ids"], witness["second_ids"]) == ("a", [2], [3])
    assert witness["id_offset"] == 5


def test_a_pair_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="are listed 2 times with id_offset 1; keep one"):
        measured(tmp_path, [{**PAIR, "id_offset": 1}, {**PAIR, "id_offset": 1}], SHIFTED)
