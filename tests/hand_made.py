"""Tallies made by hand, for tests of what suites make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import (
    COLUMNS,
    ArrayTally,
    Cell,
    CellKey,
    CorpusFacts,
    TokenizerFacts,
)

Counts = Mapping[str, Sequence[int]]


def tally(documents: Counts, histogram: Mapping[int, int] | None = None) -> ArrayTally:
    """Return a tally of documents with the given columns, zero elsewhere."""
    n = len(next(iter(documents.values())))
    columns = {name: np.array(documents.get(name, [0] * n), np.int64) for name in COLUMNS}
    ids = sorted(histogram or {0: int(columns["tokens"].sum())})
    counts = [(histogram or {0: int(columns["tokens"].sum())})[i] for i in ids]
    return ArrayTally(
        rows=np.arange(n),
        documents=columns,
        ids_hash=np.zeros(n, np.uint64),
        histogram_ids=np.array(ids, np.int64),
        histogram_counts=np.array(counts, np.int64),
    )


def facts(language: str, n: int, **more: Any) -> CorpusFacts:
    """Return a slice of n documents of a parallel corpus in English and others."""
    values: dict[str, Any] = {
        "corpus": "corpus",
        "language": language,
        "tag": language[:2],
        "script": "Latn",
        "kind": "natural",
        "parallel": True,
        "pivot": "eng_Latn",
        "sha256": "0" * 64,
        "document_ids": tuple(map(str, range(n))),
        "clusters": None,
        "words_reason": None,
        **more,
    }
    return CorpusFacts(**values)


def tokenizer_facts(n_entries: int = 256) -> TokenizerFacts:
    """Return a vocabulary without special tokens."""
    return TokenizerFacts(
        fingerprint="f" * 64,
        fingerprint_parts={},
        n_entries=n_entries,
        n_ids=n_entries,
        n_special=0,
        special_ids=(),
        byte_exact=True,
    )


def tallies(
    cells: Mapping[tuple[str, str], ArrayTally], *, lost_limit: float = 0.1, **corpus: Any
) -> Tallies:
    """Return the tallies of cells by tokenizer and language."""
    made = {
        CellKey(tokenizer, "corpus", language): Cell(
            key=CellKey(tokenizer, "corpus", language), status="ok", tally=one
        )
        for (tokenizer, language), one in cells.items()
    }
    languages = {language: one.n for (_, language), one in cells.items()}
    return Tallies(
        cells=made,
        tokenizers={name: tokenizer_facts() for name, _ in cells},
        corpora={("corpus", name): facts(name, n, **corpus) for name, n in languages.items()},
        seed=0,
        resamples=500,
        lost_limit=lost_limit,
    )
