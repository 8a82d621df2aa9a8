"""The README shows what `tokbench run quick` prints."""

from __future__ import annotations

import re

from pages import blocks

TIMED = "encode × cl100k_base"
FIGURE = r"(≈ )?[\d,]+(\.\d+)?"
FLOOR = r"(itself came to )\d\.\d{3},"


def without_speed(summary: str) -> list[list[str]]:
    """Return the cells of each line, figures of speed replaced where they look like one."""
    lines, timed = [], False
    for line in summary.strip().splitlines():
        cells = re.split(r"\s{2,}", re.sub(FLOOR, r"\1floor,", line))
        if timed and len(cells) > 1 and re.fullmatch(FIGURE, cells[-1]):
            cells[-1] = "ratio"
        timed = cells[-1] == TIMED or (timed and bool(line))
        lines.append(cells)
    return lines


def test_the_output_of_quick_is_the_real_one(quick_summary: str) -> None:
    (shown,) = [block for block in blocks("README.md", "text") if TIMED in block]
    assert without_speed(shown) == without_speed(quick_summary), "run `make readme`"


def test_speed_is_compared_by_shape_only() -> None:
    table = f"tokenizer  tokens  {TIMED}\na              12      {{}}"
    assert without_speed(table.format("3.90")) == without_speed(table.format("≈ 1,003.11"))
    assert without_speed(table.format("3.9")) != without_speed(table.format("nan"))
