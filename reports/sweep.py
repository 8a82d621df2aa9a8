"""What a larger vocabulary buys: bytes per token against size, and what the size costs.

A sweep is what a config wrote as a list of sizes: trained tokenizers that differ in their size
alone. What is compared is the text of a whole corpus, all languages together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import log2
from typing import Annotated, Any

from pydantic import Field

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, escape, markdown_table, number, percent, strict_json
from tokbench.bench.results.costs import embedding_parameters
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.marks import marked
from tokbench.reports.view import View, trained_on, view_of

Point = dict[str, Any]
Width = Annotated[int, Field(gt=0)]


class Sweep(ReportPlugin):
    """Bytes per token and parameters against the vocabulary size, for every sweep of a run."""

    widths: tuple[Width, ...] = Field(
        (1024, 4096), description="Widths of the embedding that parameters are shown for."
    )

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `sweep.md` and `sweep.json`; `UsageError` where the run has no sweep."""
        view = view_of(results)
        found = sweeps(view)
        if not found:
            raise UsageError(
                f"{results.name} has no sweep: no trained tokenizers that differ in their size "
                "alone; write vocab_size: [512, 1024] in a `train:` block"
            )
        data = [
            {"sweep": name, "corpus": corpus, "points": points(view, keys, corpus, self.widths)}
            for name, keys in found.items()
            for corpus in view.ordered_corpora
        ]
        return {
            "sweep.md": self._markdown(view, data),
            "sweep.json": strict_json(data) + "\n",
        }

    def _markdown(self, view: View, data: list[dict[str, Any]]) -> str:
        parts = [
            f"# Vocabulary sweep: {escape(view.results.name)}",
            "Bytes and tokens are of all languages of a corpus together. A doubling saves tokens "
            "relative to the size before; where sizes do not double, the step is converted. "
            "Parameters are ids × width: the embedding, and twice that with an output layer of "
            "its own.",
        ]
        for one in data:
            parts.append(f"## {escape(one['sweep'])} on {escape(one['corpus'])}")
            parts.append(self._table(one["points"]))
            parts += _remarks(view, one["points"], one["corpus"])
        return "\n\n".join(parts) + "\n"

    def _table(self, line: list[Point]) -> str:
        header = ["tokenizer", "ids", "tokens", "bytes per token", "a doubling saves"]
        for width in self.widths:
            header += [f"embedding, width {count(width)}", "with output layer"]
        rows = []
        for point in line:
            row = [
                point["name"],
                count(point["ids"]),
                count(point["tokens"]),
                number(point["bytes_per_token"]),
                percent(point["saved_by_doubling"]),
            ]
            for one in point["parameters"]:
                row += [millions(one["embedding"]), millions(one["embedding_and_output"])]
            rows.append(row)
        return markdown_table(header, rows)


def sweeps(view: View) -> dict[str, list[str]]:
    """Return the keys of each sweep, smallest size first, by the part of them that is common."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for key in view.tokenizers:
        block = dict(view.run["config"]["tokenizers"][key].get("train", {}))
        size = block.pop("vocab_size", None)
        if size is not None:
            groups.setdefault(json.dumps(block, sort_keys=True), []).append((size, key))
    found = {}
    for group in groups.values():
        if len(group) > 1:
            group.sort()
            size, key = group[0]
            found[key.removesuffix(f"-{size}")] = [key for _, key in group]
    return found


def points(view: View, keys: list[str], corpus: str, widths: tuple[int, ...]) -> list[Point]:
    """Return one point of the curve per tokenizer that was measured on the whole corpus."""
    line = [p for key in keys if (p := _point(view, key, corpus, widths)) is not None]
    for before, after in pairwise(line):
        after["saved_by_doubling"] = saved_by_doubling(
            (before["ids"], before["tokens"]), (after["ids"], after["tokens"])
        )
    return line


def _point(view: View, key: str, corpus: str, widths: tuple[int, ...]) -> Point | None:
    tokens = view.total("tokens", key, corpus)
    if not tokens:
        return None
    ratios = dict(view.values("bytes_per_token", key, corpus))
    counts = dict(view.values("tokens", key, corpus))
    n_bytes = round(sum(ratio * counts[language] for language, ratio in ratios.items()))
    ids = view.run["tokenizers"][key]["n_ids"]
    return {
        "tokenizer": key,
        "name": marked(view, key, corpus),
        "ids": ids,
        "tokens": tokens,
        "bytes": n_bytes,
        "bytes_per_token": n_bytes / tokens,
        "saved_by_doubling": None,
        "lost": view.pooled("lost_byte_share", key, corpus, over="tokens"),
        "parameters": [
            {
                "width": width,
                "embedding": embedding_parameters(ids, width, tied=True),
                "embedding_and_output": embedding_parameters(ids, width, tied=False),
            }
            for width in widths
        ],
    }


def saved_by_doubling(before: tuple[int, int], after: tuple[int, int]) -> float | None:
    """Return the share of tokens that twice the ids save, from two points (ids, tokens).

    A step of another size is taken as so many equal doublings. None where the size did not grow.

    >>> saved_by_doubling((1000, 400), (2000, 300)), saved_by_doubling((1000, 400), (4000, 100))
    (0.25, 0.5)
    """
    if after[0] <= before[0]:
        return None
    doublings = log2(after[0] / before[0])
    return float(1 - (after[1] / before[1]) ** (1 / doublings))


def millions(parameters: int) -> str:
    """Write a number of parameters.

    >>> millions(128_000 * 4096), millions(32_000 * 4096), millions(512 * 1024)
    ('524 million', '131 million', '0.5 million')
    """
    value = parameters / 1e6
    return f"{value:,.0f} million" if value >= 10 else f"{value:,.1f} million"


def _remarks(view: View, line: list[Point], corpus: str) -> Iterator[str]:
    keys = [point["tokenizer"] for point in line]
    if any(corpus in trained_on(view, key) for key in keys):
        yield (
            "Trained on this very text: what rare merges save here they will not save on other "
            "text, and the less the larger the vocabulary."
        )
    limit = view.run["policy"]["lost_limit"]
    losing = [p["tokenizer"] for p in line if (p["lost"] or 0) > limit]
    if losing:
        yield f"More text is lost than {percent(limit)} by: {escape(', '.join(losing))}."
    others = [key for key in view.tokenizers if not view.run["tokenizers"][key]["trained"]]
    compared = [p for key in others if (p := _point(view, key, corpus, ())) is not None]
    if compared:
        told = (
            f"{escape(p['tokenizer'])} {number(p['bytes_per_token'])} with {count(p['ids'])} ids"
            for p in compared
        )
        yield f"For comparison, bytes per token of {'; '.join(told)}."
