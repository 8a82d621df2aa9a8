"""The history `site`: `index.html`, `leaderboard.html`, and `runs/NAME.html` for each run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from tokbench.bench.markup import count, number, percent, plural
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.page.document import inline_file, source_hash, template
from tokbench.reports.page.shell import page
from tokbench.reports.site.rows import ALL, BoardRow, board_rows
from tokbench.reports.view import View

_HERE = "tokbench.reports.site"


class Site(HistoryPlugin):
    """A static site that works from a folder and from any host: every page is one file."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return the pages by their paths; metrics are always those of the leaderboard."""
        views = dict(zip(page_names(runs), map(View, runs), strict=True))
        rows = board_rows(views.items())
        pages = {f"runs/{name}.html": page(view) for name, view in views.items()}
        return {
            "index.html": _index(views, rows),
            "leaderboard.html": _leaderboard(views, rows),
            **pages,
        }


def page_names(runs: Sequence[Results]) -> list[str]:
    """Return a file name for each run, without its ending; runs of one name are numbered."""
    found: list[str] = []
    for run in runs:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", run.name).strip(".-") or "run"
        names = (plain if n == 1 else f"{plain}.{n}" for n in range(1, len(runs) + 1))
        found.append(next(name for name in names if name.lower() not in map(str.lower, found)))
    return found


def _filled(name: str, script: str, **values: Any) -> str:
    style = inline_file("page.css")
    text: str = template(name, _HERE).render(
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(source_hash(style)),
        script_hash=Markup(source_hash(script)),
        **values,
    )
    return text


def _index(views: Mapping[str, View], rows: Sequence[BoardRow]) -> str:
    lines = [_run_line(name, view) for name, view in views.items()]
    different = {row.fingerprint for row in rows}
    sentence = f"{plural(len(views), 'run')}, {plural(len(different), 'different tokenizer')}."
    return _filled("index.html.j2", inline_file("tables.js"), sentence=sentence, lines=lines)


def _run_line(name: str, view: View) -> dict[str, Any]:
    corpora = ", ".join(
        f"{corpus} ({plural(len(view.languages(corpus)), 'language')})"
        for corpus in view.ordered_corpora
    )
    return {
        "href": f"runs/{name}.html",
        "name": view.results.name,
        "about": view.run["config"].get("description") or "–",
        "corpora": corpora or "none",
        "started": str(view.results.environment.get("started", "–"))[:10],
        "tokenizers": count(len(view.tokenizers)),
        "problems": count(len(view.results.problems)),
        "digest": view.run["digest"][:12],
    }


HEADER = (
    "tokenizer",
    "corpus",
    "language",
    "text",
    "runs",
    "place",
    "bytes per token",
    "premium",
    "tokens",
    "entries",
    "exact round trips",
    "bytes lost",
)
LEFT = 5
"""Columns from here on are figures."""


def _leaderboard(views: Mapping[str, View], rows: Sequence[BoardRow]) -> str:
    names = {name: view.results.name for name, view in views.items()}
    corpora = list(dict.fromkeys(row.corpus for row in rows))
    languages = sorted({row.language for row in rows}, key=lambda name: (name != ALL, name))
    filters = {"corpus": corpora, "language": languages, "run": list(names.values())}
    places = {key: {name: n for n, name in enumerate(found)} for key, found in filters.items()}
    runs = {name: n for n, name in enumerate(names)}
    lines = [
        {
            "corpus": places["corpus"][row.corpus],
            "language": places["language"][row.language],
            "run": " ".join(str(runs[name]) for name in row.runs),
            "tokenizer": row.tokenizer,
            "cells": _cells(row, names),
        }
        for row in rows
    ]
    script = inline_file("tables.js") + inline_file("leaderboard.js", _HERE)
    return _filled(
        "leaderboard.html.j2", script, lines=lines, filters=filters, header=HEADER, left=LEFT
    )


def _cells(row: BoardRow, names: Mapping[str, str]) -> list[str]:
    return [
        row.tokenizer,
        row.corpus,
        row.language,
        row.text[:8],
        ", ".join(names[run] for run in row.runs),
        "not ranked" if row.place is None else count(row.place),
        number(row.bytes_per_token, 3),
        number(row.premium, 3),
        count(row.tokens),
        count(row.entries),
        percent(row.exact),
        percent(row.lost),
    ]
