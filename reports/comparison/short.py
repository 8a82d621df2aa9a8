"""A comparison in short: for a job summary or a comment, and for a terminal.

GitHub takes 65,536 characters in a comment and 1 MiB in the summary of a step; the short form
stays under both, whatever was compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.markup import table as plain_table
from tokbench.bench.markup import visible
from tokbench.reports.comparison.markdown import explained, opening, what_moved
from tokbench.reports.comparison.moves import (
    EFFECT_NAMES,
    change,
    figure,
    moves,
    pieces,
    reason_of,
    signed,
    where,
)

MOST_BYTES = 60_000
MOST_ROWS = 20
MOST_EXPLANATIONS = 3


class ComparisonShort(ComparisonPlugin):
    """`comparison-short.md`: verdict, what moved most, top segments, within GitHub's limits."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison-short.md`."""
        return {"comparison-short.md": _fitted(list(_blocks(comparison)))}


def _blocks(comparison: Comparison) -> Iterator[str]:
    yield from opening(comparison)
    yield from what_moved(comparison, MOST_ROWS)
    if comparison.explanations:
        yield "<details>\n<summary>Why</summary>"
        for explanation in comparison.explanations[:MOST_EXPLANATIONS]:
            yield from explained(explanation, by=("cause",))
        yield "</details>"
    yield from comparison.unexplained


LEFT_OUT = "The rest does not fit here: see comparison.md."


def _fitted(blocks: list[str]) -> str:
    """Join whole blocks as long as they fit, and say when some are left out."""
    text = "\n\n".join(blocks) + "\n"
    if len(text.encode()) <= MOST_BYTES:
        return text
    kept: list[str] = []
    room = MOST_BYTES - len(LEFT_OUT) - 30
    for block in blocks:
        room -= len(block.encode()) + 2
        if room < 0:
            break
        kept.append(block)
    open_details = sum(b.startswith("<details>") for b in kept) - kept.count("</details>")
    return "\n\n".join([*kept, *["</details>"] * open_details, LEFT_OUT]) + "\n"


class ComparisonText(ComparisonPlugin):
    """`comparison.txt`: what `tokbench compare` prints."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison.txt`."""
        blocks = [f"{comparison.base.name} → {comparison.candidate.name}: {comparison.sentence()}"]
        remarks = comparison.remarks
        if remarks:
            blocks.append("\n".join(remarks))
        blocks += _moved_text(comparison)
        blocks += _why_text(comparison)
        return {"comparison.txt": "\n\n".join(blocks) + "\n"}


def _moved_text(comparison: Comparison) -> Iterator[str]:
    found = moves(comparison)
    if not found:
        return
    header = ["gate", "verdict", "tokenizer", "corpus", "metric", "where", "base", "candidate"]
    header += ["change", "why"]
    rows = [
        [
            EFFECT_NAMES[m.effect],
            m.outcome,
            m.tokenizer or "all",
            m.corpus or "–",
            m.metric,
            where(m.languages) or ("all" if m.corpus else "–"),
            figure(m.worst.base),
            figure(m.worst.candidate),
            change(m.worst),
            reason_of(m)[:100],
        ]
        for m in found[: 2 * MOST_ROWS]
    ]
    text = plain_table(header, rows, right=[6, 7, 8])
    more = len(found) - len(rows)
    yield f"{text}\n({more:,} more rows)" if more > 0 else text


def _why_text(comparison: Comparison) -> Iterator[str]:
    yield from comparison.unexplained
    for explanation in comparison.explanations:
        causes = ", ".join(f"{p.name} {signed(p.change)}" for p in explanation.by["cause"])
        head = (
            f"why, {explanation.tokenizer} on {explanation.corpus}: "
            f"{explanation.changed_documents:,} of {explanation.documents:,} documents changed, "
            f"{signed(explanation.change)} tokens ({causes or 'no segment was cut in another way'}), "
            f"{explanation.renumbered:,} tokens under another id"
        )
        rows = [
            [pieces(s.base), "→", pieces(s.candidate), f"{s.count:,}×", signed(s.change), s.cause]
            for s in explanation.top[:10]
        ]
        header = ["before", "", "after", "times", "tokens", "cause"]
        notes = [visible(note).replace("␣", " ") for note in explanation.notes]
        segments = [plain_table(header, rows, right=[3, 4])] if rows else []
        yield "\n".join([head, *notes, *segments])
