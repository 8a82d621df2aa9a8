"""Two sides, one verdict per value, one exit code.

Only values measured on the same text under the same policy are compared; whatever else keeps two
values from being compared makes them incomparable, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tokbench.bench.compare.snapshot import IDENTITY_METRICS, Key, Snapshot, Value
from tokbench.bench.compare.verdicts import (
    EFFECTS,
    OUTCOMES,
    Outcome,
    Verdict,
    exit_code,
    judge,
    with_effects,
)
from tokbench.bench.config.gate import Gate
from tokbench.bench.model import Place

if TYPE_CHECKING:
    from tokbench.bench.compare.explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sides, their verdicts, and all that a report of them says."""

    base: Snapshot
    candidate: Snapshot
    verdicts: tuple[Verdict, ...]
    mismatches: tuple[str, ...] = ()
    """Why the base does not match the candidate as a whole, or in some slices."""
    notes: tuple[str, ...] = ()
    """What a reader should know and no verdict says, such as stored timings."""
    explanations: tuple[Explanation, ...] = ()
    unexplained: tuple[str, ...] = ()
    """What cannot be explained, and what to switch on."""

    @property
    def exit_code(self) -> int:
        """1 when something got worse or changed, 3 when something was not compared, else 0."""
        return exit_code(self.verdicts, mismatched=bool(self.mismatches))

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """Verdicts by outcome, every outcome there."""
        found = Counter(verdict.outcome for verdict in self.verdicts)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def moved(self) -> tuple[Verdict, ...]:
        """Verdicts other than same, gravest first: by effect, outcome, then size of the change."""
        return tuple(
            sorted((v for v in self.verdicts if v.outcome != "same"), key=_gravity),
        )

    def sentence(self) -> str:
        """Return the verdict in one sentence."""
        return _sentence(self)


def _gravity(verdict: Verdict) -> tuple[object, ...]:
    size = verdict.relative_change
    names = list(IDENTITY_METRICS)
    metric = verdict.key.metric
    return (
        EFFECTS.index(verdict.effect),
        OUTCOMES.index(verdict.outcome),
        names.index(metric) if metric in names else len(names),
        -abs(size) if size is not None else 0.0,
        verdict.key.order(),
    )


def compare(base: Snapshot, candidate: Snapshot, gate: Gate) -> Comparison:
    """Return the verdicts on every value that either side has."""
    mismatches = _mismatches(base, candidate)
    spread = _spread(base, candidate)
    keys = sorted({*base.values, *candidate.values}, key=Key.order)
    keys = [key for key in keys if value_of(base, key) or value_of(candidate, key)]
    keys += sorted(_cells_without_values(base, candidate, keys), key=Key.order)
    verdicts = [_verdict(key, base, candidate, gate, mismatches) for key in keys]
    # A baseline holds gated values only: what it leaves out on purpose is not news.
    verdicts = [v for v in verdicts if v.gated or v.outcome != "new"]
    verdicts = [_ungated(v, spread.get(v.key.tokenizer or "")) for v in verdicts]
    return Comparison(
        base=base,
        candidate=candidate,
        verdicts=tuple(with_effects(verdicts, gate)),
        mismatches=tuple(dict.fromkeys(mismatches.values())),
        notes=tuple(spread.values()),
    )


def _mismatches(base: Snapshot, candidate: Snapshot) -> dict[Place | None, str]:
    """Return why values cannot be compared: by slice, or under None for all of them."""
    found: dict[Place | None, str] = {}
    if base.policy != candidate.policy:
        names = sorted({*base.policy, *candidate.policy})
        differ = [n for n in names if base.policy.get(n) != candidate.policy.get(n)]
        found[None] = (
            "the policies differ: "
            + "; ".join(f"{n} {base.policy.get(n)} → {candidate.policy.get(n)}" for n in differ)
            + ": measure both sides under one policy"
        )
    for place in sorted({*base.slices} & {*candidate.slices}):
        before, after = base.slices[place].sha256, candidate.slices[place].sha256
        if before != after:
            found[place] = (
                f"the text of {place[0]}, {place[1]} differs (slice {before[:12]} → "
                f"{after[:12]}): measure both sides on the same text, or save a new baseline"
            )
    return found


def _spread(base: Snapshot, candidate: Snapshot) -> dict[str, str]:
    """Return tokenizers whose models differ because their trainer gives another one each time."""
    found = {}
    for name in sorted({*base.tokenizers} & {*candidate.tokenizers}):
        before, after = base.tokenizers[name], candidate.tokenizers[name]
        again = before.trained and before.trained == after.trained
        if (
            again
            and not (before.trained or {}).get("deterministic", True)
            and before.fingerprint != after.fingerprint
        ):
            found[name] = (
                f"{name} is not gated: it was trained anew, and {(before.trained or {})['trainer']} "
                "gives another model each time from the same text and options, so what moved is "
                "that spread; keep the model (the same TOKBENCH_CACHE, or its file in the config) "
                "to gate it"
            )
    return found


