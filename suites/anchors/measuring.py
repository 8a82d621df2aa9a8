"""A whole run inside a temporary folder: for figures that must come from the harness itself."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tokbench
from tokbench.bench.errors import InputError
from tokbench.bench.model import Tokenizer

Entry = Mapping[str, Any]


@contextmanager
def results_of(config: Entry, folder: Path) -> Iterator[tokbench.Results]:
    """Run a config, given as plain values with paths relative to `folder`, and yield its results.

    The results are gone afterwards. Raises `InputError` when a cell or an input failed.
    """
    loaded = tokbench.load_config({"reports": [], "resamples": 200, **config}, folder=folder)
    with tempfile.TemporaryDirectory(prefix="tokbench-") as place:
        results = tokbench.run(loaded, output=place, jobs=0)
        if results.problems:
            raise InputError("; ".join(results.problems[:3]))
        yield results


def pieces_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the tokens of a text as text; bytes that are no character are escaped."""
    ids = tokenizer.encode_batch([text])[0]
    contents = [tokenizer.vocabulary.token_bytes[int(i)] or b"" for i in ids]
    return [content.decode("utf-8", "backslashreplace") for content in contents]


def values_of(
    results: tokbench.Results, metric: str, **params: Any
) -> dict[tuple[str, str], float]:
    """Return a metric's values by tokenizer and language, where params hold what is given."""
    rows: Sequence[dict[str, Any]] = results.measurements.to_pylist()
    return {
        (row["tokenizer"], row["language"]): row["value"]
        for row in rows
        if row["metric"] == metric
        and row["value"] is not None
        and params.items() <= json.loads(row["params"]).items()
    }
