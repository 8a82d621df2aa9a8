"""Valid files changed at random: what a damaged or hostile input may look like.

Every run of the tests tries 40 of each kind. The long proof (`-m long`) tries 200, or as many as
`TOKBENCH_MUTATIONS` says. The seed is fixed: a longer run begins with those of a shorter one.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

N = int(os.environ.get("TOKBENCH_MUTATIONS", "200"))
COUNTS = [40, pytest.param(N, marks=pytest.mark.long)]
"""How many to try, for `pytest.mark.parametrize`."""
SEED = 18

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**70, -0.5, 1e308, "", "x", "1", "\x00\x1b[31m", "../../x",
    "x" * 5000, [], [1], [[]], {}, {"a": 1}, {"value": None}, "\ud800", "::error::x", "# <b>|`",
)  # fmt: skip


def mutated(document: Any, chosen: random.Random) -> Any:
    """Return a JSON value with one to three places deleted, replaced, renamed or swapped."""
    copy = json.loads(json.dumps(document))
    for _ in range(chosen.choice((1, 1, 1, 2, 3))):
        places = list(_places(copy))
        if not places:
            break
        holder, key = chosen.choice(places)
        how = chosen.choice(("delete", "replace", "replace", "replace", "rename", "swap"))
        if how == "delete":
            del holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[chosen.choice(("", "x", f"{key} ", "a / b", "\x1b]0;x"))] = holder.pop(key)
        elif how == "swap":
            other, name = chosen.choice(places)
            holder[key], other[name] = other[name], holder[key]
            copy = json.loads(json.dumps(_uncircled(copy)))
        else:
            holder[key] = chosen.choice(VALUES)
    return copy


def changed_table(table: pa.Table, chosen: random.Random) -> pa.Table:
    """Return a table with rows, a column or a value that its writer would not have written."""
    how = chosen.choice(("rows", "column", "type", "name", "nulls", "value", "value", "value"))
    if how == "rows":
        some = [chosen.randrange(max(len(table), 1)) for _ in range(chosen.choice((0, 1, 5)))]
        return table.take(pa.array(some, pa.int64())) if len(table) else table
    name = chosen.choice(table.column_names)
    at = table.column_names.index(name)
    if how == "column":
        return table.drop_columns([name])
    if how == "name":
        return table.rename_columns({name: chosen.choice(("x", name.upper()))})
    if how == "type":
        other = pa.array([chosen.choice(("x", "", None))] * len(table), pa.string())
        return table.set_column(at, name, chosen.choice((other, pa.array(range(len(table))))))
    values = table[name].to_pylist()
    if how == "nulls":
        return table.set_column(at, name, pa.array([None] * len(values), table[name].type))
    if values:
        values[chosen.randrange(len(values))] = chosen.choice((*VALUES, float("nan"), float("inf")))
    try:
        return table.set_column(at, name, pa.array(values, table[name].type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return table  # the column cannot hold it


def flipped(data: bytes, chosen: random.Random) -> bytes:
    """Return bytes with some changed, cut out, doubled, or the end missing."""
    at, n = chosen.randrange(len(data)), chosen.choice((1, 1, 1, 3, 50))
    how = chosen.choice(("flip", "flip", "cut", "double", "end", "none"))
    if how == "flip":
        changed = bytearray(data)
        changed[at] ^= chosen.randrange(1, 256)
        return bytes(changed)
    if how == "cut":
        return data[:at] + data[at + n :]
    if how == "double":
        return data[: at + n] + data[at:]
    return data[:at] if how == "end" else data


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict | list):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from _places(inner)


def _uncircled(value: Any, above: tuple[int, ...] = ()) -> Any:
    if id(value) in above:
        return None
    above = (*above, id(value))
    if isinstance(value, dict):
        return {key: _uncircled(inner, above) for key, inner in value.items()}
    return [_uncircled(inner, above) for inner in value] if isinstance(value, list) else value
