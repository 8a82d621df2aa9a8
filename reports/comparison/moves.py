"""What the reports on a comparison share: verdicts put together by metric, figures in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.verdicts import Effect, Outcome, Verdict
from tokbench.bench.markup import signed_percent, visible

EFFECT_NAMES: dict[Effect, str] = {
    "fails": "fails",
    "incomplete": "not decided",
    "passes": "passes",
}


@dataclass(frozen=True, kw_only=True)
class Move:
    """One metric of one tokenizer on one corpus that moved in the same way in some languages."""

    effect: Effect
    outcome: Outcome
    tokenizer: str | None
    corpus: str | None
    metric: str
    gated: bool
    verdicts: tuple[Verdict, ...]
    """The largest change first."""

    @property
    def worst(self) -> Verdict:
        """The verdict whose figures stand for all."""
        return self.verdicts[0]

    @property
    def languages(self) -> list[str]:
        """Languages it moved in; none where the value is about all of them."""
        return [v.key.language for v in self.verdicts if v.key.language is not None]


def moves(comparison: Comparison) -> list[Move]:
    """Return what moved, gravest first, one entry per tokenizer, corpus, metric and outcome."""
    groups: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in comparison.moved:
        key = verdict.key
        all_languages = key.language is None
        place = (
            verdict.effect,
            verdict.outcome,
            key.tokenizer,
            key.corpus,
            key.name,
            all_languages,
        )
        groups.setdefault(place, []).append(verdict)
    return [
        Move(
            effect=found[0].effect,
            outcome=found[0].outcome,
            tokenizer=found[0].key.tokenizer,
            corpus=found[0].key.corpus,
            metric=found[0].key.name,
            gated=found[0].gated,
            verdicts=tuple(found),
        )
        for found in groups.values()
    ]


def where(names: Sequence[str]) -> str:
    """Write a list of languages, shortened.

    >>> where(["de"]), where(["de", "en", "fr", "it"])
    ('de', '4 languages: de, en, ...')
    """
    if len(names) < 3:
        return ", ".join(names)
    return f"{len(names)} languages: {', '.join(names[:2])}, ..."


def figure(value: float | str | None) -> str:
    """Write a value: counts in full, other numbers with six digits, hashes as they are.

    >>> figure(12345.0), figure(0.123456789), figure("9f"), figure(None)
    ('12,345', '0.123457', '9f', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"


def change(verdict: Verdict) -> str:
    """Write a change with its sign, and in per cent where the base is not zero.

    >>> from tokbench.bench.compare.snapshot import Key
    >>> key = Key("t", "c", "en", "tokens")
    >>> change(Verdict(key=key, outcome="worse", base=200.0, candidate=201.0))
    '+1 (+0.5 %)'
    """
    if not verdict.change:
        return "–"
    number = verdict.change
    size = signed(number) if number.is_integer() else f"{number:+,.4g}".replace("-", "−")
    share = verdict.relative_change
    return f"{size} ({signed_percent(share)})" if share is not None else size


def reason_of(move: Move) -> str:
    """Return why, and whether the gate looks at it."""
    said = [move.worst.reason] if move.worst.reason else []
    if not move.gated and not move.worst.within_spread:
        said.append("not gated")
    elif move.outcome in ("worse", "changed") and move.effect == "passes" and move.gated:
        said.append("allowed by the gate")
    return "; ".join(said)


def pieces(parts: Iterable[bytes | None]) -> str:
    """Write the pieces of a segment between bars, everything visible.

    >>> pieces([b" the", b"\\xe4", None])
    '␣the · <E4> · ∅'
    """
    return " · ".join("∅" if part is None else piece(part) for part in parts) or "(nothing)"


def piece(content: bytes) -> str:
    """Write the bytes of a token: text where it is UTF-8, other bytes as ``<E4>``."""
    text = content.decode("utf-8", "surrogateescape")
    return "".join(
        f"<{ord(c) - 0xDC00:02X}>" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text
    )


def signed(value: float) -> str:
    """Write a whole number with its sign.

    >>> signed(1200), signed(-3), signed(0)
    ('+1,200', '−3', '0')
    """
    return f"{value:+,.0f}".replace("-", "−") if value else "0"


class LanguageLine(NamedTuple):
    """Tokens of one tokenizer in one language, before and after."""

    language: str
    script: str | None
    base: float
    candidate: float
    premium: tuple[float, float] | None


def language_lines(comparison: Comparison, tokenizer: str, corpus: str) -> list[LanguageLine]:
    """Return the languages whose tokens moved, the largest relative change first."""
    by_key = {v.key[:4]: v for v in comparison.verdicts if not v.key.label}
    lines = []
    for (name, language), facts in comparison.candidate.slices.items():
        verdict = by_key.get((tokenizer, corpus, language, "tokens"))
        if name != corpus or verdict is None or verdict.outcome in ("same", "incomparable"):
            continue
        if isinstance(verdict.base, float) and isinstance(verdict.candidate, float):
            premium = by_key.get((tokenizer, corpus, language, "premium"))
            lines.append(
                LanguageLine(
                    language=language,
                    script=facts.script,
                    base=verdict.base,
                    candidate=verdict.candidate,
                    premium=_pair(premium),
                )
            )
    return sorted(
        lines, key=lambda x: (-abs(x.candidate / x.base - 1) if x.base else 0, x.language)
    )


def _pair(verdict: Verdict | None) -> tuple[float, float] | None:
    if verdict and isinstance(verdict.base, float) and isinstance(verdict.candidate, float):
        return verdict.base, verdict.candidate
    return None


def moved_pairs(comparison: Comparison) -> list[tuple[str, str]]:
    """Return tokenizer and corpus wherever tokens moved."""
    found = {
        (v.key.tokenizer, v.key.corpus)
        for v in comparison.moved
        if v.key.metric == "tokens" and v.outcome in ("worse", "better", "changed")
    }
    return sorted((t, c) for t, c in found if t and c)
