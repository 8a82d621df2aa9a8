"""What `plan --estimate` said of a plan, kept in the cache until its run can set the truth beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tokbench.bench.cache import cache_folder
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json, read_bounded, write_json
from tokbench.bench.run.plan import Plan

QUANTITIES = ("bytes", "cpu_seconds", "seconds", "memory", "disk")
"""What is estimated and measured: bytes of text, CPU and clock seconds, the highest resident bytes
of a worker, bytes of slices and results."""

LARGEST = 10**5
"""Bytes of the largest file of an estimate."""


def keep_estimate(plan: Plan, estimate: Mapping[str, Any]) -> None:
    """Keep an estimate for the run of this plan; without room for it, it is not kept."""
    with contextlib.suppress(ResultsError):
        write_json(_path(plan), {name: estimate[name] for name in (*QUANTITIES, "jobs")})


def kept_estimate(plan: Plan) -> dict[str, Any] | None:
    """Return the last estimate of this plan, None where there is none."""
    try:
        found = parse_json(read_bounded(_path(plan), LARGEST))
    except (ResultsError, ValueError):
        return None
    return found if isinstance(found, dict) and set(QUANTITIES) < set(found) else None


def _path(plan: Plan) -> Path:
    return cache_folder("estimates") / f"{plan.sha256}.json"


def measured(
    folder: Path,
    slices: Iterable[Any],
    started: datetime,
    seconds: Mapping[str, float],
    peaks: Mapping[str, int],
) -> dict[str, Any]:
    """Return what a run took up to now, in the quantities of an estimate."""
    parts = list(slices)
    files = [*(p for p in folder.rglob("*") if p.is_file()), *{part.path for part in parts}]
    return {
        "bytes": sum(part.meta.bytes for part in parts),
        "cpu_seconds": round(sum(seconds.values()), 1),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "memory": max(peaks.values(), default=0),
        "disk": sum(path.stat().st_size for path in files),
    }
