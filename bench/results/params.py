"""The params of rows: which of them distinguish values of one metric, and which only qualify one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
"""A row of measurements whose `params` are parsed."""


def telling_params(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return the params that distinguish values of one metric at one place, by metric.

    Params hold labels (class, cause) and facts (documents seen). Text is taken for a label before
    a number is, and both only where values would fall together without them.

    >>> place = {"metric": "round_trip", "tokenizer": "t", "corpus": "c", "language": "en"}
    >>> telling_params([
    ...     {**place, "params": {"class": "exact", "documents": 9}},
    ...     {**place, "params": {"class": "lossy", "documents": 1}},
    ... ])
    {'round_trip': ('class',)}
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        place = (row["metric"], row["tokenizer"], row["corpus"], row["language"])
        groups.setdefault(place, []).append(row)
    found: dict[str, set[str]] = {}
    for (metric, *_), group in groups.items():
        if len(group) > 1:
            found.setdefault(metric, set()).update(_telling_apart([r["params"] for r in group]))
    return {metric: tuple(sorted(names)) for metric, names in found.items()}


def _telling_apart(params: Sequence[Mapping[str, Any]]) -> list[str]:
    varying = sorted(
        name
        for name in {name for p in params for name in p}
        if len({json.dumps(p.get(name), sort_keys=True) for p in params}) > 1
    )
    texts = [n for n in varying if all(isinstance(p.get(n), str | None) for p in params)]
    if _distinct(params, texts):
        return texts
    for name in varying:
        if _distinct(params, [*texts, name]):
            return [*texts, name]
    return varying


def _distinct(params: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    seen = {json.dumps([p.get(name) for name in names], sort_keys=True) for p in params}
    return len(seen) == len(params)
