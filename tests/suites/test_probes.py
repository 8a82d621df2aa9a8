"""Probes say where tokens cut."""

from __future__ import annotations

import numpy as np

from byte_tokenizer import Ask
from tokbench.bench.count.loose_texts import batch_of
from tokbench.suites.probes.code import _levels, covered, part_cuts
from tokbench.suites.probes.pieces import cut
from tokbench.suites.probes.suite import _numbers
from tokbench.suites.probes.texts import numbers


def test_bytes_cut_a_number_at_every_digit(ask: Ask) -> None:
    (one,) = cut(ask(), ["2024"])
    assert (one.tokens, one.places, one.pieces) == (4, (1, 2, 3), ("2", "0", "2", "4"))


def test_numbers_are_consistent_when_cut_alike(ask: Ask) -> None:
    found = [m for m in _numbers(ask(), seed=0) if getattr(m, "metric", None)]
    values = {(m.metric.name, m.params["digits"]): m.value for m in found}
    assert values["number_tokens", 12] == 12
    assert values["number_consistency", 12] == 1
    assert values["number_right_alignment", 12] == 0


def test_numbers_are_drawn_from_the_seed() -> None:
    assert numbers(1, 7) == numbers(1, 7)
    assert numbers(1, 7) != numbers(2, 7)


def test_identifiers_have_parts() -> None:
    assert part_cuts("parseJSONFile") == {5, 9}
    assert part_cuts("max_line_len") == {3, 4, 8, 9}
    assert part_cuts("utf8") == {3}


def test_levels_of_indentation_are_tabs_or_the_smallest_run_of_spaces() -> None:
    assert _levels([b"  ", b"    "]) == 3
    assert _levels([b"\t", b"\t\t"]) == 3


def test_white_space_before_a_span_may_belong_to_its_token() -> None:
    batch = batch_of(["a = b.c"])
    spans = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    tokens = np.array([[0, 1], [1, 3], [3, 5], [5, 7]])  # "a", " =", " b", ".c"
    assert covered(spans, tokens, batch).tolist() == [True, True, True, False]