def _ungated(verdict: Verdict, reason: str | None) -> Verdict:
    if reason is None or verdict.outcome == "same":
        return verdict
    reason = _join(verdict.reason, "spread of its trainer")
    return replace(verdict, gated=False, within_spread=True, reason=reason)


def _cells_without_values(base: Snapshot, candidate: Snapshot, keys: Sequence[Key]) -> list[Key]:
    """Return an `ids` key for each cell that no side has: it must not vanish from the verdicts."""
    known = {(k.tokenizer, k.corpus, k.language) for k in keys if k.metric == "ids"}
    cells = {*base.incomplete, *candidate.incomplete}
    return [Key(*cell, "ids") for cell in cells if tuple(cell) not in known]


def _verdict(
    key: Key,
    base: Snapshot,
    candidate: Snapshot,
    gate: Gate,
    mismatches: Mapping[Place | None, str],
) -> Verdict:
    facts = candidate.metrics.get(key.metric) or base.metrics[key.metric]
    settings = gate.settings(
        metric=key.metric, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language
    )
    direction = settings.direction or facts.direction
    before, after = value_of(base, key), value_of(candidate, key)
    obstacle = _obstacle(key, base, candidate, mismatches)
    outcome, reason = judge(before, after, direction, settings, obstacle=obstacle)
    if before is None and after is None:
        reason = base.why_incomplete(key) or candidate.why_incomplete(key) or reason
    elif outcome == "missing" and after is None:
        reason = candidate.why_incomplete(key) or reason
    elif key.metric == "fingerprint" and outcome == "changed":
        reason = _changed_parts(key, base, candidate)
    return Verdict(
        key=key,
        outcome=outcome,
        base=None if before is None else before.value,
        candidate=None if after is None else after.value,
        unit=facts.unit,
        direction=direction,
        reason=reason,
        gated=bool(settings.gated),
    )


def value_of(side: Snapshot, key: Key) -> Value | None:
    """Return a value of one side; a part that was left out of a whole it has is zero.

    Suites write the parts of a value (bytes lost, by cause) only where there is something. A row
    that says that its cell failed is no value.
    """
    found = side.values.get(key)
    if found is not None and found.value is None and found.status in ("failed", "skipped"):
        return None
    if found is None and key.label:
        whole = side.values.get(key._replace(label=""))
        if whole is not None and whole.value is not None and whole.status == "ok":
            return Value(value=0.0)
    return found


def _obstacle(
    key: Key,
    base: Snapshot,
    candidate: Snapshot,
    mismatches: Mapping[Place | None, str],
) -> str | None:
    """Return why a value that both sides have must not be compared, None where it may be."""
    if key.corpus is None:
        return None  # a tokenizer's own facts need no text
    if None in mismatches:
        return mismatches[None]
    for place, reason in mismatches.items():
        if place and place[0] == key.corpus and key.language in (None, place[1]):
            return reason
    if key.language is None:
        before, after = _languages(base, key.corpus), _languages(candidate, key.corpus)
        if before != after:
            return f"over other languages: {_difference(before, after)}"
    return base.why_incomplete(key) or candidate.why_incomplete(key)


def _languages(side: Snapshot, corpus: str) -> set[str]:
    return {language for name, language in side.slices if name == corpus}


def _difference(before: set[str], after: set[str]) -> str:
    parts = [f"without {name}" for name in sorted(before - after)]
    return ", ".join(parts + [f"with {name}" for name in sorted(after - before)])


def _changed_parts(key: Key, base: Snapshot, candidate: Snapshot) -> str:
    name = key.tokenizer or ""
    if name not in base.tokenizers or name not in candidate.tokenizers:
        return ""
    parts = changed_parts(base.tokenizers[name].parts, candidate.tokenizers[name].parts)
    return f"changed: {', '.join(parts)}" if parts else "no recorded part differs"


def changed_parts(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the parts of two fingerprints that differ, those only one side has too.

    >>> changed_parts({"merges": "1", "normalizer": "2"}, {"merges": "3", "normalizer": "2"})
    ['merges']
    """
    return sorted(n for n in {*before, *after} if before.get(n) != after.get(n))


def _sentence(comparison: Comparison) -> str:
    counts = comparison.counts
    compared = sum(counts[o] for o in ("worse", "changed", "better", "same"))
    failing = Counter(v.outcome for v in comparison.verdicts if v.effect == "fails")
    open_ = Counter(v.outcome for v in comparison.verdicts if v.effect == "incomplete")
    if failing:
        return f"Fails: {_listed(failing)} of {compared:,} compared values."
    if not compared:
        return "Nothing to compare: the two sides share no value that may be compared."
    if open_ or comparison.mismatches:
        what = _listed(open_) or "the base does not match"
        return f"Not decided: {what}; the other {compared:,} values pass."
    moved: dict[Outcome, int] = {o: n for o, n in counts.items() if n and o != "same"}
    if moved:
        return f"Passes: {_listed(moved)}, {counts['same']:,} same."
    return f"Passes: all {counts['same']:,} values are the same."


def _listed(counts: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{counts[o]:,} {o}" for o in OUTCOMES if counts.get(o))


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
