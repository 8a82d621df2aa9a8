"""The command that measures what slices cost beside encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokbench.suites.perf.first_slices import SliceCosts, take_rounds


def test_each_round_makes_the_slices_anew_and_encodes_every_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path))
    texts = {"en": ["one two", "three"], "de": ["vier"]}
    seen: list[str] = []
    costs = SliceCosts(texts, tmp_path, lambda text: seen.append(text * 1000), code=False)
    first = costs.slices()
    before = tmp_path / "cache/before"
    before.touch()
    assert costs.text == len("one twothreevier")
    assert [one.meta.words for one in first] == [3, 1]
    assert {name: len(values) for name, values in take_rounds(costs, 2).items()} == {
        "words": 2,
        "slice": 2,
    }
    assert len(seen) == 2 * 3
    assert not before.exists()
