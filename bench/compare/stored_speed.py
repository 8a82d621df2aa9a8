"""Stored timings of two runs: a ratio that moved is a warning, never a failure.

Only ratios to a pinned tokenizer are compared, since absolute speeds vary from day to day, and only
if CPU, threads and the build of Python are the same. To fail on speed, time both sides now:
`tokbench.bench.speed.comparison`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tokbench.bench.results.run_folder import Results

MOVED = 1.05
"""Ratio of two stored ratios below which there is no warning."""

_MACHINE: Mapping[str, str] = {
    "cpu": "CPU",
    "cpu_count": "number of CPUs",
    "threads": "number of threads",
    "platform": "platform",
    "python": "Python",
    "implementation": "kind of Python",
    "compiler": "build of Python",
}
_KIND = ("phase", "call", "batch_size", "threads", "text", "length", "reference")

Row = Mapping[str, Any]


def stored_timing(base: Results | None, candidate: Results | None) -> list[str]:
    """Return the comparison of two stored timings, or why they cannot be compared."""
    if candidate is None or not candidate.throughput.num_rows:
        return []
    if base is None:
        return ["timing not compared: a baseline stores no timing"]
    if not base.throughput.num_rows:
        return [f"timing not compared: {base.name} was not timed"]
    if differ := list(machine_differences(base.environment, candidate.environment)):
        return [f"timing not compared: {'; '.join(differ)}"]
    before, after = stored_ratios(base), stored_ratios(candidate)
    shared = [key for key in after if key in before]
    if not shared:
        return ["timing not compared: no ratio to a pinned tokenizer is stored on both sides"]
    lines = [line for key in shared if (line := _warning(before[key], after[key]))]
    told = f"{len(shared)} stored ratios compared, {len(lines)} moved"
    return [*lines, f"{told}; stored timing warns and never fails"]


def machine_differences(base: Row, candidate: Row) -> Iterator[str]:
    """Yield what differs between two environments and makes their timings incomparable."""
    if not base.get("cpu") or base.get("cpu") == "unknown":
        yield "the CPU is not recorded"
    for key, name in _MACHINE.items():
        if base.get(key) != candidate.get(key):
            yield f"the {name} differs ({_shown(base.get(key))} → {_shown(candidate.get(key))})"


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={v}" for k, v in value.items()) or "none set"
    return "not recorded" if value is None else str(value)


def stored_ratios(results: Results) -> dict[tuple[Any, ...], Row]:
    """Return the ratios to a pinned tokenizer that have an interval, by place and kind of call."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in results.throughput.to_pylist():
        if row["metric"] == "relative_speed" and _has_interval(row):
            params = json.loads(row["params"])
            place = row["tokenizer"], row["corpus"], row["language"]
            kind = (json.dumps(params.get(name)) for name in _KIND)
            found[(*place, *kind)] = {**row, "params": params}
    return found


def _has_interval(row: Row) -> bool:
    return all(row[name] is not None and row[name] > 0 for name in ("value", "ci_low", "ci_high"))


def _warning(before: Row, after: Row) -> str | None:
    """Return a line if the intervals are disjoint and the change exceeds the threshold."""
    apart = before["ci_high"] < after["ci_low"] or after["ci_high"] < before["ci_low"]
    moved = after["value"] / before["value"]
    if not apart or max(moved, 1 / moved) <= MOVED:
        return None
    params = after["params"]
    place = " / ".join(filter(None, (after["tokenizer"], after["corpus"], after["language"])))
    return (
        f"warning: {place}, {params.get('phase')}: {ratio_figures(before)} → {ratio_figures(after)} times as "
        "fast "
        f"as {params.get('reference')}; to confirm, time both sides with tokbench speed"
    )


def ratio_figures(row: Row) -> str:
    """Write a ratio with its interval."""
    return f"{row['value']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
