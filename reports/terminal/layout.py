"""Tables and sentences that fit a width: columns are dropped in an order, else rows are stacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokbench.bench.console import Painted
from tokbench.bench.markup import cell_width, one_line

GAP = 2
INDENT = "  "


class ScreenColumn(NamedTuple):
    """A column of a table; the highest `worth` is dropped first, 0 never."""

    title: str
    cells: Sequence[str]
    worth: int
    left: bool = False

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes."""
        return max(cell_width(text) for text in (self.title, *self.cells))


class Laid(NamedTuple):
    """A table that fits, and the titles that were dropped for it."""

    lines: list[list[Painted]]
    dropped: list[str]


def lay(columns: Sequence[ScreenColumn], styles: Sequence[str | None], width: int | None) -> Laid:
    """Return the lines of a table; None as width drops nothing.

    Columns go by their `worth`. Where those that stay are still too wide, each row becomes a name
    and, below it, all its figures.
    """
    columns = [_safe(column) for column in columns]
    kept = list(columns)
    while width is not None and _taken(kept) > width and any(column.worth for column in kept):
        kept.remove(max(kept, key=lambda column: column.worth))
    dropped = [column.title for column in columns if column not in kept]
    if width is not None and _taken(kept) > width:
        return Laid(list(_stacked(columns, styles, width)), [])
    rows = [
        [column.title for column in kept],
        *zip(*(column.cells for column in kept), strict=True),
    ]
    lines = [_line(kept, row) for row in rows]
    paints: list[str | None] = ["heading", *styles]
    return Laid([[(text, paint)] for text, paint in zip(lines, paints, strict=True)], dropped)


def _safe(column: ScreenColumn) -> ScreenColumn:
    return column._replace(cells=[one_line(cell) for cell in column.cells])


def _taken(columns: Sequence[ScreenColumn]) -> int:
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _line(columns: Sequence[ScreenColumn], row: Sequence[str]) -> str:
    cells = []
    for at, (column, cell) in enumerate(zip(columns, row, strict=True)):
        fill = " " * (column.width - cell_width(cell))
        cells.append(cell + fill if at == 0 or column.left else fill + cell)
    return (" " * GAP).join(cells).rstrip()


def _stacked(
    columns: Sequence[ScreenColumn], styles: Sequence[str | None], width: int
) -> Iterator[list[Painted]]:
    """Yield each row as its name and, indented, its figures with their titles."""
    first, *others = columns
    for at, name in enumerate(first.cells):
        for line in wrapped(name, width):
            yield [(line, styles[at])]
        figures = "  ".join(
            f"{column.title}\u00a0{column.cells[at]}".replace(" ", "\u00a0") for column in others
        )
        for line in wrapped(figures, width - len(INDENT)):
            yield [(INDENT + line, None)]


def wrapped(text: str, width: int | None) -> list[str]:
    """Return a sentence in lines that break between words; a word wider than a line is cut.

    >>> wrapped("one two three", 8), wrapped("abcdefghij k", 4), wrapped("東京 都", 4)
    (['one two', 'three'], ['abcd', 'efgh', 'ij k'], ['東京', '都'])
    """
    if width is None:
        return [text]
    lines = [""]
    for word in text.replace(" %", "\u00a0%").replace("× ", "×\u00a0").split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(joined) <= width:
            lines[-1] = joined
            continue
        pieces = _cut(word, width)
        lines += pieces if lines[-1] else []
        if not lines[-1]:
            lines[-1:] = pieces
    return [line.replace("\u00a0", " ") for line in lines]


def _cut(word: str, width: int) -> list[str]:
    """Cut a word into pieces that fit."""
    pieces = [""]
    for character in word:
        if cell_width(pieces[-1] + character) > width:
            pieces.append("")
        pieces[-1] += character
    return pieces
