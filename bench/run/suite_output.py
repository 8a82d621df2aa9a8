"""What suites give, taken one by one: the fault of a suite costs what it had still to give."""

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
    """Take all that a suite gives, under the name of its entry point.

    Returns why it could not go on, None where it could.
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
    """Return what a suite gave with the suite's name; raise where it cannot be a result."""
    if isinstance(item, Measurement):
        _check(item)
    elif isinstance(item, Finding):
        known_reason(item.reason)
    else:
        raise TypeError(f"it gave a {type(item).__name__}, neither Measurement nor Finding")
    return item if item.suite == suite else replace(item, suite=suite)


def _check(item: Measurement) -> None:
    for value in (item.value, item.ci_low, item.ci_high):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"metric {item.metric.name} returned {value}, not a finite number")
    if item.reason is not None:
        known_reason(item.reason)
    elif item.value is None or item.status != "ok":
        raise ValueError(f"{item.metric.name} has no plain value and no reason")


def stopped(suite: str, message: str) -> Finding:
    """Return the finding on a suite that could not go on."""
    return Finding(kind="failure", suite=suite, reason="suite_failed", message=message)


def failed_rows(
    suite: str,
    specs: Sequence[MetricSpec],
    found: Iterable[Given],
    reason: str,
    tokenizer: str | None = None,
) -> Iterator[Measurement]:
    """Give every metric that a suite did not come to a row all the same, with the reason."""
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
