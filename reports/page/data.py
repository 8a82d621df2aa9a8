"""What the page's script works on: the values of a run as plain lists, by corpus.

Everything here comes from the rows of the run; draws are made again by `tokbench.reports.focus`.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokbench.bench.reasons import REASONS
from tokbench.reports.focus import FEW, Rates, focus_of, rates
from tokbench.reports.page.figures import BINS, spreads
from tokbench.reports.view import Row, View, has_place

DRAWS = FEW
"""Bootstrap draws that a page carries; those of a run are more."""

STEPS = 127
"""Steps on each side of the measured value that a draw is rounded to."""

GRID: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("bytes_per_token", "bytes per token", {}),
    ("premium", "premium", {}),
    ("program_premium", "premium between programming languages", {}),
    ("tokens", "tokens", {}),
    ("fertility", "fertility", {}),
    ("lost_byte_share", "bytes lost", {}),
    ("round_trip", "exact round trips", {"class": "exact"}),
    ("unk_rate", "unknown tokens", {}),
)
"""Metrics that the heat map offers: name, title, params of the row."""


def payload(view: View) -> dict[str, Any]:
    """Return everything that the page's script reads, draws left out."""
    return {
        "name": view.run["name"],
        "tokenizers": [_tokenizer(view, name) for name in view.tokenizers],
        "corpora": [_corpus(view, corpus) for corpus in view.ordered_corpora],
        "metrics": view.run["metrics"],
        "draws": DRAWS,
        "bins": BINS,
        "focus": _focus(view),
    }


def _focus(view: View) -> dict[str, Any] | None:
    """Return the focus of the config: its corpus, and languages with their shares."""
    found = focus_of(view)
    return found and {"corpus": found[0], "weights": [[k, w] for k, w in found[1].items()]}


def _tokenizer(view: View, name: str) -> dict[str, Any]:
    facts = view.run["tokenizers"][name]
    return {
        "key": name,
        "entries": facts["n_entries"],
        "notes": list(facts["notes"]),
        "fingerprint": facts["fingerprint"],
    }


def _corpus(view: View, corpus: str) -> dict[str, Any]:
    metas = view.corpora[corpus]
    languages = view.languages(corpus)
    found: dict[str, Any] = {
        "key": corpus,
        "kind": view.kind(corpus),
        "pivot": view.pivot(corpus),
        "languages": [
            [k, metas[k]["tag"], metas[k]["script"], metas[k]["documents"], metas[k]["bytes"]]
            for k in languages
        ],
        "grids": [
            grid
            for metric, title, params in GRID
            if (grid := _grid(view, corpus, metric, title, params)) is not None
        ],
        "places": [[_place(view, corpus, name, k) for k in languages] for name in view.tokenizers],
        "speed": [_speed(view, corpus, name) for name in view.tokenizers],
    }
    return found


def _grid(
    view: View, corpus: str, metric: str, title: str, params: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the values of one metric, shape (tokenizers, languages), or None without any."""
    rows = [
        [view.row(metric, name, corpus, k, **params) for k in view.languages(corpus)]
        for name in view.tokenizers
    ]
    if all(row is None or row["value"] is None for line in rows for row in line):
        return None
    return {
        "metric": metric,
        "title": title,
        "value": _column(rows, "value"),
        "low": _column(rows, "ci_low"),
        "high": _column(rows, "ci_high"),
        "why": [[_why(row) for row in line] for line in rows],
    }


def _column(rows: Sequence[Sequence[Row | None]], name: str) -> list[list[float | None]]:
    return [[None if row is None else _short(row[name]) for row in line] for line in rows]


def _short(value: float | None) -> float | None:
    """Six significant digits: more than any table shows.

    >>> _short(4.3520344345), _short(None)
    (4.35203, None)
    """
    return None if value is None else float(f"{value:.6g}")


def _why(row: Row | None) -> str | None:
    """Why there is no value."""
    return None if row is None or row["value"] is not None else row["detail"] or row["status"]


def _place(view: View, corpus: str, tokenizer: str, language: str) -> list[Any]:
    """Return a tokenizer's rank in a language, and why it has none."""
    row = view.row("rank", tokenizer, corpus, language)
    if row is None:
        return [None, "was not ranked"]
    if has_place(row):
        return [row["value"], None]
    meaning = REASONS[row["reason"]] if row["reason"] else row["status"]
    return [None, row["detail"] or meaning]


def _speed(view: View, corpus: str, tokenizer: str) -> dict[str, Any] | None:
    """Return the speed of encoding in one batch: MB/s of UTF-8 text, with its interval."""
    row = next(
        (
            row
            for row in view.rows_at("encode_throughput", tokenizer, corpus)
            if row["value"] is not None and row["params"].get("call") == "batch"
        ),
        None,
    )
    if row is None:
        return None
    return {
        "value": _short(row["value"]),
        "low": _short(row["ci_low"]),
        "high": _short(row["ci_high"]),
    }


def packed_draws(found: Rates) -> dict[str, Any]:
    """Return draws as one byte each: how far from the measured value, in steps of its own scale.

    `draws[b, t, l]` is `measured[t, l] * (1 + scale[t, l] * step / 127)`; the bytes are in the
    order (tokenizer, language, draw), compressed and in base64.
    """
    with np.errstate(invalid="ignore"):
        deviation = found.drawn / found.measured - 1
    scale = np.abs(deviation).max(axis=0)
    steps = np.divide(deviation, scale, out=np.zeros_like(deviation), where=scale > 0)
    whole = np.nan_to_num(np.rint(steps * STEPS)).astype(np.int8).transpose(1, 2, 0)
    return {
        "corpus": found.corpus,
        "tokenizers": list(found.tokenizers),
        "unit": found.unit,
        "measured": _lists(found.measured),
        "scale": _lists(scale),
        "steps": packed(whole.tobytes()),
    }


def packed_spreads(view: View, corpus: str) -> str:
    """Return how documents differ, as in the chart `spread`: 16 bits for each count.

    The order is (tokenizer, language, bin); a count above 65,535 is written as that.
    """
    found = [spreads(view, corpus, name) for name in view.tokenizers]
    return packed(np.minimum(np.stack(found), 65_535).astype("<u2").tobytes())


def draws_of(view: View) -> list[dict[str, Any]]:
    """Return the packed draws of every corpus that has counts."""
    found = (rates(view, corpus, DRAWS) for corpus in view.ordered_corpora)
    return [
        {**packed_draws(one), "spreads": packed_spreads(view, one.corpus)}
        for one in found
        if one.tokenizers
    ]


def _lists(values: np.ndarray[Any, Any]) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(f"{v:.8g}") for v in line] for line in values]


def packed(data: bytes, level: int = 9) -> str:
    """Compress to text; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, level, mtime=0)).decode("ascii")


def script_json(value: Any) -> str:
    """Return JSON that no HTML parser can end early.

    >>> script_json({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
