"""Reading the Markdown pages of the repository: fenced blocks, sections, tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])


def text_of(name: str) -> str:
    """Return a page by its path in the repository."""
    return (REPOSITORY / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    """Return the fenced blocks of one language."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return pattern.findall(text_of(name))


def sections(name: str) -> dict[str, str]:
    """Return the text below each heading, up to the next one of any level."""
    parts = re.split(r"^#+ (.+)\n", text_of(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def table(text: str) -> list[list[str]]:
    """Return the rows of the first table in a text, without its header; backticks are taken off."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("| :--")), None)
    rows = [] if start is None else list(_rows(lines[start + 1 :]))
    return [[cell.strip().strip("`") for cell in row] for row in rows]


def _rows(lines: list[str]) -> Iterator[list[str]]:
    for line in lines:
        if not line.startswith("|"):
            return
        yield line.strip("|").split(" | ")


def names_in(heading: str) -> list[str]:
    """Return the names in backticks of a heading.

    >>> names_in("`a`, `b` and c")
    ['a', 'b']
    """
    return re.findall(r"`([^`]+)`", heading)
