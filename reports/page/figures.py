"""The figures of a run: which numbers go into which chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from tokbench.bench.count.tally import LOSS_CAUSES
from tokbench.bench.markup import number, percent
from tokbench.reports import charts
from tokbench.reports.focus import counts_of
from tokbench.reports.sweep import points as sweep_points
from tokbench.reports.sweep import sweeps
from tokbench.reports.view import TokenizerSummary, View, summarize

BINS = 36
MOST_CELLS = 60
"""Bars of the chart of losses by language."""


class Figure(NamedTuple):
    """A drawing with its heading and what it shows."""

    id: str
    title: str
    about: str
    drawing: Markup


def figures(view: View, corpus: str) -> Iterator[Figure]:
    """Yield the charts of a corpus that have anything to show."""
    for figure in (
        _premiums(view, corpus),
        *_trade_offs(view, corpus),
        _sizes(view, corpus),
        _losses(view, corpus),
        _losses_by_language(view, corpus),
        _spread(view, corpus),
    ):
        if figure.drawing:
            yield figure


def by_script(view: View, corpus: str) -> list[str]:
    """Return the languages of a corpus, the pivot first, then by script."""
    metas, pivot = view.corpora[corpus], view.pivot(corpus)
    return sorted(metas, key=lambda k: (k != pivot, metas[k]["script"] or "", k))


def _premium_metric(view: View, corpus: str) -> str:
    return "program_premium" if view.kind(corpus) == "code" else "premium"


def _premiums(view: View, corpus: str) -> Figure:
    metric, places = _premium_metric(view, corpus), view.languages(corpus)
    order = [k for k in by_script(view, corpus) if k != view.pivot(corpus)]
    values = {}
    for t, name in enumerate(view.tokenizers):
        for language in order:
            row = view.row(metric, name, corpus, language)
            if row is not None and row["value"] is not None:
                mark = charts.Whisker(row["value"], row["ci_low"], row["ci_high"])
                values[t, places.index(language)] = mark
    lines = [(places.index(k), k) for k in order if any(at == places.index(k) for _, at in values)]
    return Figure(
        "premium",
        "Premium by language",
        "Tokens of a language ÷ tokens of the same text in the pivot language, with 95 % "
        "intervals. 1 is parity. Choose up to four tokenizers.",
        charts.dots(values, lines, label="premium by language"),
    )


def _trade_offs(view: View, corpus: str) -> Iterator[Figure]:
    """Yield compactness against what it costs: entries, time, inequality."""
    lines = [line for line in summarize(view, corpus) if line.tokens]
    fewest = min((line.tokens or 0 for line in _comparable(view, corpus, lines)), default=0)
    cost = {line.tokenizer: (line.tokens or 0) / fewest for line in lines}
    placed = {name for name in cost if not view.unranked.get((name, corpus))}
    about = (
        "Tokens in focus ÷ those of the best. Filled: no other is better in both. Dashed, "
        "with †: loses text or was trained on this text, so it is never among the best."
    )
    measures: tuple[tuple[str, str, Mapping[str, float], bool, bool], ...] = (
        ("entries", "Size of the vocabulary", _entries(view), False, True),
        ("speed", "Speed of encoding, MB/s", _speeds(view, corpus), True, True),
        ("gini", "Inequality between languages (Gini)", _ginis(view, corpus), False, False),
    )
    for key, title, found, larger, log in measures:
        names = [name for name in cost if name in found]
        if len(names) > 1:
            compared = [name for name in names if name in placed]
            best = charts.front([(found[n], cost[n]) for n in compared], larger_x=larger)
            on_front = {name for name, is_front in zip(compared, best, strict=True) if is_front}
            points = [
                charts.ChartPoint(
                    view.tokenizers.index(n), n, found[n], cost[n], n in on_front, n in placed
                )
                for n in names
            ]
            drawing = charts.scatter(points, x_name=title, y_name="tokens × best", log_x=log)
            yield Figure(
                f"trade-{key}", f"Tokens against {title[0].lower()}{title[1:]}", about, drawing
            )


def _comparable(
    view: View, corpus: str, lines: Sequence[TokenizerSummary]
) -> Sequence[TokenizerSummary]:
    """Return the tokenizers that are ranked in every language, all where none is."""
    return [one for one in lines if not view.unranked.get((one.tokenizer, corpus))] or lines


def _entries(view: View) -> dict[str, float]:
    return {name: view.run["tokenizers"][name]["n_entries"] for name in view.tokenizers}


def _ginis(view: View, corpus: str) -> dict[str, float]:
    found = {name: view.value("gini", name, corpus) for name in view.tokenizers}
    return {name: value for name, value in found.items() if value is not None}


def _speeds(view: View, corpus: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in view.tokenizers:
        for row in view.rows_at("encode_throughput", name, corpus):
            if row["value"] is not None and row["params"].get("call") == "batch":
                found.setdefault(name, row["value"])
    return found


def _sizes(view: View, corpus: str) -> Figure:
    """Bytes per token over vocabulary sizes: one line for each sweep of the config."""
    lines = []
    for name, keys in sweeps(view).items():
        line = [
            charts.CurvePoint(view.tokenizers.index(p["tokenizer"]), p["ids"], p["bytes_per_token"])
            for p in sweep_points(view, keys, corpus, ())
        ]
        if len(line) > 1:
            lines.append((name, line))
    return Figure(
        "sizes",
        "Bytes per token by vocabulary size",
        "One tokenizer trained in several sizes, over the languages in focus. Where the line "
        "flattens, further entries save little.",
        charts.curves(lines, x_name="ids", y_name="bytes/token") if lines else Markup(""),
    )


def _losses(view: View, corpus: str) -> Figure:
    """Bytes that do not come back, by class: one bar for each tokenizer above zero."""
    places = view.languages(corpus)
    lines = [
        charts.StackedLine(name, totals, t)
        for t, name in enumerate(view.tokenizers)
        if sum(totals := [_lost(view, corpus, name, cause, places) for cause in LOSS_CAUSES])
    ]
    return Figure(
        "loss",
        "Bytes lost, by class",
        "Share of the text's bytes that do not come back from encode and decode, over all languages. "
        "With a focus, the chart by language stands alone.",
        charts.stacked(lines, LOSS_CAUSES),
    )


def _losses_by_language(view: View, corpus: str) -> Figure:
    """The same for each tokenizer and language, those that lose most; empty for one language."""
    places = view.languages(corpus)
    cells = [
        charts.StackedLine(f"{name}, {language}", totals, t, places.index(language))
        for t, name in enumerate(view.tokenizers)
        for language in by_script(view, corpus)
        if sum(totals := [_lost(view, corpus, name, cause, [language]) for cause in LOSS_CAUSES])
    ]
    worst = sorted(cells, key=lambda line: -sum(line.parts))[:MOST_CELLS]
    shown = f" Bars: the {len(worst)} largest of {len(cells)}." if len(cells) > len(worst) else ""
    return Figure(
        "loss-language",
        "Bytes lost, by language and class",
        "Share of a language's bytes that do not come back, of the tokenizers and languages that "
        f"lose any, in focus.{shown}",
        charts.stacked(worst if len(places) > 1 else [], LOSS_CAUSES, labels=210),
    )


def _lost(view: View, corpus: str, tokenizer: str, cause: str, languages: Sequence[str]) -> float:
    """Return the share of the languages' bytes that is lost to a cause."""
    sizes = {k: view.corpora[corpus][k]["bytes"] for k in languages}
    lost: list[float] = [
        (view.value("lost_byte_share", tokenizer, corpus, k, cause=cause) or 0) * n
        for k, n in sizes.items()
    ]
    return sum(lost) / (sum(sizes.values()) or 1)


