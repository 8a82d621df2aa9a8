"""The verdict on one value, and what verdicts mean for the gate: pure functions, no files.

Exact values have to be equal, floats up to the round-off of adding in another order. A missing
value never passes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tokbench.bench.compare.snapshot import Key, Value
from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.model import Direction, Lane

Outcome = Literal["worse", "changed", "missing", "incomparable", "better", "new", "same"]
"""Outcomes of a value, most severe first."""

Effect = Literal["fails", "incomplete", "passes"]

EFFECTS: tuple[Effect, ...] = ("fails", "incomplete", "passes")
"""Effects of a verdict on the gate, most severe first."""

OUTCOMES: tuple[Outcome, ...] = (
    "worse",
    "changed",
    "missing",
    "incomparable",
    "better",
    "new",
    "same",
)

ROUND_OFF = 1e-12
"""Relative difference that adding floats in another order can make; counts have none."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of one value, in figures, and its effect on the gate."""

    key: Key
    lane: Lane = "exact"
    outcome: Outcome
    base: float | str | None = None
    candidate: float | str | None = None
    unit: str = ""
    direction: Direction = "none"
    reason: str = ""
    gated: bool = True
    within_spread: bool = False
    """Whether it is not gated because its trainer is not deterministic."""
    effect: Effect = "passes"

    @property
    def change(self) -> float | None:
        """Candidate − base; None if either is not a number."""
        if isinstance(self.base, float) and isinstance(self.candidate, float):
            return self.candidate - self.base
        return None

    @property
    def relative_change(self) -> float | None:
        """Change ÷ base; None if undefined."""
        if self.change is None or not isinstance(self.base, float) or not self.base:
            return None
        return self.change / abs(self.base)

    def in_words(self) -> str:
        """Return place, outcome, figures and reason in one line.

        >>> key = Key("gpt2", "web", "en", "tokens")
        >>> Verdict(key=key, outcome="worse", base=200.0, candidate=201.0, unit="tokens").in_words()
        'gpt2 / web / en / tokens: worse: 200 → 201 tokens'
        """
        place = " / ".join(part for part in (*self.key[:3], self.key.name) if part)
        figures = " → ".join(_figure(value) for value in (self.base, self.candidate))
        said = f"{place}: {self.outcome}: {figures} {self.unit}".rstrip()
        return f"{said} ({self.reason})" if self.reason else said


def _figure(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:,.10g}"


def judge(
    base: Value | None,
    candidate: Value | None,
    direction: Direction,
    settings: Rule,
    *,
    obstacle: str | None = None,
) -> tuple[Outcome, str]:
    """Return the outcome of one value, and its reason.

    >>> strict = Gate().settings(metric="tokens")
    >>> judge(Value(value=10.0), Value(value=11.0), "lower", strict)
    ('worse', '')
    >>> judge(Value(value=10.0), None, "lower", strict)
    ('missing', 'missing from the candidate')
    """
    if candidate is None:
        if base is None:
            return "incomparable", "missing on both sides"
        return "missing", "missing from the candidate"
    if base is None:
        return "new", "missing from the base"
    if obstacle:
        return "incomparable", obstacle
    for side, value in (("base", base), ("candidate", candidate)):
        if value.status not in ("ok", "refused"):
            return "incomparable", f"{side}: {value.status}: {value.detail or 'no reason recorded'}"
    if base.value is None or candidate.value is None:
        return _judge_undefined(base, candidate)
    return _judge_values(base.value, candidate.value, direction, settings)


def _judge_undefined(base: Value, candidate: Value) -> tuple[Outcome, str]:
    if base.value is None and candidate.value is None:
        if base.status == candidate.status:
            return "same", f"undefined on both sides: {candidate.detail or 'no reason recorded'}"
        return "incomparable", f"undefined, {base.status} → {candidate.status}"
    if candidate.value is None:
        return "missing", f"the candidate has no value: {candidate.detail or 'no reason recorded'}"
    return "incomparable", f"the base has no value: {base.detail or 'no reason recorded'}"


