"""Text made safe for a Markdown table: one row stays one row, whatever a token contains."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

_MARKDOWN = set("\\`*_{}[]()#+-.!|<>&~^$:@")
_SAFE_IN_WORDS = set("-.:()+")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def escape(text: str) -> str:
    """Return text for a table cell or a paragraph: shown as it is, never read as markup.

    Control, format (bidi, zero-width) and unassigned characters, and spaces other than single
    inner ones, are written as ``U+XXXX`` escapes.

    >>> escape("a|b"), escape("line\\nbreak"), escape("<b>"), escape("007")
    ('a&#124;b', 'line\\\\\\\\u{A}break', '&lt;b&gt;', '007')
    """
    return "".join(_escape_character(c) for c in visible(text))


def visible(text: str) -> str:
    r"""Write what cannot be seen as an escape; other characters stay.

    >>> visible("a\u200bb"), visible(" the"), visible("\x00")
    ('a\\u{200B}b', '␣the', '\\u{0}')
    """
    return "".join(_visible_character(c) for c in text)


def _visible_character(c: str) -> str:
    if c == " ":
        return "␣"
    if c == "\\":
        return "\\\\"
    category = unicodedata.category(c)
    if category in _HIDDEN or category == "Zs":
        return f"\\u{{{ord(c):X}}}"
    if category[0] == "M":
        return f"◌{c}" if unicodedata.combining(c) else c
    return c


def _escape_character(c: str) -> str:
    if c in "&<>|`\"'":
        return f"&{ {'&': 'amp', '<': 'lt', '>': 'gt'}.get(c) or f'#{ord(c)}' };"
    if c in _MARKDOWN and c not in _SAFE_IN_WORDS:
        return f"\\{c}"
    return c


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return a Markdown table of cells that are already escaped; all but the first columns right.

    >>> print(table(["name", "n"], [["a", "1"]]))
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
