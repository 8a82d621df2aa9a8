"""Two sides, one verdict per value, one exit code.

Only values measured on the same text under the same policy are compared; all others are
incomparable, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tokbench.bench.compare.snapshot import (
    IDENTITY_METRICS,
    Key,
    MetricFacts,
    Snapshot,
    Value,
    metric_facts,
)
from tokbench.bench.compare.verdicts import (
    EFFECTS,
    OUTCOMES,
    Outcome,
    Verdict,
    exit_code,
    judge,
    with_effects,
)
from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.model import Place
from tokbench.bench.results.schemas import REDEFINED

if TYPE_CHECKING:
    from tokbench.bench.compare.explanation import Explanation
    from tokbench.bench.compare.side_by_side import TextPair


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two sides, their verdicts, and the content of their report."""

    base: Snapshot
    candidate: Snapshot
    verdicts: tuple[Verdict, ...]
    mismatches: tuple[str, ...] = ()
    """Reasons why the base does not match the candidate as a whole, or in some slices."""
    notes: tuple[str, ...] = ()
    """Notes beyond the verdicts, such as stored timings."""
    explanations: tuple[Explanation, ...] = ()
    unexplained: tuple[str, ...] = ()
    """Changes that cannot be explained, and the option to set."""
    texts: tuple[TextPair, ...] = ()
    """Stored texts whose tokens changed, as both sides cut them."""
    let_pass: Mapping[Outcome, int] = field(default_factory=dict)
    """Values that pass only because of rules, by the outcome that they would have without them."""
    rules_from: Literal["base", "candidate"] | None = None
    """The side whose rules decided; None if it does not matter."""
    on_rules: tuple[str, ...] = ()
    """Differences between the rules of the two sides, and the verdict under the other rules."""

    @property
    def exit_code(self) -> int:
        """1 if something got worse or changed, 3 if something was not compared, else 0."""
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

    @property
    def remarks(self) -> tuple[str, ...]:
        """Mismatches, rules and notes, shown below the verdict."""
        return (*self.mismatches, *self.on_rules, *self.notes)

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
    """Return the verdicts on every value that either side has, or that a baseline should have."""
    sides = _Sides.of(base, candidate)
    verdicts = sides.verdicts(gate)
    let_pass: Mapping[Outcome, int] = {}
    if gate.rules:
        strict = {v.key: v for v in sides.verdicts(Gate())}
        let_pass = Counter(
            strict[v.key].outcome
            for v in verdicts
            if v.effect == "passes" and strict[v.key].effect != "passes"
        )
    return Comparison(
        base=base,
        candidate=candidate,
        verdicts=tuple(verdicts),
        mismatches=tuple(dict.fromkeys(sides.mismatches.values())),
        notes=tuple(sides.spread.values()),
        let_pass=let_pass,
    )


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """Two snapshots, and their mismatches under any rules."""

    base: Snapshot
    candidate: Snapshot
    keys: Sequence[Key]
    metrics: Mapping[str, MetricFacts]
    mismatches: Mapping[Place | None, str]
    spread: Mapping[str, str]
    lacking: frozenset[Key]
    """Values that the base should have by its own head, but does not."""

    @classmethod
    def of(cls, base: Snapshot, candidate: Snapshot) -> _Sides:
        keys = sorted({*base.values, *candidate.values}, key=Key.order)
        keys = [key for key in keys if value_of(base, key) or value_of(candidate, key)]
        lacking = _lacking(base, keys)
        keys += sorted(lacking.difference(keys), key=Key.order)
        keys += sorted(_cells_without_values(base, candidate, keys), key=Key.order)
        return cls(
            base=base,
            candidate=candidate,
            keys=keys,
            metrics={**metric_facts([]), **base.metrics, **candidate.metrics},
            mismatches=_mismatches(base, candidate),
            spread=_spread(base, candidate),
            lacking=lacking,
        )

    def verdicts(self, gate: Gate) -> list[Verdict]:
        """Return the verdict of a gate on every value; new values that it does not gate are omitted."""
        found = [_verdict(key, self, gate) for key in self.keys]
        found = [v for v in found if v.gated or v.outcome != "new"]
        found = [_ungated(v, self.spread.get(v.key.tokenizer or "")) for v in found]
        return with_effects(found, gate)


def _lacking(base: Snapshot, keys: Sequence[Key]) -> frozenset[Key]:
    """Return the values that a baseline names in its head but has no row for.

    Values that its own rules do not gate are omitted on purpose. A missing part is fine if other
    parts of the same metric exist: suites write the parts that occur.
    """
    if base.origin != "baseline":
        return frozenset()
    rows = {key[:4] for key in base.values}
    gate = Gate(rules=base.rules)
    wanted = {key for key in keys if _is_named(base, key)}
    for name in base.tokenizers:
        wanted.add(Key(name, None, None, "fingerprint"))
        wanted |= {Key(name, *p, "ids") for p, facts in base.slices.items() if facts.documents}
    lacking = {key for key in wanted if key[:4] not in rows}
    return frozenset(key for key in lacking if settings_of(gate, key).gated)


def _is_named(base: Snapshot, key: Key) -> bool:
    """Return whether a baseline's head names the tokenizer, the text and the metric of a value."""
    return (
        key.metric in base.metrics
        and (key.tokenizer is None or key.tokenizer in base.tokenizers)
        and (key.corpus is None or (key.corpus, key.language) in base.places)
    )


