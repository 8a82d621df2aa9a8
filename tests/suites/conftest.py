"""Tallies made by hand, and small runs over texts that a test writes down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
import pytest

from bench.results import Results
from bench.tally import COLUMNS, Cell, CellKey, CorpusFacts, Tallies, Tally, TokenizerFacts
from suites.measuring import results_of

Counts = Mapping[str, Sequence[int]]


def tally(documents: Counts, histogram: Mapping[int, int] | None = None) -> Tally:
    """Return a tally of documents with the given columns, zero elsewhere."""
    n = len(next(iter(documents.values())))
    columns = {name: np.array(documents.get(name, [0] * n), np.int64) for name in COLUMNS}
    ids = sorted(histogram or {0: int(columns["tokens"].sum())})
    counts = [(histogram or {0: int(columns["tokens"].sum())})[i] for i in ids]
    return Tally(
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
    cells: Mapping[tuple[str, str], Tally], *, lost_limit: float = 0.1, **corpus: Any
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


Run = Callable[..., Results]


@pytest.fixture(scope="module")
def run_on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a function that runs suites over texts by language, aligned by position."""
    tmp_path = tmp_path_factory.mktemp("texts")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))

        def run(
            texts: Mapping[str, Sequence[str]],
            suites: Mapping[str, Any],
            tokenizers: Sequence[str] = ("utf8_bytes",),
            **corpus: Any,
        ) -> Results:
            for language, lines in texts.items():
                rows = [json.dumps({"id": str(i), "text": t}) for i, t in enumerate(lines)]
                (tmp_path / f"{language}.jsonl").write_text("\n".join(rows), encoding="utf-8")
            entry = {
                "source": "files",
                "languages": {language: f"{language}.jsonl" for language in texts},
                "id": "id",
                "parallel": True,
                "pivot": next(iter(texts)),
                **corpus,
            }
            config = {
                "name": "small",
                "corpora": {"corpus": entry},
                "tokenizers": {name: {"type": name} for name in tokenizers},
                "suites": suites,
            }
            made: AbstractContextManager[Results] = results_of(config, tmp_path)
            return stack.enter_context(made)

        yield run