EDGES = np.geomspace(0.5, 2, BINS + 1)


@lru_cache(maxsize=256)
def spreads(view: View, corpus: str, tokenizer: str) -> npt.NDArray[np.int64]:
    """Return documents by bytes per token ÷ that of their language, shape (languages, bins).

    The bins are between `EDGES`; values beyond the ends are in the first and last one. What was
    read last is kept: a chart and the page's data show the same.
    """
    found = counts_of(view, tokenizer, corpus)
    counts = np.zeros((len(view.languages(corpus)), BINS), np.int64)
    for place, language in enumerate(view.languages(corpus)):
        if language in found:
            tokens, size = found[language]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = (size / tokens) / (size.sum() / tokens.sum())
            bins = np.searchsorted(EDGES[1:-1], ratio[np.isfinite(ratio)], side="right")
            counts[place] = np.bincount(bins, minlength=BINS)
    return counts


def _spread(view: View, corpus: str) -> Figure:
    """How bytes per token vary from document to document, each relative to its language's mean."""
    lines: list[tuple[int, str, Sequence[float]]] = []
    for line in summarize(view, corpus):
        counts = spreads(view, corpus, line.tokenizer).sum(axis=0)
        lines.append((view.tokenizers.index(line.tokenizer), line.tokenizer, counts.tolist()))
    return Figure(
        "spread",
        "How much documents differ",
        "Bytes per token of each document ÷ that of its language, in focus: a narrow hill means that "
        "every document pays about the same. Values beyond the ends are in the first and last bar.",
        charts.ridges(lines, EDGES.tolist(), name="÷ the language's own") if lines else Markup(""),
    )


HEAT_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#1c2733}.axis{font-weight:600}.none{fill:#eceff2}"
    + "".join(
        f".heat{i}{{fill:{color}}}"
        for i, color in enumerate(
            (
                "#f7fbff",
                "#e3eef8",
                "#cde0f1",
                "#afd1e7",
                "#89bedc",
                "#5fa6d1",
                "#3e8ec4",
                "#2170b5",
                "#0a519c",
            )
        )
    )
    + ".value{fill:#1c2733}.value.heat6,.value.heat7,.value.heat8{fill:#fff}"
)


def heat_file(view: View, corpus: str, metric: str, title: str) -> str:
    """Return a heat map of one metric as an SVG file; each language's best is darkest."""
    names = [line.tokenizer for line in summarize(view, corpus)]
    spec = view.run["metrics"][metric]
    rows = []
    for language in by_script(view, corpus):
        values = [view.value(metric, name, corpus, language) for name in names]
        known = [v for v in values if v is not None]
        low, high = min(known, default=0), max(known, default=0)
        cells = [(_shown(v, spec["unit"]), _depth(v, low, high, spec["direction"])) for v in values]
        rows.append((language, cells))
    return charts.heat_file(f"{corpus}: {title}", names, rows, HEAT_STYLE)


def _shown(value: float | None, unit: str) -> str:
    return percent(value) if unit == "share" else number(value)


def _depth(value: float | None, low: float, high: float, direction: str) -> float | None:
    if value is None:
        return None
    share = (value - low) / (high - low) if high > low else 1.0
    return 1 - share if direction == "lower" and high > low else share
