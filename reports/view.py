"""What reports look up in a run: values by metric, tokenizer, corpus and language."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa

from tokbench.bench.markup import number, plural
from tokbench.bench.reasons import UNRANKED
from tokbench.bench.results.run_folder import Results

Row = dict[str, Any]

ONE_BATCH: dict[str, Any] = {
    "call": "batch",
    "batch_size": None,
    "threads": 1,
    "text": "repeated",
    "length": None,
}
"""The speed that a summary shows: all documents in one call, seen before."""


class RowKey(NamedTuple):
    """Where a value belongs."""

    metric: str
    tokenizer: str | None
    corpus: str | None
    language: str | None


class View:
    """One run, indexed for reading; made from Parquet and `run.json` alone."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.run = results.run

    @cached_property
    def rows(self) -> list[Row]:
        """All measurements, exact ones first; `params` is parsed."""
        return _rows(self.results.measurements) + self.timed_rows

    @cached_property
    def measured(self) -> frozenset[tuple[str, str]]:
        """Tokenizers and corpora that have a value together."""
        return frozenset(
            (row["tokenizer"], row["corpus"]) for row in self.rows if row["value"] is not None
        )

    @cached_property
    def timed_rows(self) -> list[Row]:
        """Noisy measurements; `params` is parsed."""
        return _rows(self.results.throughput)

    @cached_property
    def _index(self) -> dict[RowKey, list[Row]]:
        index: dict[RowKey, list[Row]] = {}
        for row in self.rows:
            place = RowKey(row["metric"], row["tokenizer"], row["corpus"], row["language"])
            index.setdefault(place, []).append(row)
        return index

    @cached_property
    def unranked(self) -> dict[tuple[str, str], frozenset[str]]:
        """Why values of a tokenizer on a corpus must not be compared, by code; none where they may.

        Runs that did not store a code give `lost_text`.
        """
        found: dict[tuple[str, str], set[str]] = {}
        for row in self.rows:
            place = row["tokenizer"], row["corpus"]
            shown = row["value"] is not None and row["status"] in ("ok", "partial")
            code = row["reason"] or "lost_text"
            if shown and row["ranked"] is False and None not in place and code in UNRANKED:
                found.setdefault(place, set()).add(code)
        return {place: frozenset(reasons) for place, reasons in found.items()}

    @cached_property
    def failed_corpora(self) -> dict[str, str]:
        """Corpora of which no language could be read, and the first reason."""
        return self._failed("corpus", "corpus_failed", lambda name: name in self.corpora)

    @cached_property
    def failed_languages(self) -> dict[tuple[str, str], str]:
        """Languages that could not be read of corpora of which others could, and why."""
        return {
            (cell["corpus"], cell["language"]): cell["detail"] or "no reason recorded"
            for cell in self.run["cells"]
            if cell.get("reason") == "corpus_failed"
            and cell["language"] not in self.corpora.get(cell["corpus"], {cell["language"]})
        }

    @cached_property
    def failed_tokenizers(self) -> dict[str, str]:
        """Tokenizers that could not be loaded or trained, and why."""
        codes = ("tokenizer_failed", "training_failed", "worker_lost")
        found: dict[str, str] = {}
        for code in codes:
            found |= self._failed("tokenizer", code, lambda name: name in self.tokenizers)
        return found

    def _failed(self, by: str, code: str, is_there: Callable[[str], bool]) -> dict[str, str]:
        found: dict[str, str] = {}
        for cell in self.run["cells"]:
            if cell.get("reason") == code and not is_there(cell[by]):
                found.setdefault(cell[by], cell["detail"] or "no reason recorded")
        return found

    @cached_property
    def findings(self) -> list[Row]:
        """All findings; `data` is parsed."""
        rows: list[Row] = self.results.findings.to_pylist()
        for row in rows:
            row["data"] = json.loads(row["data"])
        return rows

    @property
    def corpora(self) -> dict[str, dict[str, Any]]:
        """Slice metadata by corpus and language, in the order of the config."""
        found: dict[str, dict[str, Any]] = self.run["corpora"]
        order = self.run["config"]["corpora"]
        return {name: found[name] for name in order if name in found}

    @property
    def tokenizers(self) -> list[str]:
        """Tokenizers that were loaded, in the order of the config."""
        return [name for name in self.run["config"]["tokenizers"] if name in self.run["tokenizers"]]

    @property
    def ordered_corpora(self) -> list[str]:
        """Corpora in the order of the config, natural language before code."""
        return sorted(self.corpora, key=lambda name: self.kind(name) == "code")

    @property
    def ranks(self) -> bool:
        """Whether a suite of this run ranks tokenizers at all."""
        return "rank" in self.run["metrics"]

    def is_bundled(self, corpus: str) -> bool:
        """Whether a corpus is text that comes with tokbench."""
        return bool(self.run["config"]["corpora"][corpus]["source"] == "builtin")

    def languages(self, corpus: str) -> list[str]:
        """Languages of a corpus, the pivot first."""
        found = self.corpora[corpus]
        pivot = self.pivot(corpus)
        return sorted(found, key=lambda name: (name != pivot, name))

    def documents(self, corpus: str) -> str:
        """How many documents each language has: one number, or the least and the most."""
        counts = sorted({meta["documents"] for meta in self.corpora[corpus].values()})
        if len(counts) == 1:
            return plural(counts[0], "document")
        return f"{counts[0]:,} to {counts[-1]:,} documents"

    def refusal(self, corpus: str) -> str | None:
        """Why premiums are refused on a whole corpus, None where they are not."""
        wanted = (f for f in self.findings if f["kind"] == "refusal" and f["corpus"] == corpus)
        return next((str(f["message"]) for f in wanted), None)

    def pivot(self, corpus: str) -> str | None:
        """The pivot of a parallel corpus."""
        first = next(iter(self.corpora[corpus].values()))
        pivot: str | None = first["pivot"] if first["parallel"] else None
        return pivot if pivot in self.corpora[corpus] else None

    def kind(self, corpus: str) -> str:
        """natural or code."""
        return str(next(iter(self.corpora[corpus].values()))["kind"])

    def row(
        self,
        metric: str,
        tokenizer: str | None,
        corpus: str | None,
        language: str | None = None,
        **params: Any,
    ) -> Row | None:
        """Return the one row at a place whose params hold the given ones (none: has no cause)."""
        for row in self._index.get(RowKey(metric, tokenizer, corpus, language), ()):
            found = row["params"]
            if not params:
                if "cause" not in found:
                    return row
            elif all(found.get(name) == value for name, value in params.items()):
                return row
        return None

    def rows_at(
        self, metric: str, tokenizer: str | None, corpus: str | None, language: str | None = None
    ) -> list[Row]:
        """Return all rows at a place, whatever their params."""
        return self._index.get(RowKey(metric, tokenizer, corpus, language), [])

    def value(
        self,
        metric: str,
        tokenizer: str,
        corpus: str | None,
        language: str | None = None,
        **params: Any,
    ) -> float | None:
        """Return the value at a place, None where there is none."""
        row = self.row(metric, tokenizer, corpus, language, **params)
        return None if row is None else row["value"]

    def values(self, metric: str, tokenizer: str, corpus: str) -> Iterator[tuple[str, float]]:
        """Yield (language, value) where there is a value."""
        for language in self.languages(corpus):
            value = self.value(metric, tokenizer, corpus, language)
            if value is not None:
                yield language, value

    def pooled(self, share: str, tokenizer: str, corpus: str, *, over: str) -> float | None:
        """Return a share over all languages: each language's weighted by its count of `over`."""
        shares = dict(self.values(share, tokenizer, corpus))
        counts = dict(self.values(over, tokenizer, corpus))
        total = sum(counts[k] for k in shares if k in counts)
        if not total:
            return None
        return sum(v * counts[k] for k, v in shares.items() if k in counts) / total

    def total(self, metric: str, tokenizer: str, corpus: str) -> int | None:
        """Add a count up over all languages; None when a language is missing."""
        values = dict(self.values(metric, tokenizer, corpus))
        if set(values) != set(self.languages(corpus)):
            return None
        return round(sum(values.values()))


