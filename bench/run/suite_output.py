"""Collects a suite's rows; if the suite fails, only its remaining rows are lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tokbench.bench.errors import is_library_failure, what_failed
from tokbench.bench.guard import contained
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import known_reason
from tokbench.bench.workers import heartbeat

Given = Measurement | Finding
One = TypeVar("One", bound=Given)


def collect(suite: str, give: Callable[[], Iterable[Given]], found: list[Given]) -> str | None:
    """Collect all rows of a suite, under the name of its entry point.

    Returns the failure of the suite, None if it finished.
    """
    try:
        with contained():
            for item in give():
                heartbeat.at("between")
                found.append(stamped(suite, item))
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        return what_failed(exc)
    return None


def stamped(suite: str, item: One) -> One:
    """Return a suite's row with the suite's name; raise if it is not a valid result."""
    if isinstance(item, Measurement):
        _check(item)
    elif isinstance(item, Finding):
        known_reason(item.reason)
    else:
        raise TypeError(
            f"it yielded a {type(item).__name__}, which is neither a Measurement nor a Finding"
        )
    return item if item.suite == suite else replace(item, suite=suite)


def _check(item: Measurement) -> None:
    for value in (item.value, item.ci_low, item.ci_high):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"metric {item.metric.name} returned {value}, not a finite number")
    if item.reason is not None:
        known_reason(item.reason)
    elif item.value is None or item.status != "ok":
        raise ValueError(f"{item.metric.name} has neither a plain value nor a reason")


def stopped(suite: str, message: str) -> Finding:
    """Return the finding on a suite that failed."""
    return Finding(kind="failure", suite=suite, reason="suite_failed", message=message)


def failed_rows(
    suite: str,
    specs: Sequence[MetricSpec],
    found: Iterable[Given],
    reason: str,
    tokenizer: str | None = None,
) -> Iterator[Measurement]:
    """Add a row with the reason for every metric that a failed suite did not reach."""
    given = {item.metric.name for item in found if isinstance(item, Measurement)}
    for spec in specs:
        if spec.name not in given:
            yield Measurement(
                metric=spec,
                suite=suite,
                tokenizer=tokenizer,
                status="failed",
                reason="suite_failed",
                detail=reason,
            )
