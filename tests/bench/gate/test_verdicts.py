"""What becomes of one value, and what the verdicts of all of them come to."""

from __future__ import annotations

from typing import Any

import pytest

from tokbench.bench.compare.snapshot import Key, Value
from tokbench.bench.compare.verdicts import Outcome, Verdict, exit_code, judge, with_effects
from tokbench.bench.config.gate import Gate, Rule

STRICT = Gate().settings(metric="any")


def value(number: float | str | None, **more: Any) -> Value:
    return Value(value=number, **more)


@pytest.mark.parametrize(
    ("base", "candidate", "direction", "outcome"),
    [
        (10.0, 10.0, "lower", "same"),
        (10.0, 11.0, "lower", "worse"),
        (10.0, 9.0, "lower", "better"),
        (10.0, 11.0, "higher", "better"),
        (10.0, 9.0, "higher", "worse"),
        (10.0, 11.0, "none", "changed"),
        ("9f", "9f", "none", "same"),
        ("9f", "a0", "none", "changed"),
        (0.1 + 0.2, 0.3, "lower", "same"),
    ],
)
def test_a_value_is_judged_by_its_direction(
    base: float, candidate: float, direction: Any, outcome: str
) -> None:
    assert judge(value(base), value(candidate), direction, STRICT)[0] == outcome


def test_a_count_of_one_more_is_never_round_off() -> None:
    assert judge(value(10.0**14), value(10.0**14 + 1), "lower", STRICT)[0] == "worse"


@pytest.mark.parametrize(
    ("base", "candidate", "outcome"),
    [
        (value(1.0), None, "missing"),
        (None, value(1.0), "new"),
        (None, None, "incomparable"),
        (value(1.0), value(None, detail="no words"), "missing"),
        (value(None, detail="no words"), value(1.0), "incomparable"),
        (value(1.0), value(1.0, status="partial"), "incomparable"),
        (value(1.0, status="partial"), value(1.0), "incomparable"),
        (value(None, status="refused"), value(None), "incomparable"),
    ],
)
def test_what_is_missing_on_a_side_is_never_the_same(
    base: Value | None, candidate: Value | None, outcome: str
) -> None:
    assert judge(base, candidate, "lower", STRICT)[0] == outcome


def test_undefined_on_both_sides_for_a_stated_reason_is_the_same() -> None:
    undefined = value(None, detail="words are not defined for code")
    outcome, reason = judge(undefined, undefined, "lower", STRICT)
    assert outcome == "same"
    assert "not defined for code" in reason


def test_an_obstacle_makes_two_values_incomparable() -> None:
    assert judge(value(1.0), value(1.0), "lower", STRICT, obstacle="other text") == (
        "incomparable",
        "other text",
    )


def test_a_move_of_exactly_the_tolerance_passes_and_a_larger_one_does_not() -> None:
    one_per_cent = Gate(rules=(Rule(tolerance=0.01),)).settings(metric="tokens")
    assert judge(value(100.0), value(101.0), "lower", one_per_cent)[0] == "same"
    assert judge(value(100.0), value(101.1), "lower", one_per_cent)[0] == "worse"


def test_an_absolute_tolerance_also_works_from_zero() -> None:
    gate = Gate(rules=(Rule(metric="unk_rate", absolute_tolerance=0.001),))
    settings = gate.settings(metric="unk_rate")
    assert judge(value(0.0), value(0.001), "lower", settings)[0] == "same"
    assert judge(value(0.0), value(0.002), "lower", settings)[0] == "worse"


def test_later_rules_override_earlier_ones_where_both_match() -> None:
    gate = Gate(
        rules=(Rule(metric="tokens", tolerance=0.1), Rule(language=("fr", "de"), tolerance=0.0))
    )
    assert gate.settings(metric="tokens", language="en").tolerance == 0.1
    assert gate.settings(metric="tokens", language="fr").tolerance == 0.0


def verdict(outcome: Outcome, metric: str = "tokens", language: str = "en") -> Verdict:
    return Verdict(key=Key("bpe", "web", language, metric), outcome=outcome)


def code(*verdicts: Verdict, gate: Gate | None = None, mismatched: bool = False) -> int:
    return exit_code(with_effects(verdicts, gate or Gate()), mismatched=mismatched)


def test_exit_codes_rank_a_regression_above_what_could_not_be_compared() -> None:
    assert code(verdict("same"), verdict("better"), verdict("new")) == 0
    assert code(verdict("same"), verdict("missing")) == 3
    assert code(verdict("same"), verdict("incomparable")) == 3
    assert code(verdict("missing"), verdict("worse")) == 1
    assert code(verdict("incomparable"), verdict("changed")) == 1
    assert code(verdict("same"), mismatched=True) == 3


def test_nothing_compared_is_no_pass() -> None:
    assert code() == 3
    assert code(verdict("new")) == 3


def test_a_metric_that_is_not_gated_decides_nothing() -> None:
    gate = Gate(rules=(Rule(metric="tokens", gated=False),))
    assert gate.settings(metric="tokens").gated is False
    ungated = Verdict(key=Key("bpe", "web", "en", "tokens"), outcome="worse", gated=False)
    assert code(ungated, verdict("same", "premium"), gate=gate) == 0


def test_ranks_are_shown_but_never_gated_unless_asked() -> None:
    assert Gate().settings(metric="rank").gated is False
    assert Gate(rules=(Rule(metric="rank", gated=True),)).settings(metric="rank").gated is True


def test_a_noisy_verdict_never_fails_the_exact_gate() -> None:
    slow = Verdict(key=Key("bpe", "web", None, "encode_throughput"), outcome="worse", lane="noisy")
    assert code(slow, verdict("same")) == 0


ALLOW_BETTER = Gate(rules=(Rule(metric="ids", allow="better"),))


def test_changed_ids_may_be_allowed_where_sizes_got_better_and_none_worse() -> None:
    ids = verdict("changed", "ids")
    assert code(ids, verdict("better"), gate=ALLOW_BETTER) == 0
    assert code(ids, verdict("better"), gate=Gate()) == 1
    assert code(ids, verdict("same"), gate=ALLOW_BETTER) == 1
    assert code(ids, verdict("better"), verdict("worse", "premium"), gate=ALLOW_BETTER) == 1


def test_better_in_one_language_allows_nothing_in_another() -> None:
    ids = verdict("changed", "ids", "de")
    assert code(ids, verdict("better", language="en"), gate=ALLOW_BETTER) == 1


def test_anything_may_be_allowed() -> None:
    gate = Gate(rules=(Rule(metric="tokens", allow="anything"),))
    assert code(verdict("worse"), gate=gate) == 0


def test_a_rule_that_sets_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one of"):
        Gate(rules=(Rule(metric="tokens"),))
