"""A comparison as one Markdown page: the verdict, what moved, by language, why, and how.

`tokbench.reports.comparison.short` has the form for job summaries and comments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.compare.causes import changed_versions
from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import ChangedPart, Explanation
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.markup import count, escape, number, percent, signed_percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.comparison.moves import (
    EFFECT_NAMES,
    Move,
    change,
    figure,
    language_lines,
    moved_pairs,
    moves,
    pieces,
    reason_of,
    signed,
    where,
)

MOST_ROWS = 300

METHOD = (
    "Exact values are compared one by one and have to be equal (floats up to a relative "
    "difference of 10⁻¹²), unless the `gate:` block of the config gives a tolerance. *worse* and "
    "*better* follow the direction of the metric; *changed* has none (ids, fingerprint, classes "
    "of round trips) and fails unless allowed; *missing* is a value that only the base has, "
    "*new* one that only the candidate has; *incomparable* values were measured on other text, "
    "under another policy or on a part of the documents. The exit code is 1 when something is "
    "worse or changed, else 3 when something gated is missing or incomparable or the base does "
    "not match, else 0. Values that depend on who else takes part, such as `rank`, are not gated "
    "by default; "
    "stored ratios of speed warn and never fail."
)


class ComparisonMarkdown(ComparisonPlugin):
    """`comparison.md`: the whole comparison on one page."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison.md`."""
        blocks = [
            *opening(comparison),
            *what_moved(comparison, MOST_ROWS),
            *_by_language(comparison),
            *why(comparison),
            *_method(comparison),
        ]
        return {"comparison.md": "\n\n".join(blocks) + "\n"}


def opening(comparison: Comparison) -> Iterator[str]:
    """Yield title, verdict sentence, mismatches and remarks."""
    yield f"# {escape(comparison.base.name)} → {escape(comparison.candidate.name)}"
    yield f"**{escape(comparison.sentence())}**"
    remarks = comparison.remarks
    if remarks:
        yield "\n".join(f"- {escape(remark)}" for remark in remarks)


def what_moved(comparison: Comparison, limit: int) -> Iterator[str]:
    """Yield the table of what moved, gravest first."""
    found = moves(comparison)
    if found:
        yield "## What moved"
        yield from moves_table(found, limit)


def moves_table(found: Sequence[Move], limit: int) -> Iterator[str]:
    """Yield a table of moves, at most `limit`, and what a reader must know of it."""
    if not found:
        return
    header = ["gate", "verdict", "tokenizer", "corpus", "metric", "where", "base", "candidate"]
    header += ["change", "why"]
    yield table(header, [_move_row(move) for move in found[:limit]], left=6)
    if len(found) > limit:
        yield f"{len(found) - limit:,} more rows are left out here."
    if any(len(move.languages) > 1 for move in found[:limit]):
        yield "Of several languages, the figures are those of the first one named."


def _move_row(move: Move) -> list[str]:
    worst = move.worst
    return [
        EFFECT_NAMES[move.effect],
        move.outcome,
        escape(move.tokenizer or "all"),
        escape(move.corpus or "–"),
        escape(move.metric),
        escape(where(move.languages) or ("all" if move.corpus else "–")),
        escape(figure(worst.base)),
        escape(figure(worst.candidate)),
        escape(change(worst)),
        escape(reason_of(move)) or "–",
    ]


def _by_language(comparison: Comparison) -> Iterator[str]:
    pairs = moved_pairs(comparison)
    if pairs:
        yield "## By language"
    for tokenizer, corpus in pairs:
        lines = language_lines(comparison, tokenizer, corpus)
        header = ["language", "script", "tokens before", "after", "change"]
        parallel = any(line.premium for line in lines)
        header += ["premium before", "after"] if parallel else []
        rows = []
        for line in lines:
            row = [escape(line.language), escape(line.script or "–")]
            row += [count(line.base), count(line.candidate)]
            row.append(signed_percent(line.candidate / line.base - 1) if line.base else "–")
            if parallel:
                row += [number(value) for value in line.premium or (None, None)]
            rows.append(row)
        total = sum(line.candidate - line.base for line in lines)
        yield f"### {escape(tokenizer)} on {escape(corpus)}"
        yield table(header, rows, left=2)
        yield f"Together {signed(total)} tokens; languages whose tokens did not move are not listed."