def settings_of(gate: Gate, key: Key) -> Rule:
    """Return the verdict of a gate on one value."""
    return gate.settings(
        metric=key.metric, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language
    )


def _mismatches(base: Snapshot, candidate: Snapshot) -> dict[Place | None, str]:
    """Return why values cannot be compared: by slice, or under None for all of them."""
    found: dict[Place | None, str] = {}
    names = {*base.policy, *candidate.policy}
    if base.schema != candidate.schema:  # an older one records less
        names = {*base.policy} & {*candidate.policy}
    differ = sorted(n for n in names if base.policy.get(n) != candidate.policy.get(n))
    if differ:
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
    """Return tokenizers whose models differ because their trainer is not deterministic."""
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
                f"{name} is not gated: it was trained again, and "
                f"{(before.trained or {})['trainer']} "
                "is not deterministic, so the changes are its spread; to gate it, keep the model "
                "(the same TOKBENCH_CACHE, or its file in the config)"
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


def _verdict(key: Key, sides: _Sides, gate: Gate) -> Verdict:
    base, candidate = sides.base, sides.candidate
    facts = sides.metrics[key.metric]
    settings = settings_of(gate, key)
    direction = settings.direction or facts.direction
    before, after = value_of(base, key), value_of(candidate, key)
    outcome, reason = judge(before, after, direction, settings, obstacle=_obstacle(key, sides))
    if key in sides.lacking:
        outcome, reason = (
            "missing",
            ("the base names it but has no such row: the file was edited; save the baseline again"),
        )
    elif before is None and after is None:
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

    Suites write the parts of a value (bytes lost, by cause) only where there is something. The row
    of a failed cell is not a value.
    """
    found = side.values.get(key)
    if found is not None and found.value is None and found.status in ("failed", "skipped"):
        return None
    if found is None and key.label:
        whole = side.values.get(key._replace(label=""))
        if whole is not None and whole.value is not None and whole.status == "ok":
            return Value(value=0.0)
    return found


def _obstacle(key: Key, sides: _Sides) -> str | None:
    """Return why a value that both sides have must not be compared, None where it may be."""
    base, candidate = sides.base, sides.candidate
    if redefined := _redefined(key.metric, base.schema, candidate.schema):
        return redefined
    if key.corpus is None:
        return None  # a tokenizer's own facts need no text
    if None in sides.mismatches:
        return sides.mismatches[None]
    for place, reason in sides.mismatches.items():
        if place and place[0] == key.corpus and key.language in (None, place[1]):
            return reason
    if key.language is None:
        before, after = _languages(base, key.corpus), _languages(candidate, key.corpus)
        if before != after:
            return f"over other languages: {_difference(before, after)}"
    return base.why_incomplete(key) or candidate.why_incomplete(key)


def _redefined(metric: str, before: int, after: int) -> str | None:
    """Return why a metric cannot be compared across two results schemas; None if it can be."""
    name = metric.removesuffix("_by_document")  # the hash that stands for a metric's documents
    for version in range(min(before, after) + 1, max(before, after) + 1):
        if name in REDEFINED.get(version, ()):
            return f"its definition changed with results schema {version}: measure both sides again"
    return None


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
    """Return the parts of two fingerprints that differ, including those that only one side has.

    >>> changed_parts({"merges": "1", "normalizer": "2"}, {"merges": "3", "normalizer": "2"})
    ['merges']
    """
    return sorted(n for n in {*before, *after} if before.get(n) != after.get(n))


def _sentence(comparison: Comparison) -> str:
    counts = comparison.counts
    compared = sum(counts[o] for o in ("worse", "changed", "better", "same"))
    failing = Counter(v.outcome for v in comparison.verdicts if v.effect == "fails")
    open_ = Counter(v.outcome for v in comparison.verdicts if v.effect == "incomplete")
    allowed = allowed_by_rules(comparison)
    beside = f" Besides, {allowed}." if allowed else ""
    if failing:
        return f"Fails: {_listed(failing)} of {compared:,} compared values.{beside}"
    if not compared:
        return "Nothing to compare: the two sides have no comparable value in common."
    if open_ or comparison.mismatches:
        what = _listed(open_) or "the base does not match"
        return f"Not decided: {what}; the other {compared:,} values pass.{beside}"
    moved: dict[Outcome, int] = {o: n for o, n in counts.items() if n and o != "same"}
    head = f"Passes because {allowed}" if allowed else "Passes"
    if moved:
        return f"{head}: {_listed(moved)}, {counts['same']:,} same."
    return f"{head}: all {counts['same']:,} values are the same."


def allowed_by_rules(comparison: Comparison) -> str:
    """Return what passes only because of rules, such as "rules allow 50 worse values"."""
    if not comparison.let_pass:
        return ""
    named = [f"{comparison.let_pass[o]:,} {o}" for o in OUTCOMES if comparison.let_pass.get(o)]
    whose = " of the candidate" if comparison.rules_from == "candidate" else ""
    values = "value" if sum(comparison.let_pass.values()) == 1 else "values"
    return f"rules{whose} allow {' and '.join(named)} {values}"


def _listed(counts: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{counts[o]:,} {o}" for o in OUTCOMES if counts.get(o))


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
