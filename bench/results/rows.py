"""Rows of measurements and findings as they are read: values of the closed lists, JSON that parses.

The tables of a sealed run are as they were written. Those of an older run, of a folder that was
sealed anew, and the noisy ones, which no seal covers, may hold anything of the right type.
"""

from __future__ import annotations

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


def _check_json(table: pa.Table, name: str, path: Path) -> None:
    for text in pc.unique(table[name]).to_pylist():
        try:
            is_object = isinstance(parse_json(text), dict)
        except ValueError:
            is_object = False
        if not is_object:
            raise _damaged(path, f"{name} {text[:80]!r}, which is not a JSON object")


def _damaged(path: Path, what: str) -> ResultsError:
    return ResultsError(f"{path}: is damaged or was edited: it holds {what}")