@lru_cache(maxsize=2)
def view_of(results: Results) -> View:
    """Return the view of a run, the same for all reports on it."""
    return View(results)


def _rows(measurements: pa.Table) -> list[Row]:
    """Return one mapping per measurement; those with the same params share them."""
    parsed = {text: json.loads(text) for text in measurements["params"].unique().to_pylist()}
    rows: list[Row] = measurements.to_pylist()
    for row in rows:
        row["params"] = parsed[row["params"]]
    return rows


def has_place(rank: Row) -> bool:
    """Whether a row of ranks has one that counts; runs of schema 1 ranked lossy text too."""
    return rank["value"] is not None and rank["ranked"] is not False


def is_contested(rank: Row) -> bool:
    """Whether two different tokenizers or more have a place there: one alone wins nothing."""
    return has_place(rank) and rank["params"].get("of", 2) > 1


def is_first(rank: Row | None) -> bool:
    """Whether a row of ranks is a first place among several tokenizers."""
    return rank is not None and is_contested(rank) and rank["value"] == 1


def meaning_of(witness: Row) -> str:
    """Return what the class of a witness means; its name where a run does not say."""
    data = witness["data"]
    return str(data.get("meaning") or data["class"].replace("_", " "))


class TokenizerSummary(NamedTuple):
    """One line of the table by tokenizer."""

    tokenizer: str
    n_entries: int
    tokens: int | None
    pivot_bytes_per_token: float | None
    median_premium: float | None
    premiums: int
    """Languages that have a premium, the pivot left out."""
    highest_premium: tuple[str, float] | None
    refused_premiums: int
    first_in: int
    contested_in: int
    """Languages where it and another tokenizer have a place."""
    ranked_in: int
    exact: float | None
    unk_rate: float | None
    lost_share: float | None
    encode_ratio: Row | None
    """Speed in one batch of repeated text, relative to the pinned tokenizer; None for that one."""


