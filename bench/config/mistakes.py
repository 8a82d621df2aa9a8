"""Mistakes in a config: their places and how they are shown.

All mistakes are collected and raised together, sorted by their place. Each is one line,
``file:line:column: key: text``; for people the line of the file follows, with a mark below it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from tokbench.bench.errors import ConfigError
from tokbench.bench.markup import one_line
from tokbench.bench.privacy import without_secrets

LONGEST_LINE = 100
"""Characters of a source line that are shown; the rest of a longer one is cut."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of one line of a config; line and column count from 0."""

    line: int
    column: int
    width: int = 1


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake."""

    path: str
    span: Span
    key: str
    """Dotted path of the key; empty for the config as a whole."""
    text: str
    source: str | None
    """The line of the file; None for a config that is not a file."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.span.line + 1}:{self.span.column + 1}"
        if self.source is None:
            place = self.path
        return one_line(
            f"{place}: {self.key}: {self.text}" if self.key else f"{place}: {self.text}"
        )

    def shown(self) -> str:
        """Return the mistake with its line of the file and a mark below what is meant.

        >>> span = Span(line=4, column=11, width=2)
        >>> wrong = Mistake(path="c.yaml", span=span, key="languages", text="write a list: [en]",
        ...                 source="languages: en")
        >>> print(wrong.shown())
        c.yaml:5:12: languages: write a list: [en]
          |
        5 | languages: en
          |            ^^
        """
        if self.source is None or not self.source.strip():
            return str(self)
        if without_secrets(self.source) != self.source:
            return str(self)  # a line that holds a password or the user's home is not quoted
        number = str(self.span.line + 1)
        start = max(0, self.span.column + self.span.width - LONGEST_LINE)
        line = self.source[start : start + LONGEST_LINE].expandtabs(1)
        column = self.span.column - start
        before = " " * _cells(line[:column])
        marked = max(1, _cells(line[column : column + self.span.width]))
        bar = " " * len(number) + " |"
        return f"{self}\n{bar}\n{number} | {line}\n{bar} {before}{'^' * marked}"


def _cells(text: str) -> int:
    """Return the columns that a text takes on a terminal.

    >>> _cells("ab"), _cells("東京")
    (2, 4)
    """
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def error(mistakes: Iterable[Mistake]) -> ConfigError:
    """Return the error that lists all mistakes, sorted by place, each once."""
    found = sorted(
        {str(one): one for one in mistakes}.values(),
        key=lambda one: (one.span.line, one.span.column),
    )
    shown = [one.shown() for one in found]
    if len(found) > 1:
        shown.append(f"{len(found)} mistakes in {found[0].path}")
    return ConfigError("\n".join(map(str, found)), shown="\n\n".join(shown))
