"""The page around the data: one HTML file with its style and script inside, and nothing from afar.

The Content-Security-Policy lets exactly this style and this script in, by their hashes: text that
breaks out of its place could still not run. Jinja2 escapes all that comes from the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from tokbench.bench.config.yaml_text import as_yaml
from tokbench.bench.markup import count, number, percent, plural
from tokbench.reports.page.data import draws_of, payload, script_json
from tokbench.reports.page.document import inline_file, source_hash, template
from tokbench.reports.page.figures import figures
from tokbench.reports.page.texts import texts_of
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import TokenizerSummary, View, first_in, median_premium, summarize

SECTIONS = (
    ("answer", "Answer"),
    ("focus", "Focus"),
    ("tokenizers", "By tokenizer"),
    ("languages", "By language"),
    ("charts", "Charts"),
    ("explorer", "Tokens"),
    ("failed", "What failed"),
    ("reproduce", "Reproduce"),
    ("definitions", "Definitions"),
)


def page(view: View) -> str:
    """Return the page of a run."""
    style, script = (
        inline_file("page.css"),
        "".join(map(inline_file, ("page.js", "charts.js", "explorer.js"))) + "start();\n",
    )
    texts = texts_of(view)
    text: str = template("page.html.j2").render(
        name=view.run["name"],
        description=view.run["config"].get("description"),
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(source_hash(style)),
        script_hash=Markup(source_hash(script)),
        sections=SECTIONS,
        problems=list(_problems(view)),
        sentences=verdicts(view),
        corpora=view.ordered_corpora,
        tables=[_part(view, corpus) for corpus in view.ordered_corpora],
        texts=Markup(script_json(texts)) if texts else None,
        held=[one["about"] for one in texts],
        failed=list(_failed(view)),
        command=f"tokbench run {view.run['name']}.yaml",
        digest=view.run["digest"],
        config=as_yaml(view.run["config"]),
        versions=sorted(view.run["versions"].items()),
        tokenizers=[{"key": k, **view.run["tokenizers"][k]} for k in view.tokenizers],
        metrics=sorted(view.run["metrics"].items()),
        data=Markup(script_json(payload(view))),
        draws=Markup(script_json(draws_of(view))),
    )
    return text


def _part(view: View, corpus: str) -> dict[str, Any]:
    """Return the table and the charts of one corpus."""
    lines = summarize(view, corpus)
    header = list(_header(view, corpus))
    return {
        "corpus": corpus,
        "about": _about(view, corpus),
        "header": header,
        "rows": [_row(view, corpus, line, header) for line in lines],
        "notes": sorted({mark for line in lines if (mark := _mark(view, corpus, line))}),
        "figures": list(figures(view, corpus)),
    }


def _about(view: View, corpus: str) -> str:
    n = len(view.languages(corpus))
    pivot = view.pivot(corpus)
    parallel = f", parallel with pivot {pivot}" if pivot else ", not parallel"
    return f"{plural(n, 'language')}, {view.documents(corpus)} each{parallel}."


def _header(view: View, corpus: str) -> Iterator[dict[str, str | None]]:
    """Yield the columns: a key, a title, and the metric that defines it."""
    pivot = view.pivot(corpus)
    premium = "program_premium" if view.kind(corpus) == "code" else "premium"
    shown = pivot or view.languages(corpus)[0]
    columns: list[tuple[str, str, str | None]] = [
        ("tokenizer", "tokenizer", None),
        ("entries", "entries", None),
        ("tokens", "tokens", "tokens"),
        ("bytes_per_token", f"bytes/token, {shown}", "bytes_per_token"),
    ]
    if pivot:
        columns.append(("median_premium", "median premium", premium))
        columns.append(("highest_premium", "highest premium", premium))
    columns += [
        ("first_in", "first in", "rank"),
        ("exact", "exact", "round_trip"),
        ("lost", "lost", "lost_byte_share"),
    ]
    for key, title, metric in columns:
        known = metric if metric in view.run["metrics"] else None
        yield {"key": key, "title": title, "metric": known}


def _row(
    view: View, corpus: str, line: TokenizerSummary, header: list[dict[str, str | None]]
) -> dict[str, Any]:
    highest = line.highest_premium
    cells = {
        "tokenizer": line.tokenizer,
        "entries": count(line.n_entries),
        "tokens": count(line.tokens),
        "bytes_per_token": number(line.pivot_bytes_per_token),
        "median_premium": median_premium(line),
        "highest_premium": f"{highest[0]} {number(highest[1])}" if highest else "–",
        "first_in": first_in(line),
        "exact": percent(line.exact),
        "lost": percent(line.lost_share),
    }
    return {
        "t": view.tokenizers.index(line.tokenizer),
        "cells": [cells[str(column["key"])] for column in header],
        "mark": _mark(view, corpus, line),
    }


def _mark(view: View, corpus: str, line: TokenizerSummary) -> str | None:
    """Why a tokenizer is not to be taken for a winner on a corpus, None where it may be."""
    reasons = view.unranked.get((line.tokenizer, corpus), frozenset())
    if "trained_on_text" in reasons:
        return "trained on this very text"
    return "not ranked in every language: text is lost or documents failed" if reasons else None


def _problems(view: View) -> Iterator[str]:
    """Yield which tokenizers failed in some cells; those that failed in all are in the verdicts."""
    elsewhere = ("corpus_failed", None)
    failed = [
        cell
        for cell in view.run["cells"]
        if cell["status"] == "failed" and cell.get("reason") not in elsewhere
    ]
    for tokenizer in dict.fromkeys(cell["tokenizer"] for cell in failed):
        mine = [cell for cell in failed if cell["tokenizer"] == tokenizer]
        if tokenizer not in view.failed_tokenizers:
            total = _cells(view, tokenizer)
            yield f"{tokenizer} failed in {len(mine)} of {total} cells: {mine[0]['detail']}"


def _cells(view: View, tokenizer: str) -> int:
    return sum(cell["tokenizer"] == tokenizer for cell in view.run["cells"])


def _failed(view: View) -> Iterator[str]:
    """Yield every cell without a complete count, and every refusal, once."""
    seen: dict[str, int] = {}
    for cell in view.run["cells"]:
        if cell["status"] != "ok":
            line = f"{cell['tokenizer']} on {cell['corpus']}: {cell['status']}: {cell['detail']}"
            seen[line] = seen.get(line, 0) + 1
    for finding in view.findings:
        of_a_cell = finding["suite"] == "run" and finding["kind"] == "failure"
        if finding["kind"] in ("refusal", "warning", "failure") and not of_a_cell:
            where = " ".join(filter(None, (finding["tokenizer"], finding["corpus"])))
            line = f"{where}: {finding['message']}" if where else finding["message"]
            seen[line] = seen.get(line, 0) + 1
    for line, n in seen.items():
        yield line if n == 1 else f"{line} ({n} times)"
