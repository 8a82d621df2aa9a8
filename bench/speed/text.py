"""A comparison of speed as text, as Markdown and as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tokbench.bench.files import write_json, write_whole
from tokbench.bench.markup import escape, markdown_table, table
from tokbench.bench.results.schemas import write_parquet
from tokbench.bench.speed.comparison import SpeedComparison
from tokbench.bench.speed.verdict import SpeedVerdict
from tokbench.bench.timing.ratios import Ratio

_ORDER = ("slower", "incomparable", "inconclusive", "unconfirmed", "faster", "same")
_HEADER = ["cell", "verdict", "time ÷ base", "95 % interval", "processes", "again", "why"]


def sentence(comparison: SpeedComparison) -> str:
    """Return the verdict in one sentence."""
    counts = Counter[str](verdict.outcome for verdict in comparison.verdicts)
    told = ", ".join(f"{counts[name]} {name}" for name in _ORDER if counts[name])
    if not comparison.verdicts:
        return "Nothing to compare: no cell of the config can be timed this way."
    if counts["slower"]:
        return f"Fails: {told}."
    if counts["incomparable"]:
        return f"Not decided: {told}."
    return f"{'Cannot tell' if counts['inconclusive'] else 'Passes'}: {told}."


def method(comparison: SpeedComparison) -> str:
    """Return in words how the figures were measured and what would have failed."""
    limits = comparison.limits
    return (
        f"Each process: {limits.rounds} rounds of about {limits.milliseconds:g} ms a side, in "
        "shuffled order, garbage collection off; the median of the rounds' ratios, by CPU time on "
        "one thread and by wall time on several. Interval: Student's t over processes, pointwise. "
        f"A cell fails if the interval lies above {limits.bound:g} and the estimate above "
        f"{limits.estimate:g}, in two sets of fresh processes."
    )


def render(comparison: SpeedComparison) -> str:
    """Return what the command prints."""
    rows = [_row(verdict) for verdict in _sorted(comparison.verdicts)]
    blocks = [
        f"{comparison.base} → {comparison.candidate}: {sentence(comparison)}",
        *_facts(comparison),
        table(_HEADER, rows, right=[2, 4]),
        method(comparison),
    ]
    return "\n\n".join(blocks) + "\n"


def markdown(comparison: SpeedComparison) -> str:
    """Return a report for people: a job summary or a comment."""
    rows = [[escape(cell) for cell in _row(v)] for v in _sorted(comparison.verdicts)]
    blocks = [
        "# Speed",
        f"{escape(comparison.base)} → {escape(comparison.candidate)}: **{sentence(comparison)}**",
        *map(escape, _facts(comparison)),
        markdown_table(_HEADER, rows, left=2),
        escape(method(comparison)),
    ]
    return "\n\n".join(blocks) + "\n"


def _facts(comparison: SpeedComparison) -> list[str]:
    versions = comparison.facts.get("versions", {})
    sides = [
        f"{name}: {v['base']} → {v['candidate']}"
        for name, v in versions.items()
        if isinstance(v, dict)
    ]
    machine = f"{comparison.facts['cells']} cells on {comparison.facts['cpu']}"
    return ["; ".join([machine, *sides])]


def to_json(comparison: SpeedComparison) -> dict[str, Any]:
    """Return plain values for programs."""
    return {
        "base": comparison.base,
        "candidate": comparison.candidate,
        "exit_code": comparison.exit_code,
        "sentence": sentence(comparison),
        "limits": comparison.limits.model_dump(),
        "facts": dict(comparison.facts),
        "verdicts": [asdict(verdict) for verdict in _sorted(comparison.verdicts)],
    }


def _sorted(verdicts: Sequence[SpeedVerdict]) -> list[SpeedVerdict]:
    return sorted(verdicts, key=lambda v: (_ORDER.index(v.outcome), v.cell))


def _row(verdict: SpeedVerdict) -> list[str]:
    ratio = verdict.ratio
    return [
        verdict.cell,
        verdict.outcome,
        f"{ratio.estimate:.3f}" if ratio else "–",
        _interval(ratio),
        str(ratio.processes) if ratio else "–",
        verdict.again.in_words() if verdict.again else "–",
        "; ".join(filter(None, (verdict.reason, *verdict.remarks))),
    ]


def _interval(ratio: Ratio | None) -> str:
    return f"{ratio.low:.3f} to {ratio.high:.3f}" if ratio else "–"


def write(comparison: SpeedComparison, folder: Path) -> None:
    """Write `speed.md`, `speed.json` and every lap to a folder."""
    from tokbench.bench.speed import text

    write_whole(folder / "speed.md", text.markdown(comparison))
    write_json(folder / "speed.json", text.to_json(comparison))
    write_parquet(folder / "laps.parquet", comparison.table())