def _judge_values(
    base: float | str, candidate: float | str, direction: Direction, settings: Rule
) -> tuple[Outcome, str]:
    if isinstance(base, str) or isinstance(candidate, str):
        return ("same", "") if base == candidate else ("changed", "")
    if equal(base, candidate):
        return "same", ""
    if within(base, candidate, settings):
        return "same", f"within its tolerance: {base:.6g} → {candidate:.6g}"
    if direction == "none":
        return "changed", ""
    return ("better" if (candidate > base) == (direction == "higher") else "worse"), ""


def equal(base: float, candidate: float) -> bool:
    """Return whether two numbers are equal: counts exactly, other floats up to round-off.

    >>> equal(0.1 + 0.2, 0.3), equal(10.0**13, 10.0**13 + 1)
    (True, False)
    """
    if base == candidate:
        return True
    if base.is_integer() and candidate.is_integer():
        return False
    return math.isclose(base, candidate, rel_tol=ROUND_OFF)


def within(base: float, candidate: float, settings: Rule) -> bool:
    """Return whether a number changed by no more than its rule allows.

    A move of exactly the tolerance passes, also where round-off makes it look a little larger.

    >>> within(100.0, 101.0, Rule(tolerance=0.01)), within(100.0, 102.0, Rule(tolerance=0.01))
    (True, False)
    """
    allowed = max((settings.tolerance or 0) * abs(base), settings.absolute_tolerance or 0)
    return allowed > 0 and abs(candidate - base) <= allowed * (1 + ROUND_OFF)


def exit_code(verdicts: Iterable[Verdict], *, mismatched: bool = False) -> int:
    """Return 1 if a verdict fails, 3 if one is incomplete or nothing was compared, else 0."""
    verdicts = list(verdicts)
    if any(verdict.effect == "fails" for verdict in verdicts):
        return 1
    if mismatched or any(verdict.effect == "incomplete" for verdict in verdicts):
        return 3
    compared = any(v.outcome in ("worse", "changed", "better", "same") for v in verdicts)
    return 0 if compared else 3


def with_effects(verdicts: Sequence[Verdict], gate: Gate) -> list[Verdict]:
    """Return verdicts with their effects on the gate."""
    improved = _Improved.of(verdicts)
    return [replace(v, effect=_effect(v, gate, improved)) for v in verdicts]


def _effect(verdict: Verdict, gate: Gate, improved: _Improved) -> Effect:
    if not verdict.gated or verdict.lane != "exact":
        return "passes"
    if verdict.outcome in ("missing", "incomparable"):
        return "incomplete"
    if verdict.outcome not in ("worse", "changed"):
        return "passes"
    key = verdict.key
    allow = gate.settings(
        metric=key.metric, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language
    ).allow
    if allow == "anything":
        return "passes"
    if allow == "better" and verdict.outcome == "changed" and improved.at(key):
        return "passes"
    return "fails"


@dataclass(frozen=True, kw_only=True)
class _Improved:
    """Places where values with a direction got better, and where worse."""

    better: Sequence[Key] = field(default_factory=list)
    worse: Sequence[Key] = field(default_factory=list)

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> _Improved:
        gated = [v for v in verdicts if v.gated and v.lane == "exact"]
        return cls(
            better=[v.key for v in gated if v.outcome == "better"],
            worse=[v.key for v in gated if v.outcome == "worse"],
        )

    def at(self, key: Key) -> bool:
        """Return whether a value within a place got better and none got worse."""
        return any(_inside(key, k) for k in self.better) and not any(
            _inside(key, k) for k in self.worse
        )


def _inside(place: Key, key: Key) -> bool:
    return all(wanted in (None, found) for wanted, found in zip(place[:3], key[:3], strict=True))
