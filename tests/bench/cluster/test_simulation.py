"""The pool loses no part and counts none twice, however many workers are lost."""

from __future__ import annotations

import pytest

from simulation import simulate


@pytest.mark.long
def test_a_hundred_workers_of_which_many_are_lost_give_every_part_once() -> None:
    cluster = simulate(workers=100, parts=3000, lost=0.05, seconds=0.01)
    assert len(cluster.stored) == 3000
    assert 50 < cluster.losses < 300
    assert 0 < cluster.doubled < cluster.losses
