"""What a comparison comes to, for a comment: one fact for each tokenizer and corpus.

Tokens, bytes per token, premium and share of the context say one thing in different units, so a
comment says it once, in tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import Explanation
from tokbench.bench.compare.verdicts import Verdict
from tokbench.bench.markup import signed_percent
from tokbench.reports.comparison.moves import (
    LanguageLine,
    Move,
    language_lines,
    moved_pairs,
    moves,
)

FOLLOW_FROM_TOKENS = frozenset(
    {
        "bytes_per_token", "characters_per_token", "graphemes_per_token", "tokens_per_word",
        "tokens_per_character", "mean_tokens_per_character", "normalized_sequence_length",
        "token_ratio", "premium", "overhead", "program_premium", "mean_premium",
        "context_characters", "context_words", "context_share",
    }
)  # fmt: skip
"""Metrics that move because tokens do, while the text stays."""


@dataclass(frozen=True, kw_only=True)
class SizeFact:
    """How the tokens of one tokenizer moved on one corpus."""

    tokenizer: str
    corpus: str
    base: float
    candidate: float
    languages: int
    """Languages that both sides counted."""
    lines: Sequence[LanguageLine]
    """Languages that moved, the largest relative change first."""
    changed_ids: str
    """Where ids changed, in words."""

    @property
    def change(self) -> float | None:
        """Relative change of all tokens, None where there were none."""
        return self.candidate / self.base - 1 if self.base else None

    @property
    def worse(self) -> int:
        """Languages with more tokens than before."""
        return sum(line.candidate > line.base for line in self.lines)

    @property
    def worst(self) -> LanguageLine | None:
        """The language whose tokens grew by the largest share."""
        grown = [line for line in self.lines if line.candidate > line.base > 0]
        return max(grown, key=lambda line: line.candidate / line.base, default=None)

    def sentence(self) -> str:
        """Return the fact, such as "mine: +1.4 % tokens on sentences"."""
        size = "–" if self.change is None else signed_percent(self.change)
        return f"{self.tokenizer}: {size} tokens on {self.corpus}"

    def detail(self) -> str:
        """Return in how many languages, the worst of them, and where ids changed."""
        said = f"{self.worse} of {self.languages} languages worse"
        if self.languages == 1:
            said = "" if self.worse else "fewer tokens"
        worst = self.worst
        if worst and self.languages > 1:
            said += f"; worst {worst.language} {signed_percent(worst.candidate / worst.base - 1)}"
        return f"{f' ({said})' if said else ''}. {self.changed_ids}"


def size_facts(comparison: Comparison) -> list[SizeFact]:
    """Return the facts, the largest relative change first."""
    found = [_fact(comparison, tokenizer, corpus) for tokenizer, corpus in moved_pairs(comparison)]
    return sorted(found, key=lambda f: (-abs(f.change or 0), f.tokenizer, f.corpus))


def _fact(comparison: Comparison, tokenizer: str, corpus: str) -> SizeFact:
    counted = [
        (v.base, v.candidate)
        for v in _of(comparison, tokenizer, corpus, "tokens")
        if isinstance(v.base, float) and isinstance(v.candidate, float)
    ]
    return SizeFact(
        tokenizer=tokenizer,
        corpus=corpus,
        base=sum(base for base, _ in counted),
        candidate=sum(candidate for _, candidate in counted),
        languages=len(counted),
        lines=language_lines(comparison, tokenizer, corpus),
        changed_ids=_changed_ids(comparison, tokenizer, corpus),
    )


def _of(comparison: Comparison, tokenizer: str, corpus: str, metric: str) -> list[Verdict]:
    return [
        v
        for v in comparison.verdicts
        if (v.key.tokenizer, v.key.corpus, v.key.metric) == (tokenizer, corpus, metric)
        and v.key.language is not None
        and not v.key.label
        and v.outcome != "incomparable"
    ]


def explanation_of(comparison: Comparison, tokenizer: str, corpus: str) -> Explanation | None:
    """Return why ids moved there, None where ids were not kept."""
    found = (e for e in comparison.explanations if (e.tokenizer, e.corpus) == (tokenizer, corpus))
    return next(found, None)


def _changed_ids(comparison: Comparison, tokenizer: str, corpus: str) -> str:
    known = explanation_of(comparison, tokenizer, corpus)
    if known is not None:
        return f"Ids changed in {known.changed_documents:,} of {known.documents:,} documents."
    hashes = _of(comparison, tokenizer, corpus, "ids")
    changed = sum(v.outcome == "changed" for v in hashes)
    return f"Ids changed in {changed} of {len(hashes)} languages." if hashes else ""


def other_moves(comparison: Comparison) -> list[Move]:
    """Return what moved beside tokens and what follows from them."""
    pairs = set(moved_pairs(comparison))
    return [
        move
        for move in moves(comparison)
        if (move.tokenizer, move.corpus) not in pairs
        or move.metric.partition("[")[0] not in FOLLOW_FROM_TOKENS | {"tokens", "ids"}
    ]
