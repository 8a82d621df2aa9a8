"""The pictures beside `report.md`: SVG files in `figures/`, each with its style inside."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from tokbench.bench.markup import escape, number
from tokbench.reports import charts, svg
from tokbench.reports.marks import mark_of
from tokbench.reports.mix import order
from tokbench.reports.page.figures import HEAT_STYLE, by_script
from tokbench.reports.view import View

MOST_DOTTED = 4
"""Tokenizers in a chart of premiums: more would overlap."""

COLORS = ("#1b6ca8", "#c2410c", "#2e7d32", "#7b1fa2")
SHAPES = "svg{background:#fff}text{font:11px system-ui,sans-serif;fill:#1c2733}"
DOT_STYLE = f"{SHAPES}.grid{{stroke:#dde3e8}}.mark path{{stroke-width:2;fill:none}}" + "".join(
    f".t{i}{{fill:{color}}}.t{i} path{{stroke:{color}}}" for i, color in enumerate(COLORS)
)


class Picture(NamedTuple):
    """A file, and a sentence for readers who do not see it."""

    path: str
    alt: str
    content: str


def pictures(view: View) -> Iterator[Picture]:
    """Yield the pictures of all corpora."""
    for corpus in view.ordered_corpora:
        yield from _of_corpus(view, corpus)


def images(view: View, corpus: str) -> Iterator[str]:
    """Yield the lines of Markdown that show the pictures of a corpus."""
    for picture in _of_corpus(view, corpus):
        yield f"![{escape(picture.alt)}]({quote(picture.path)})"


@lru_cache(maxsize=16)
def _of_corpus(view: View, corpus: str) -> tuple[Picture, ...]:
    """Return the pictures of a corpus, which are files, and lines of the report too."""
    return tuple(_drawn(view, corpus))


def _drawn(view: View, corpus: str) -> Iterator[Picture]:
    names = [name for name in order(view) if (name, corpus) in view.measured]
    if any(list(view.values("bytes_per_token", name, corpus)) for name in names):
        alt = f"Bytes per token on {corpus}, by language and tokenizer; dark is best in its row"
        yield Picture(f"figures/{corpus}-bytes_per_token.svg", alt, _heat(view, corpus, names, alt))
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    dotted = [name for name in names if list(view.values(metric, name, corpus))][:MOST_DOTTED]
    if view.pivot(corpus) and dotted and len(view.languages(corpus)) > 1:
        alt = f"Premium on {corpus} by language, with 95 % intervals; 1 is parity"
        chart = _premiums(view, corpus, dotted, metric, alt)
        yield Picture(f"figures/{corpus}-premium.svg", alt, chart)


def _heat(view: View, corpus: str, names: list[str], title: str) -> str:
    rows = []
    for language in by_script(view, corpus):
        values = [view.value("bytes_per_token", name, corpus, language) for name in names]
        known = [value for value in values if value is not None]
        low, high = min(known, default=0.0), max(known, default=0.0)
        marks = [mark_of(view.row("bytes_per_token", n, corpus, language)) for n in names]
        shown = [f"{number(v)}{mark}" for v, mark in zip(values, marks, strict=True)]
        rows.append(
            (language, [(s, _depth(v, low, high)) for s, v in zip(shown, values, strict=True)])
        )
    return charts.heat_file(title, names, rows, f"svg{{background:#fff}}{HEAT_STYLE}")


def _depth(value: float | None, low: float, high: float) -> float | None:
    """Return how dark a cell is, from 0 (the lowest of its row) to 1.

    >>> _depth(3.0, 2.0, 4.0), _depth(2.0, 2.0, 2.0), _depth(None, 0.0, 1.0)
    (0.5, 1.0, None)
    """
    if value is None:
        return None
    return (value - low) / (high - low) if high > low else 1.0


def _premiums(view: View, corpus: str, names: list[str], metric: str, title: str) -> str:
    pivot = view.pivot(corpus)
    languages = [k for k in by_script(view, corpus) if k != pivot]
    values = {}
    for t, name in enumerate(names):
        for at, language in enumerate(languages):
            row = view.row(metric, name, corpus, language)
            if row is not None and row["value"] is not None:
                values[t, at] = charts.Whisker(row["value"], row["ci_low"], row["ci_high"])
    found = {at for _, at in values}
    lines = [(at, language) for at, language in enumerate(languages) if at in found]
    drawing = charts.dots(values, lines, label=title)
    parts = [svg.text(4, 16, title), *_legend(names)]
    parts.append(svg.group([drawing] if drawing else [Markup("")], transform="translate(0 44)"))
    height = 44 + 30 + charts.ROW * len(lines)
    return svg.file(parts, width=720, height=height, label=title, style=DOT_STYLE)


def _legend(names: list[str]) -> Iterator[Markup]:
    for t, name in enumerate(names):
        x = 8 + 178 * t
        circle = svg.element("circle", cx=x, cy=32, r=4)
        yield svg.group([circle, svg.text(x + 8, 36, name)], class_=f"mark t{t}")
