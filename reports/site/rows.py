"""The rows of the leaderboard: what each tokenizer needs for each text, over many runs.

A text is a slice by its SHA-256, so only values on equal text have places against each other.
Equal rows of several runs are one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokbench.reports.view import Row, TokenizerSummary, View, summarize

ALL = "all languages"


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """One tokenizer on one text; a value that is None was not measured, or refused."""

    corpus: str
    language: str
    text: str
    """SHA-256 of the slice, or of the slices' hashes for all languages."""
    pivot: str | None
    """SHA-256 of the pivot's slice on parallel text: premiums depend on it."""
    tokenizer: str
    fingerprint: str
    entries: int
    tokens: int
    bytes_per_token: float | None
    premium: float | None
    exact: float | None
    lost: float | None
    ranked: bool
    runs: tuple[str, ...]
    place: int | None = None


def board_rows(views: Iterable[tuple[str, View]]) -> list[BoardRow]:
    """Return the rows of some runs with their places, best first on each text."""
    merged: dict[BoardRow, tuple[str, ...]] = {}
    for run, view in views:
        for row in _rows(view):
            merged[row] = (*merged.get(row, ()), run)
    rows = [replace(row, runs=runs) for row, runs in merged.items()]
    groups: dict[tuple[str, str, str], list[BoardRow]] = {}
    for row in rows:
        groups.setdefault((row.corpus, row.language, row.text), []).append(row)
    order = sorted(groups, key=lambda one: (one[0], one[1] != ALL, one[1], one[2]))
    return [row for key in order for row in _placed(groups[key])]


def _placed(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Give places by bytes per token; equal tokenizers share one, unranked ones come last."""
    best = {
        row.fingerprint: row.bytes_per_token
        for row in rows
        if row.ranked and row.bytes_per_token is not None
    }
    placed = [
        replace(row, place=1 + sum(other > row.bytes_per_token for other in best.values()))
        if row.ranked and row.bytes_per_token is not None
        else row
        for row in rows
    ]
    return sorted(placed, key=lambda row: (row.place is None, row.place or 0, row.tokenizer))


def _rows(view: View) -> Iterator[BoardRow]:
    for corpus in view.ordered_corpora:
        for tokenizer in view.tokenizers:
            for language in view.languages(corpus):
                row = _of_language(view, corpus, language, tokenizer)
                if row is not None:
                    yield row
        if len(view.languages(corpus)) > 1:
            for line in summarize(view, corpus):
                if line.tokens:
                    yield _of_all(view, corpus, line)


def _of_language(view: View, corpus: str, language: str, tokenizer: str) -> BoardRow | None:
    tokens = view.value("tokens", tokenizer, corpus, language)
    if tokens is None:
        return None
    place = tokenizer, corpus, language
    size = view.row("bytes_per_token", *place)
    premium = "program_premium" if view.kind(corpus) == "code" else "premium"
    return BoardRow(
        **_identity(view, corpus, tokenizer),
        language=language,
        text=view.corpora[corpus][language]["sha256"],
        tokens=round(tokens),
        bytes_per_token=size["value"] if size else None,
        premium=view.value(premium, *place),
        exact=view.value("round_trip", *place, **{"class": "exact"}),
        lost=view.value("lost_byte_share", *place),
        ranked=_is_ranked(size),
    )


def _of_all(view: View, corpus: str, line: TokenizerSummary) -> BoardRow:
    metas = view.corpora[corpus]
    sizes = [
        view.row("bytes_per_token", line.tokenizer, corpus, language)
        for language in view.languages(corpus)
    ]
    assert line.tokens
    return BoardRow(
        **_identity(view, corpus, line.tokenizer),
        language=ALL,
        text=_hash_of(metas),
        tokens=line.tokens,
        bytes_per_token=sum(meta["bytes"] for meta in metas.values()) / line.tokens,
        premium=line.median_premium,
        exact=line.exact,
        lost=line.lost_share,
        ranked=all(map(_is_ranked, sizes)),
    )


def _identity(view: View, corpus: str, tokenizer: str) -> dict[str, Any]:
    facts = view.run["tokenizers"][tokenizer]
    pivot = view.pivot(corpus)
    return {
        "corpus": corpus,
        "pivot": view.corpora[corpus][pivot]["sha256"] if pivot else None,
        "tokenizer": tokenizer,
        "fingerprint": facts["fingerprint"],
        "entries": facts["n_entries"],
        "runs": (),
    }


def _is_ranked(row: Row | None) -> bool:
    return row is not None and row["value"] is not None and row["ranked"] is not False


def _hash_of(metas: Mapping[str, Mapping[str, Any]]) -> str:
    text = json.dumps(sorted((language, meta["sha256"]) for language, meta in metas.items()))
    return hashlib.sha256(text.encode()).hexdigest()