@lru_cache(maxsize=16)
def summarize(view: View, corpus: str) -> tuple[TokenizerSummary, ...]:
    """Return the summaries of a corpus, best first: most languages ranked first, fewest tokens."""
    lines = [_summary(view, corpus, name) for name in view.tokenizers]
    lines = [line for line in lines if (line.tokenizer, corpus) in view.measured]
    order = sorted(
        lines, key=lambda s: (s.ranked_in == 0, -s.first_in, s.tokens or 1 << 62, s.tokenizer)
    )
    return tuple(order)


def summary_of(view: View, corpus: str, tokenizer: str) -> TokenizerSummary:
    """Return the summary of one tokenizer, also where nothing of it has a value."""
    lines = {line.tokenizer: line for line in summarize(view, corpus)}
    return lines.get(tokenizer) or _summary(view, corpus, tokenizer)


def _summary(view: View, corpus: str, tokenizer: str) -> TokenizerSummary:
    languages = view.languages(corpus)
    pivot = view.pivot(corpus)
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    premiums = {k: v for k, v in view.values(metric, tokenizer, corpus) if k != pivot}
    rows = [view.row("rank", tokenizer, corpus, language) for language in languages]
    ranks = [row for row in rows if row is not None and has_place(row)]
    lost = dict(view.values("lost_byte_share", tokenizer, corpus))
    return TokenizerSummary(
        tokenizer=tokenizer,
        n_entries=view.run["tokenizers"][tokenizer]["n_entries"],
        tokens=view.total("tokens", tokenizer, corpus),
        pivot_bytes_per_token=view.value(
            "bytes_per_token", tokenizer, corpus, pivot or languages[0]
        ),
        median_premium=median(premiums.values()) if premiums else None,
        premiums=len(premiums),
        highest_premium=max(premiums.items(), key=lambda item: item[1], default=None),
        refused_premiums=len(languages) - 1 - len(premiums) if pivot else 0,
        first_in=sum(map(is_first, ranks)),
        contested_in=sum(map(is_contested, ranks)),
        ranked_in=len(ranks),
        exact=_weighted(view, corpus, tokenizer),
        unk_rate=view.pooled("unk_rate", tokenizer, corpus, over="tokens"),
        lost_share=_pooled_bytes(view, corpus, tokenizer, lost),
        encode_ratio=view.row("relative_speed", tokenizer, corpus, phase="encode", **ONE_BATCH),
    )


def _weighted(view: View, corpus: str, tokenizer: str) -> float | None:
    """Share of all documents whose round trip is exact."""
    rows = [
        view.row("round_trip", tokenizer, corpus, language, **{"class": "exact"})
        for language in view.languages(corpus)
    ]
    found = [row for row in rows if row is not None]
    n = sum(row["n"] for row in found)
    return sum(row["params"]["documents"] for row in found) / n if n else None


def _pooled_bytes(
    view: View, corpus: str, tokenizer: str, shares: dict[str, float]
) -> float | None:
    metas = view.corpora[corpus]
    total = sum(metas[k]["bytes"] for k in shares)
    return sum(v * metas[k]["bytes"] for k, v in shares.items()) / total if total else None


def trained_on(view: View, tokenizer: str) -> set[str]:
    """Return the corpora of this run that a tokenizer was trained on."""
    trained = view.run["tokenizers"][tokenizer]["trained"]
    return {trained["corpus"]} if trained else set()


def first_in(line: TokenizerSummary) -> str:
    """Write in how many languages a tokenizer ranks first, of those where another has a place."""
    if not line.ranked_in:
        return "not ranked"
    return f"{line.first_in} of {line.contested_in}" if line.contested_in else "–"


def median_premium(line: TokenizerSummary) -> str:
    """Write the median premium, and over how many languages where some are refused."""
    text = number(line.median_premium)
    if line.refused_premiums and line.premiums:
        return f"{text} (of {line.premiums})"
    return text