def why(comparison: Comparison) -> Iterator[str]:
    """Yield the explanation, or what to switch on to get one."""
    if not comparison.explanations and not comparison.unexplained:
        return
    yield "## Why"
    for remark in comparison.unexplained:
        yield escape(remark)
    for explanation in comparison.explanations:
        yield from explained(explanation)


def explained(explanation: Explanation, *, by: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the explanation of one tokenizer on one corpus."""
    yield f"### {escape(explanation.tokenizer)} on {escape(explanation.corpus)}"
    yield _in_words(explanation)
    yield from (escape(note) for note in explanation.notes)
    for name, parts in explanation.by.items():
        if by is None or name in by:
            yield _parts_table(name, parts, explanation.change)
    yield from top_segments(explanation)
    yield from _top_documents(explanation)


def _in_words(explanation: Explanation) -> str:
    parts = explanation.parts_differ
    differ = f"What differs: {', '.join(parts)}." if parts else "The fingerprint is the same."
    renumbered = (
        f" {explanation.renumbered:,} tokens kept their bytes under another id."
        if explanation.renumbered
        else ""
    )
    return escape(
        f"{explanation.changed_documents:,} of {explanation.documents:,} documents have other "
        f"ids; tokens {explanation.base_tokens:,} → {explanation.candidate_tokens:,} "
        f"({signed(explanation.change)}). {differ}{renumbered}"
    )


def _parts_table(name: str, parts: Sequence[ChangedPart], whole: int) -> str:
    header = [f"by {name}", "segments", "tokens before", "after", "added", "saved", "change"]
    header.append("share of the change")
    rows = [
        [
            escape(part.name),
            *map(count, (part.segments, part.base_tokens, part.candidate_tokens)),
            *map(count, (part.added, part.saved)),
            signed(part.change),
            percent(part.change / whole) if whole else "–",
        ]
        for part in parts
    ]
    total = [sum(getattr(part, field) for part in parts) for field in _SUMMED]
    rows.append(["**all**", *map(count, total[:5]), signed(total[5]), "100 %" if whole else "–"])
    return table(header, rows)


_SUMMED = ("segments", "base_tokens", "candidate_tokens", "added", "saved", "change")


def top_segments(explanation: Explanation, limit: int = 20) -> Iterator[str]:
    """Yield the segments that made the largest difference."""
    if not explanation.top:
        return
    header = ["before", "after", "times", "tokens", "languages", "script", "cause"]
    rows = [
        [
            escape(_short(pieces(segment.base))),
            escape(_short(pieces(segment.candidate))),
            count(segment.count),
            signed(segment.change),
            escape(where(segment.languages)),
            escape(segment.script),
            escape(segment.cause),
        ]
        for segment in explanation.top[:limit]
    ]
    yield table(header, rows, left=2)


LONGEST = 120


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _top_documents(explanation: Explanation) -> Iterator[str]:
    if not explanation.top_documents:
        return
    named = [
        f"{d.language} {d.document_id} ({d.base_tokens:,} → {d.candidate_tokens:,})"
        for d in explanation.top_documents[:5]
    ]
    yield escape(f"Documents that moved most: {', '.join(named)}.")


def _method(comparison: Comparison) -> Iterator[str]:
    counts = ", ".join(f"{n:,} {outcome}" for outcome, n in comparison.counts.items())
    versions = changed_versions(comparison)
    said = f"Library versions: {', '.join(versions)}." if versions else "Same library versions."
    yield (
        "<details>\n<summary>Method</summary>\n\n"
        f"{METHOD}\n\n{escape(counts)}. {escape(said)}\n\n</details>"
    )
