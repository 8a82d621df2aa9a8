"""Untrusted text made safe for each output format; formatting of tables, numbers and plurals.

`escape` is for Markdown, `one_line` and `terminal` for a screen and a CI log, `html`, `svg`, `xml`,
`csv_cell`, `latex` and `strict_json` for what their names say. All spell out what cannot be seen:
control, format (bidi, zero-width), private and unassigned characters become ``\\u{200B}``.
"""

from __future__ import annotations

import difflib
import html as html_library
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

# Two stand-ins of control characters, which are spelled out before these are set.
_CUT, _UNDERSCORE = "\0", "\1"
_ENTITIES = str.maketrans(
    {c: f"&#{ord(c)};" for c in "|\\`*[]~$"}
    # A renderer decodes entities before it looks for links and mentions, so that only something
    # between the characters keeps them apart: a space of no width.
    | {"&": "&amp;", "<": "&lt;", ">": "&gt;", _CUT: "&#8203;", _UNDERSCORE: "&#95;"}
)
_LINKS = re.compile(
    r"""
    /(?=/)                              # http:// and, for some renderers, // alone
    | @                                 # mentions and addresses
    | \#(?=\d|$) | \bgh-(?=\d|$)        # references to issues
    | :(?=[\w+-]+:)                     # :smile:
    | \bwww(?=\.)
    | (?<=[^\s.])\.(?=(?:[a-z]{2}|aero|asia|biz|com|coop|edu|gov|info|museum|name|net|org|pro|shop
        |web|xxx|рф|xn--[\w-]+)(?!\w))  # evil.com
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HASH = re.compile(
    r"(?<![0-9A-Za-z])(?!(?<=\d\.)\d+(?![0-9A-Za-z]))[0-9A-Fa-f]{7,40}(?![0-9A-Za-z])"
)
"""What a forge reads as a commit: 7 digits or more, so it is cut into parts of 6."""
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK = re.compile(r" {0,3}(?:#(?=#{0,5}(?: |$))|[-+=](?= |[-+=_ ]*$)|\d{1,9}[.)](?= |$))")
"""What would make a heading, list or rule of a line; its last character is written as an entity."""
_BEFORE_BLOCK = re.compile(r" {4,}")


@lru_cache(maxsize=4096)  # the names of languages stand in every table
def escape(text: str) -> str:
    """Return text for a Markdown cell or paragraph: shown as it is, never read as markup.

    Links, mentions, references and hashes are cut by a space of no width, which GitHub, GitLab
    and every CommonMark renderer show as nothing.

    >>> escape("a|b `c` <i>"), escape("007"), escape("cl100k_base"), escape("x\\u200by")
    ('a&#124;b &#96;c&#96; &lt;i&gt;', '007', 'cl100k_base', 'x&#92;u{200B}y')
    >>> escape("http://a.example"), escape("@user"), escape("see #12")
    ('http:/&#8203;/a.example', '@&#8203;user', 'see #&#8203;12')
    """
    text = (
        _BEFORE_BLOCK.sub(" ", one_line(text), count=1)
        if text.startswith("    ")
        else one_line(text)
    )
    block = _BLOCK.match(text)
    start, mark = (text[: block.end() - 1], text[block.end() - 1]) if block else ("", "")
    rest = _LINKS.sub(rf"\g<0>{_CUT}", text[len(start) + len(mark) :])
    rest = _HASH.sub(lambda m: _CUT.join(re.findall(".{1,6}", m[0])), rest)
    shown = _EMPHASIS.sub(_UNDERSCORE, rest).translate(_ENTITIES)
    return f"{start}&#{ord(mark)};{shown}" if mark else shown


def one_line(text: str) -> str:
    r"""Return text as one line that any screen shows in order: what cannot be seen is spelled out.

    >>> print(one_line("a\n::error::b\x1b[31m"))
    a\u{A}::error::b\u{1B}[31m
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spell(c) if unicodedata.category(c) in _HIDDEN else c for c in text)


_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#[\w-]*\[)")


def terminal(text: str) -> str:
    r"""Return lines for a screen or a CI log: no escape codes, no commands to a CI runner.

    Line feeds and tabs stay. A runner of GitHub takes ``::`` at the start of a line, and ``##[``
    anywhere, for a command; so do others with ``##vso[`` and ``##teamcity[``.

    >>> print(terminal("one\n::error::two ##[group]"))
    one
    \u{3A}:error::two \u{23}#[group]
    """
    return "\n".join(
        _COMMAND.sub(_spell_command, "\t".join(map(one_line, line.split("\t"))))
        for line in text.split("\n")
    )


def _spell_command(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{_spell(found[0][-1])}"


def html(text: str) -> str:
    """Return text for HTML, between tags or in a quoted attribute.

    >>> html('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html_library.escape(one_line(text), quote=True)


def xml(text: str) -> str:
    """Return text for XML 1.0, between tags or in a quoted attribute; SVG is XML.

    Writers such as ElementTree escape by themselves and need only `one_line`.
    """
    return html(text)


def csv_cell(text: str) -> str:
    r"""Return text for a CSV cell that no spreadsheet reads as a formula; quoting is the writer's.

    >>> csv_cell("=1+1"), csv_cell("-5.5"), csv_cell("a,b")
    ("'=1+1", '-5.5', 'a,b')
    """
    line = one_line(text)
    begins = line.lstrip()[:1]
    return f"'{line}" if begins and begins in "=+-@＝＋－＠|%" and not _is_number(line) else line


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?( ?%)?", text.strip(), re.I) is not None


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "'": r"\textquotesingle{}",
        '"': r"\textquotedbl{}",
        "[": "{[}",  # an optional argument of the \\ or \item before it
        "]": "{]}",
        "-": "-{}",  # two of them would be a dash
    }
)


def latex(text: str) -> str:
    r"""Return text for LaTeX: no command, no math, no ligature of hyphens.

    >>> print(latex("50 % of a_b \\input{x}"))
    50 \% of a\_b \textbackslash{}input\{x\}
    """
    return one_line(text).translate(_LATEX)


def strict_json(
    value: Any, *, ascii_only: bool = False, indent: int | None = 1, sort_keys: bool = False
) -> str:
    r"""Return JSON that every parser reads: no NaN, no half of a surrogate pair.

    >>> print(strict_json({"a": "\udc80 ##[x]"}, indent=None))
    {"a": "\\u{DC80} #\u0023[x]"}
    """
    whole = _whole(value)
    if indent is not None and not ascii_only and not sort_keys:
        from pydantic_core import to_json  # the encoder of `json` is Python's where it indents

        text = to_json(whole, indent=indent).decode()
    else:
        text = json.dumps(
            whole, indent=indent, ensure_ascii=ascii_only, allow_nan=False, sort_keys=sort_keys
        )
    return text.replace("##", "#\\u0023")  # it stands in strings only


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return (
            value if value.isascii() else re.sub("[\ud800-\udfff]", lambda m: _spell(m[0]), value)
        )
    if isinstance(value, Mapping):
        return {_key(key): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"Out of range float values are not JSON compliant: {value}")
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} is not a type of JSON")
    return value


def _key(key: Any) -> str:
    return str(_whole(key)) if isinstance(key, str) else json.dumps(key, allow_nan=False)


def visible(text: str) -> str:
    r"""Write every character so that it can be seen: spaces, control and format characters.

    Other text stays; a backslash is doubled, to distinguish escapes from text.

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
    """Write a share in per cent; only zero is 0 %, and only one is 100 %.

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


def signed_percent(share: float) -> str:
    """Write a relative change; what is not zero is never shown as zero.

    >>> signed_percent(0.005), signed_percent(-0.25), signed_percent(1e-9)
    ('+0.5 %', '−25.0 %', '+0.0000001 %')
    """
    per_cent = abs(share) * 100
    digits = f"{per_cent:.1f}" if per_cent >= 0.05 or not share else f"{per_cent:.1g}"
    if "e" in digits:
        digits = f"{per_cent:.12f}".rstrip("0")
    return f"{'−' if share < 0 else '+'}{digits} %"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest known word, or an empty text.

    >>> did_you_mean("pyhton", ["python", "ruby"])
    "; did you mean 'python'?"
    >>> did_you_mean("basic", ["python", "ruby"])
    ''
    """
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the end of an error message about an unknown name: a suggestion, or the known names.

    >>> suggest("langages", ["languages", "limit"])
    "; did you mean 'languages'?"
    >>> suggest("x", ["languages", "limit"])
    '; there are: languages, limit'
    """
    known = sorted(known)
    close = did_you_mean(word, known)
    return close or (f"; there are: {', '.join(known)}" if known else "")


def plural(n: int, one: str, many: str | None = None) -> str:
    """Write a count with its noun.

    >>> plural(1, "text"), plural(1200, "entry", "entries")
    ('1 text', '1,200 entries')
    """
    return f"{n:,} {word_for(n, one, many)}"


def word_for(n: int, one: str, many: str | None = None) -> str:
    """Return the word that goes with a count: a noun, or the verb after it.

    >>> word_for(1, "is", "are"), word_for(2, "is", "are"), word_for(3, "language")
    ('is', 'are', 'languages')
    """
    return one if n == 1 else many or f"{one}s"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Join names as prose does; of more than one above `most`, only the first.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcd"), most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if most is not None and len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()
) -> str:
    """Return an aligned plain-text table; one row stays one line.

    >>> print(table(["name", "n"], [["a", "1"], ["bc", "10"]], right=[1]))
    name   n
    a      1
    bc    10
    """
    rows = [[one_line(cell) for cell in row] for row in (header, *rows)]
    aligned = set(right)
    widths = [max(cell_width(row[c]) for row in rows) for c in range(len(header))]
    lines = []
    for row in rows:
        cells = []
        for c, cell in enumerate(row):
            fill = " " * (widths[c] - cell_width(cell))
            cells.append(fill + cell if c in aligned else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def cell_width(text: str) -> int:
    """Return the columns that a text takes on a terminal; 東 takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
