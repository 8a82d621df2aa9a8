"""A bisection as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokbench.bench.commands.bisect.bisection import Bisection, TriedVersion, lines_of
from tokbench.bench.commands.bisect.probes import Difference
from tokbench.bench.markup import table, visible

SHOWN = 20
WIDEST = 60


def render(found: Bisection) -> str:
    """Return the answer, every version that was tried, and how the first one differs."""
    return "\n\n".join(_blocks(found))


def _blocks(found: Bisection) -> Iterator[str]:
    yield " ".join(lines_of(found))
    rows = [[found.good, "good", ""], *(_row(one) for one in found.tried)]
    yield table([found.package, f"{found.by} against {found.good}", "why"], rows)
    if found.first is not None:
        yield _differences(found.first.differences)
        yield from _examples(found.first.differences)


def _row(one: TriedVersion) -> list[str]:
    calls = sorted({difference.call for difference in one.differences})
    return [one.version, one.outcome, one.reason or ", ".join(calls)]


def _differences(found: Sequence[Difference]) -> str:
    rows = [[one.tokenizer, one.call, one.where, one.before, one.after] for one in found[:SHOWN]]
    shown = table(["tokenizer", "call", "texts", "before", "after"], rows)
    more = len(found) - SHOWN
    return f"{shown}\nand {more:,} more" if more > 0 else shown


def _examples(found: Sequence[Difference]) -> Iterator[str]:
    for one in found:
        if one.example:
            text = visible(one.example)
            short = text if len(text) <= WIDEST else f"{text[:WIDEST]}…"
            yield f"{one.tokenizer}, {one.call}: {short}\n  {one.before}\n  {one.after}"
