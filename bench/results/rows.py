"""Rows of measurements and findings as they are read: values of the closed lists, JSON that parses.

The seal of a run shows that its tables are as they were written, but whoever changes a table can
seal the folder anew; those of an older run and the noisy ones have no seal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.compute as pc

from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json
from tokbench.bench.model import Direction, Status

_CLOSED: Mapping[str, frozenset[str]] = {
    "direction": frozenset(get_args(Direction)),
    "status": frozenset(get_args(Status)),
}
_PRESENT = ("suite", "metric", "unit", "direction", "params", "status")
_MAY_BE_NULL = {"ids", "words", "word_tokens", "continued_words", "single_token_words"}
_NUMBERS = ("value", "ci_low", "ci_high")


def check_measurements(table: pa.Table, path: Path) -> pa.Table:
    """Return a table of measurements as it is; raise `ResultsError` where a row cannot be one."""
    for name in _PRESENT:
        if table[name].null_count:
            raise _damaged(path, f"a row without {name}")
    for name, known in _CLOSED.items():
        unknown = set(pc.unique(table[name]).to_pylist()) - known
        if unknown:
            raise _damaged(path, f"{name} {min(unknown)!r}")
    for name in _NUMBERS:
        if pc.all(pc.is_finite(table[name])).as_py() is False:  # None where every value is null
            raise _damaged(path, f"a {name} that is not finite")
    _check_json(table, "params", path)
    return table


def check_findings(table: pa.Table, path: Path) -> pa.Table:
    """Return a table of findings as it is; raise `ResultsError` where a row cannot be one."""
    for name in ("kind", "suite", "message", "data"):
        if table[name].null_count:
            raise _damaged(path, f"a row without {name}")
    _check_json(table, "data", path)
    return table


def check_documents(table: pa.Table, path: Path) -> pa.Table:
    """Return counts per document as they are; raise `ResultsError` where they cannot be."""
    for field in table.schema:
        column = table[field.name]
        if field.name not in _MAY_BE_NULL and column.null_count:
            raise _damaged(path, f"a document without {field.name}")
        if pa.types.is_signed_integer(field.type) and (pc.min(column).as_py() or 0) < 0:
            raise _damaged(path, f"a negative number of {field.name}")
    return table


def documents_of(table: pa.Table) -> Counter[str]:
    """Return how many documents of each language there are."""
    found = pc.value_counts(table["language"]).to_pylist()
    return Counter({row["values"]: row["counts"] for row in found})


def check_counted(there: Mapping[str, int], counted: Mapping[str, int], path: Path) -> None:
    """Raise `ResultsError` where documents are missing, or too many.

    `counted` is the number of documents of each language that `run.json` says were counted.
    """
    for language in sorted(there.keys() | counted.keys()):
        n, expected = there.get(language, 0), counted.get(language, 0)
        if n != expected:
            raise _damaged(path, f"{n} of {expected} documents of {language[:80]!r}")


def check_vocabulary(table: pa.Table, n_ids: int, path: Path) -> pa.Table:
    """Return entries as they are; raise `ResultsError` where two have one id, or one too high."""
    ids = table["id"]
    if ids.null_count or pc.count_distinct(ids).as_py() < len(ids):
        raise _damaged(path, "an id twice, or an entry without one")
    if len(ids) and pc.max(ids).as_py() >= n_ids:
        raise _damaged(path, f"an id above {n_ids - 1}, the highest of the tokenizer")
    return table


def _check_json(table: pa.Table, name: str, path: Path) -> None:
    """Check JSON columns; texts that conformance asks with hold lone surrogates, escaped."""
    for text in pc.unique(table[name]).to_pylist():
        try:
            is_object = isinstance(parse_json(text, surrogates=True), dict)
        except ValueError:
            is_object = False
        if not is_object:
            raise _damaged(path, f"{name} {text[:80]!r}, which is not a JSON object")


def _damaged(path: Path, what: str) -> ResultsError:
    return ResultsError(f"{path}: is damaged or was edited: it holds {what}")
