"""A page of sentences and tables that works offline: the shell of all pages but that of a run.

The Content-Security-Policy lets exactly this style and this script in, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts; columns from `left` on are figures."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    title: str = ""
    note: str = ""


class Token(NamedTuple):
    """A token as a reader sees it, what a pointer on it tells, and whether all sides cut it."""

    text: str
    about: str
    shared: bool


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """One text as several sides cut it, folded below its title."""

    title: str
    sides: Sequence[tuple[str, Sequence[Token]]]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with sentences, tables and texts below it."""

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    cuts: Sequence[Cuts] = ()


def document(title: str, answer: Sequence[str], sections: Sequence[Section]) -> str:
    """Return a page that opens with its answer.

    >>> "&lt;b&gt;" in document("<b>", ["said"], [])
    True
    """
    style, script = inline_file("page.css"), inline_file("tables.js")
    text: str = template("document.html.j2").render(
        title=title,
        answer=answer,
        sections=sections,
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(source_hash(style)),
        script_hash=Markup(source_hash(script)),
    )
    return text


@cache
def inline_file(name: str, package: str = "tokbench.reports.page") -> str:
    """Return a style or script that is written into pages."""
    return (files(package) / name).read_text(encoding="utf-8")


@cache
def template(name: str, package: str = "tokbench.reports.page") -> Any:
    """Return a template whose values are escaped."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        optimized=False,  # a template is used once: folding its constants costs more than it saves
    )
    return environment.from_string(inline_file(name, package))


def source_hash(text: str) -> str:
    """Return the source expression of an inline style or script.

    >>> source_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
