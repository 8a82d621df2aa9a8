"""Which values may be compared: the column `ranked`, and the reason where it is false.

A value counts against other tokenizers only where its cell gives the text back, was counted whole
and is not what the tokenizer was trained on. A value over all languages of a corpus needs that of
each of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.model import Measurement
from tokbench.bench.reasons import OUTSIDE, UNRANKED, Why

RANK_LOST_LIMIT = 0.001
"""The limit for runs that did not store one."""

_Where = tuple[str | None, str | None, str | None]


def with_ranked(
    measurements: Iterable[Measurement], tallies: Tallies
) -> Iterator[tuple[Measurement, bool]]:
    """Yield each measurement, with the reason of its cell where it has none, and `ranked`."""
    reasons = _reasons(tallies)
    for one in measurements:
        why = reasons.get((one.tokenizer, one.corpus, one.language))
        plain = one.value is not None and one.status == "ok"
        ranked = plain and why is None and one.reason not in UNRANKED | OUTSIDE
        if plain and why is not None and one.reason is None:
            detail = one.detail if one.metric.lane == "noisy" else one.detail or why.detail
            one = replace(one, reason=why.reason, detail=detail)
        yield one, ranked


def _reasons(tallies: Tallies) -> dict[_Where, Why]:
    """Return why cells are not ranked, and corpora by their first such language."""
    found: dict[_Where, Why] = {}
    for cell in tallies.counted():
        why = tallies.why_unranked(cell)
        if why is not None:
            found[cell.key] = why
            found.setdefault((cell.key.tokenizer, cell.key.corpus, None), why)
    return found


def derived(table: pa.Table, policy: Mapping[str, Any]) -> pa.Array:
    """Return `ranked` of a run that did not store it, from the bytes that its cells lost."""
    rows: list[dict[str, Any]] = table.to_pylist()
    limit = min(policy.get("rank_lost_limit", RANK_LOST_LIMIT), policy["lost_limit"])
    lossy: set[_Where] = set()
    for row in rows:
        total = row["metric"] == "lost_byte_share" and "cause" not in json.loads(row["params"])
        if total and (row["value"] or 0.0) > limit:
            lossy.add((row["tokenizer"], row["corpus"], row["language"]))
            lossy.add((row["tokenizer"], row["corpus"], None))
    return pa.array(
        [
            row["value"] is not None
            and row["status"] == "ok"
            and (row["tokenizer"], row["corpus"], row["language"]) not in lossy
            for row in rows
        ],
        pa.bool_(),
    )
