"""SVG, element by element: escaped, with numbers short enough to read and equal on every machine.

Charts are drawn by the functions of `tokbench.reports.charts`; here is only what they write with.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from markupsafe import Markup, escape


def element(name: str, *children: str, **attributes: object) -> Markup:
    """Return an element; text is escaped, `Markup` is taken as it is, None leaves an attribute out.

    An underscore in a name stands for a hyphen, one at its end is dropped.

    >>> print(element("text", "a < b", x=1.250001, text_anchor="end", class_="label"))
    <text x="1.25" text-anchor="end" class="label">a &lt; b</text>
    """
    # f-strings over escaped parts: a page has thousands of elements, and `Markup.format` is slow
    written = "".join(
        f' {_attribute(key)}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(map(escape, children))
    return Markup(f"<{name}{written}>{inner}</{name}>")


@cache
def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def group(children: Iterable[str], **attributes: object) -> Markup:
    """Return a `g` element of many."""
    return element("g", *children, **attributes)


def text(x: float, y: float, content: str, **attributes: object) -> Markup:
    """Return a text at a place."""
    return element("text", content, x=x, y=y, **attributes)


def drawing(children: Iterable[str], *, width: float, height: float, label: str) -> Markup:
    """Return an `svg` element with a name that screen readers say."""
    return element(
        "svg",
        element("title", label),
        *children,
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        width=width,
        height=height,
        role="img",
    )


def file(children: Iterable[str], *, width: float, height: float, label: str, style: str) -> str:
    """Return a drawing as a file of its own, with its style sheet inside."""
    inside = [element("style", Markup(style)), *children]
    drawn = drawing(inside, width=width, height=height, label=label)
    return str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _text(value: object) -> str:
    """Write a number with at most two digits behind the point.

    >>> _text(3.0), _text(2 / 3), _text("x"), _text(-0.0001)
    ('3', '0.67', 'x', '0')
    """
    if isinstance(value, float):
        short = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if short == "-0" else short
    return str(value)
