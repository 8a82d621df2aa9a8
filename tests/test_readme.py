"""The README shows what `tokbench run quick` prints."""

from __future__ import annotations

import re

from pages import blocks

FIGURE = r"(≈ )?[\d,]+(\.\d+)?( \?)?"
FLOOR = r"(against itself: )\d\.\d{3}"


def without_speed(summary: str) -> list[list[str]]:
    """Return the cells of each line, figures of speed replaced where they look like one."""
    lines: list[list[str]] = []
    timed = -1
    for line in summary.strip().splitlines():
        cells = re.split(r"\s{2,}", re.sub(FLOOR, r"\1floor", line))
        if 0 <= timed < len(cells) and re.fullmatch(FIGURE, cells[timed]):
            cells[timed] = "ratio"
        if cells[0] == "tokenizer":
            timed = cells.index("speed")
        lines.append(cells)
    return lines


def test_the_output_of_quick_is_the_real_one(quick_summary: str) -> None:
    (shown,) = [block for block in blocks("README.md", "text") if "× best" in block]
    assert without_speed(shown) == without_speed(quick_summary), "run `make readme`"


def test_speed_is_compared_by_shape_only() -> None:
    table = "tokenizer  tokens  speed\na              12  {}"
    assert without_speed(table.format("3.90")) == without_speed(table.format("≈ 1,003.11"))
    assert without_speed(table.format("3.9")) != without_speed(table.format("nan"))
