"""A comparison in short: for a job summary or a comment, and for a terminal.

GitHub takes 65,536 characters in a comment and 1 MiB in the summary of a step; the short form
stays under both, whatever was compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.markup import count, escape, markdown_table, signed_percent, visible
from tokbench.bench.markup import table as plain_table
from tokbench.reports.comparison.facts import SizeFact, explanation_of, other_moves, size_facts
from tokbench.reports.comparison.markdown import explained, moves_table, top_segments
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
MOST_FACTS = 3
MOST_LANGUAGES = 5
MOST_SEGMENTS = 3


class ComparisonShort(ComparisonPlugin):
    """`comparison-short.md`: the fact, the languages that moved most, three segments, the rest folded."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison-short.md`."""
        return {"comparison-short.md": _fitted(list(_blocks(comparison)))}


def _blocks(comparison: Comparison) -> Iterator[str]:
    facts = size_facts(comparison)
    for fact in facts[:MOST_FACTS]:
        yield f"**{escape(fact.sentence())}**{escape(fact.detail())}"
    yield f"**{escape(comparison.sentence())}**" if not facts else escape(comparison.sentence())
    yield f"{escape(comparison.base.name)} → {escape(comparison.candidate.name)}"
    telling = [*comparison.mismatches, *comparison.on_rules]
    if telling:
        yield "\n".join(f"- {escape(line)}" for line in telling)
    yield from _sizes(facts)
    for fact in facts[:1]:
        yield from _languages(fact)
        known = explanation_of(comparison, fact.tokenizer, fact.corpus)
        if known is not None:
            yield from top_segments(known, limit=MOST_SEGMENTS)
    speed = [note for note in comparison.notes if _is_on_speed(note)]
    yield from (escape(note) for note in speed[-1:])
    yield from _folded(comparison, [note for note in comparison.notes if note not in speed[-1:]])


def _sizes(facts: Sequence[SizeFact]) -> Iterator[str]:
    """Yield the table of tokens: one row for each tokenizer and corpus."""
    if not facts:
        return
    header = ["tokenizer", "corpus", "tokens before", "after", "change", "languages worse"]
    rows = [
        [
            escape(fact.tokenizer),
            escape(fact.corpus),
            count(fact.base),
            count(fact.candidate),
            "–" if fact.change is None else signed_percent(fact.change),
            f"{fact.worse} of {fact.languages}",
        ]
        for fact in facts[:MOST_ROWS]
    ]
    yield markdown_table(header, rows, left=2)


def _languages(fact: SizeFact) -> Iterator[str]:
    """Yield the languages that moved most."""
    if fact.languages < 2:
        return
    header = ["moved most", "tokens before", "after", "change"]
    rows = [
        [
            escape(line.language),
            count(line.base),
            count(line.candidate),
            signed_percent(line.candidate / line.base - 1) if line.base else "–",
        ]
        for line in fact.lines[:MOST_LANGUAGES]
    ]
    yield markdown_table(header, rows)


def _is_on_speed(note: str) -> bool:
    return note.startswith("timing not compared") or note.endswith("warns and never fails")


def _folded(comparison: Comparison, notes: Sequence[str]) -> Iterator[str]:
    """Yield everything else behind a click."""
    inside = [
        *(["\n".join(f"- {escape(note)}" for note in notes)] if notes else []),
        *moves_table(other_moves(comparison), MOST_ROWS),
        *(escape(line) for line in comparison.unexplained),
    ]
    for explanation in comparison.explanations[:MOST_EXPLANATIONS]:
        inside += explained(explanation, by=("cause",))
    if inside:
        yield "<details>\n<summary>What else moved, and why</summary>"
        yield from inside
        yield "</details>"


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
