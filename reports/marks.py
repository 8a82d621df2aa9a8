"""Marks beside values that must not be compared: of lossy text, and of text trained on.

Every table of a report writes them; the meaning is said where a corpus begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import escape, percent
from tokbench.reports.view import Row, View

UNRANKED, TRAINED = "†", "‡"


def mark_of(row: Row | None) -> str:
    """Return the mark of a value, with a space before it; empty where it may be compared."""
    if row is None or row["value"] is None or row["ranked"] is not False:
        return ""
    return f" {TRAINED}" if row["reason"] == "trained_on_text" else f" {UNRANKED}"


def marks_of(view: View, tokenizer: str, corpus: str) -> str:
    """Return the marks of a tokenizer that has no place in some language of a corpus."""
    reasons = view.unranked.get((tokenizer, corpus), frozenset())
    marks = f" {UNRANKED}" if reasons - {"trained_on_text"} else ""
    return f"{marks} {TRAINED}" if "trained_on_text" in reasons else marks


def marked(view: View, tokenizer: str, corpus: str) -> str:
    """Return a tokenizer's escaped name with its marks on a corpus."""
    return escape(tokenizer) + marks_of(view, tokenizer, corpus)


def explained(view: View, corpus: str) -> Iterator[str]:
    """Say what the marks mean, where a tokenizer has one on this corpus."""
    yield from _legend(
        view, {r for (_, of), rs in view.unranked.items() if of == corpus for r in rs}
    )


def legend(view: View) -> Iterator[str]:
    """Say what the marks mean, where a tokenizer has one on any corpus."""
    yield from _legend(view, {reason for reasons in view.unranked.values() for reason in reasons})


def _legend(view: View, reasons: set[str]) -> Iterator[str]:
    policy = view.run["policy"]
    if reasons - {"trained_on_text"}:
        limit = percent(policy.get("rank_lost_limit", policy["lost_limit"]))
        yield (
            f"{UNRANKED} not ranked in some languages: more than {limit} of the bytes are lost, no "
            "document comes back, token bytes do not add up, there are no tokens, or documents "
            f"failed. Above {percent(policy['lost_limit'], 0)} lost, premiums are refused; the "
            "median is then over the number of languages in brackets."
        )
    if "trained_on_text" in reasons:
        yield f"{TRAINED} trained on this very text: its figures are too good, and it is not ranked."
