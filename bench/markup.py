"""Text made safe for a Markdown table: one row stays one row, whatever a token contains."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "\\": "&#92;"})
_MARKS = re.compile(
    r"[`*\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=[\w+-]+:)|@(?=\w)|^[#+-](?= )"
)


def escape(text: str) -> str:
    """Return text for a Markdown cell or paragraph: shown as it is, never read as markup.

    Control, format (bidi, zero-width), private and unassigned characters are spelled out.

    >>> escape("a|b `c` <i>"), escape("007"), escape("cl100k_base"), escape("x\\u200by")
    ('a&#124;b &#96;c&#96; &lt;i&gt;', '007', 'cl100k_base', 'x&#92;u{200B}y')
    """
    spelled = "".join(_spell(c) if unicodedata.category(c) in _HIDDEN else c for c in text)
    return _MARKS.sub(lambda m: f"&#{ord(m[0])};", spelled.translate(_ENTITIES))


def visible(text: str) -> str:
    r"""Write every character so that it can be seen: spaces, control and format characters.

    Other text stays; a backslash is doubled, so that what is spelled out is told from text.

    >>> print(visible(" the"), visible("a\u200bb"), visible("\x00"), visible("\\n"))
    ␣the a\u{200B}b \u{0} \\n
    """
    shown: list[str] = []
    alone = True  # whether a mark would have nothing to stand on
    for c in text:
        is_mark = unicodedata.category(c)[0] == "M"
        written = _visible_character(c)
        shown.append(f"◌{written}" if alone and is_mark else written)
        alone = written != c
    return "".join(shown)


def _visible_character(c: str) -> str:
    if c == " ":
        return "␣"
    if c == "\\":
        return "\\\\"
    category = unicodedata.category(c)
    if category in _HIDDEN or category == "Zs" or c in "␣◌":  # what stands for something else here
        return _spell(c)
    return c


def _spell(c: str) -> str:
    return f"\\u{{{ord(c):X}}}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table of cells that are already escaped; all but the first columns right.

    >>> print(markdown_table(["name", "n"], [["a", "1"]]))
    | name | n |
    | :--- | ---: |
    | a | 1 |
    """
    marks = [":---" if i < left else "---:" for i in range(len(header))]
    lines = [header, marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float | None, digits: int = 2) -> str:
    """Write a number, or a dash where there is none.

    >>> number(1234.5), number(None)
    ('1,234.50', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"


def count(value: int | float | None) -> str:
    """Write a whole number.

    >>> count(200019)
    '200,019'
    """
    return "–" if value is None else f"{round(value):,}"


def percent(value: float | None, digits: int = 1) -> str:
    """Write a share in per cent; what is not zero is never shown as zero, nor what is not all as all.

    >>> percent(0.5), percent(0.0), percent(1.0), percent(0.00001), percent(0.99999)
    ('50.0 %', '0 %', '100 %', '< 0.1 %', '> 99.9 %')
    """
    if value is None:
        return "–"
    if value in (0, 1):
        return f"{value:.0%}".replace("%", " %")
    smallest = 10**-digits
    if 0 < value * 100 < smallest:
        return f"< {smallest:.{digits}f} %"
    if 100 - smallest < value * 100 < 100:
        return f"> {100 - smallest:.{digits}f} %"
    return f"{value * 100:.{digits}f} %"


def plural(n: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun.

    >>> plural(1, "text"), plural(1200, "entry", "entries")
    ('1 text', '1,200 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> str:
    """Return an aligned plain-text table.

    >>> print(table(["name", "n"], [["a", "1"], ["bc", "10"]], right=[1]))
    name   n
    a      1
    bc    10
    """
    rows = [list(header), *(list(row) for row in rows)]
    aligned = set(right)
    widths = [max(_width(row[c]) for row in rows) for c in range(len(header))]
    lines = []
    for row in rows:
        cells = []
        for c, cell in enumerate(row):
            fill = " " * (widths[c] - _width(cell))
            cells.append(fill + cell if c in aligned else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
