"""The script that measures false alarms runs with every kind of candidate."""

from __future__ import annotations

from pathlib import Path

import pytest

import false_alarms


@pytest.mark.parametrize(("factor", "cells"), [(1.0, 4), (1.5, 2)])
def test_a_run_of_each_factor_has_a_verdict_for_each_cell(
    tmp_path: Path, factor: float, cells: int
) -> None:
    """What the verdict is depends on the load of the machine, and is left to the script."""
    false_alarms.make_tokenizer(tmp_path)
    sides = false_alarms.prepare(tmp_path, "one_process", factor)
    found = false_alarms.gate(tmp_path, sides, 0)
    assert [verdict["ratio"]["estimate"] > 0 for verdict in found["verdicts"]] == [True] * cells
