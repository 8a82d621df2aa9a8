"""What suites give, taken one by one: the fault of a suite costs what it had still to give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from tokbench.bench.errors import is_library_failure, what_failed
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.workers import heartbeat

Given = Measurement | Finding


def collect(give: Callable[[], Iterable[Given]], found: list[Given]) -> str | None:
    """Take all that a suite gives; return why it could not go on, None where it could."""
    try:
        for item in give():
            heartbeat.at("between")
            _check(item)
            found.append(item)
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        return what_failed(exc)
    return None


def _check(item: object) -> None:
    if isinstance(item, Measurement):
        for value in (item.value, item.ci_low, item.ci_high):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{item.metric.name} is {value}, which is no number")
    elif not isinstance(item, Finding):
        raise TypeError(f"it gave a {type(item).__name__}, neither Measurement nor Finding")


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
                metric=spec, suite=suite, tokenizer=tokenizer, status="failed", detail=reason
            )
