"""Two snapshots: which verdicts, what stands in the way, and laws that hold for any two."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.compare.comparison import Comparison, compare
from tokbench.bench.compare.snapshot import (
    Key,
    MetricFacts,
    SliceFacts,
    Snapshot,
    TokenizerIdentity,
    Value,
    metric_facts,
)
from tokbench.bench.compare.verdicts import OUTCOMES
from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.count.tally import CellKey

METRICS: dict[str, MetricFacts] = metric_facts(
    [("tokens", "tokens", "lower"), ("bytes_per_token", "bytes/token", "higher")]
)
PLACES = [("bpe", "web", "en"), ("bpe", "web", "de"), ("bpe", "web", None), ("bpe", None, None)]
SWAPPED = {"better": "worse", "worse": "better", "missing": "new", "new": "missing"}


def snapshot(values: Mapping[Key, Any], **changes: Any) -> Snapshot:
    """Make a snapshot of bare numbers, hashes and Values."""
    made = Snapshot(
        name="side",
        policy={"special_tokens": "text"},
        versions={"tokenizers": "1"},
        slices={("web", name): SliceFacts(sha256=name, documents=2) for name in ("en", "de")},
        tokenizers={"bpe": TokenizerIdentity(fingerprint="f", parts={"merges": "m"})},
        metrics=METRICS,
        values={k: v if isinstance(v, Value) else Value(value=v) for k, v in values.items()},
    )
    return replace(made, **changes)


def outcomes(comparison: Comparison) -> dict[str, str]:
    return {
        "/".join(part or "*" for part in (*v.key[1:3], v.key.name)): v.outcome
        for v in comparison.verdicts
    }


TOKENS = Key("bpe", "web", "en", "tokens")
IDS = Key("bpe", "web", "en", "ids")


def test_each_value_gets_one_verdict() -> None:
    base = snapshot({TOKENS: 10.0, IDS: "a"})
    candidate = snapshot({TOKENS: 11.0, IDS: "b", TOKENS._replace(language="de"): 3.0})
    assert outcomes(compare(base, candidate, Gate())) == {
        "web/en/ids": "changed",
        "web/en/tokens": "worse",
        "web/de/tokens": "new",
    }


def test_other_text_makes_its_language_incomparable_and_the_exit_code_3() -> None:
    values = {TOKENS: 10.0, TOKENS._replace(language="de"): 5.0}
    other = {**snapshot({}).slices, ("web", "de"): SliceFacts(sha256="new", documents=2)}
    found = compare(snapshot(values), snapshot(values, slices=other), Gate())
    assert outcomes(found) == {"web/de/tokens": "incomparable", "web/en/tokens": "same"}
    assert found.exit_code == 3
    assert "the text of web, de differs" in found.mismatches[0]


def test_other_text_in_one_language_spoils_values_over_all_languages() -> None:
    values = {TOKENS._replace(language=None): 10.0}
    other = {**snapshot({}).slices, ("web", "de"): SliceFacts(sha256="new", documents=2)}
    found = compare(snapshot(values), snapshot(values, slices=other), Gate())
    assert outcomes(found) == {"web/*/tokens": "incomparable"}


def test_values_over_other_languages_are_incomparable() -> None:
    values = {TOKENS._replace(language=None): 10.0}
    fewer = {("web", "en"): SliceFacts(sha256="en", documents=2)}
    (verdict,) = compare(snapshot(values), snapshot(values, slices=fewer), Gate()).verdicts
    assert (verdict.outcome, verdict.reason) == ("incomparable", "over other languages: without de")


def test_another_policy_makes_everything_measured_incomparable() -> None:
    values = {TOKENS: 10.0}
    found = compare(snapshot(values), snapshot(values, policy={"special_tokens": "match"}), Gate())
    assert outcomes(found) == {"web/en/tokens": "incomparable"}
    assert (found.exit_code, len(found.mismatches)) == (3, 1)


@pytest.mark.parametrize("side", ["base", "candidate", "both"])
def test_a_partial_cell_is_never_a_pass(side: str) -> None:
    values = {TOKENS: 10.0}
    partial = {CellKey("bpe", "web", "en"): "partial: 1 of 2 documents failed"}
    found = compare(
        snapshot(values, incomplete=partial if side != "candidate" else {}),
        snapshot(values, incomplete=partial if side != "base" else {}),
        Gate(),
    )
    assert outcomes(found)["web/en/tokens"] == "incomparable"
    assert found.exit_code == 3


def test_a_cell_that_failed_on_both_sides_does_not_vanish() -> None:
    failed = {CellKey("bpe", "web", "de"): "failed: no such file"}
    found = compare(
        snapshot({TOKENS: 1.0}, incomplete=failed),
        snapshot({TOKENS: 1.0}, incomplete=failed),
        Gate(),
    )
    assert outcomes(found) == {"web/de/ids": "incomparable", "web/en/tokens": "same"}
    assert found.exit_code == 3


def test_a_cell_that_fails_now_is_missing_with_its_reason() -> None:
    failed = {CellKey("bpe", "web", "en"): "failed: the library panicked"}
    found = compare(snapshot({IDS: "a"}), snapshot({}, incomplete=failed), Gate())
    (verdict,) = found.verdicts
    assert verdict.outcome == "missing"
    assert "the library panicked" in verdict.reason


def test_a_changed_fingerprint_names_its_parts() -> None:
    key = Key("bpe", None, None, "fingerprint")
    other = {"bpe": TokenizerIdentity(fingerprint="g", parts={"merges": "n", "normalizer": "x"})}
    (verdict,) = compare(
        snapshot({key: "f"}), snapshot({key: "g"}, tokenizers=other), Gate()
    ).verdicts
    assert (verdict.outcome, verdict.reason) == ("changed", "changed: merges, normalizer")


def test_a_part_that_is_left_out_of_its_whole_is_zero() -> None:
    whole = Key("bpe", "web", "en", "tokens")
    part = whole._replace(label="cause=marks")
    found = compare(snapshot({whole: 5.0}), snapshot({whole: 5.0, part: 2.0}), Gate())
    assert outcomes(found)["web/en/tokens[cause=marks]"] == "worse"


SPREAD = {"trainer": "toy", "options": {}, "documents": 9, "bytes": 90, "deterministic": False}


def trained(fingerprint: str, **changes: Any) -> dict[str, TokenizerIdentity]:
    facts = {**SPREAD, **changes}
    return {"bpe": TokenizerIdentity(fingerprint=fingerprint, parts={}, trained=facts)}


def test_the_spread_of_a_trainer_that_gives_another_model_each_time_is_explained_not_gated() -> (
    None
):
    found = compare(
        snapshot({TOKENS: 10.0}, tokenizers=trained("f")),
        snapshot({TOKENS: 11.0}, tokenizers=trained("g")),
        Gate(),
    )
    assert found.exit_code == 0
    assert found.verdicts[0].outcome == "worse"
    assert "bpe is not gated: it was trained again" in found.notes[0]


@pytest.mark.parametrize(
    "candidate",
    [trained("g", deterministic=True), trained("g", options={"vocab_size": 9}), trained("f")],
)
def test_other_trained_tokenizers_are_gated(candidate: dict[str, TokenizerIdentity]) -> None:
    base = trained("f", deterministic=candidate["bpe"].trained["deterministic"])  # type: ignore[index]
    found = compare(
        snapshot({TOKENS: 10.0}, tokenizers=base),
        snapshot({TOKENS: 11.0}, tokenizers=candidate),
        Gate(),
    )
    assert found.exit_code == 1


def test_the_verdict_is_said_in_a_sentence() -> None:
    def said(base: Mapping[Key, Any], candidate: Mapping[Key, Any]) -> str:
        return compare(snapshot(base), snapshot(candidate), Gate()).sentence()

    assert said({TOKENS: 1.0}, {TOKENS: 1.0}) == "Passes: all 1 values are the same."
    assert said({TOKENS: 2.0}, {TOKENS: 1.0}) == "Passes: 1 better, 0 same."
    assert said({TOKENS: 1.0}, {TOKENS: 2.0}) == "Fails: 1 worse of 1 compared values."
    assert said({TOKENS: 1.0, IDS: "a"}, {TOKENS: 1.0}) == (
        "Not decided: 1 missing; the other 1 values pass."
    )
    assert said({}, {}).startswith("Nothing to compare")


keys = st.builds(
    lambda place, metric, label: Key(*place, metric, label),
    st.sampled_from(PLACES),
    st.sampled_from(["tokens", "bytes_per_token", "ids"]),
    st.sampled_from(["", "class=exact"]),
)
numbers = st.integers(0, 3).map(float)
complete = st.one_of(numbers.map(lambda n: Value(value=n)), st.just(Value(value=None, detail="x")))
anything = st.one_of(
    complete,
    st.sampled_from([Value(value=1.0, status="partial"), Value(value=None, status="refused")]),
)
cells = st.dictionaries(
    st.sampled_from([CellKey("bpe", "web", "en"), CellKey("bpe", "web", "de")]),
    st.just("partial"),
    max_size=1,
)
snapshots = st.builds(
    lambda values, incomplete: snapshot(values, incomplete=incomplete),
    st.dictionaries(keys, anything, max_size=8),
    cells,
)


@given(snapshots, snapshots)
def test_swapping_the_sides_swaps_better_and_worse(a: Snapshot, b: Snapshot) -> None:
    there = {v.key: v.outcome for v in compare(a, b, Gate()).verdicts}
    back = {v.key: v.outcome for v in compare(b, a, Gate()).verdicts}
    assert there.keys() == back.keys()
    for key, outcome in there.items():
        if outcome in ("better", "worse", "same", "changed"):
            assert back[key] == SWAPPED.get(outcome, outcome)
        else:  # a side lacks it, or cannot be compared: it never turns into a pass
            assert back[key] in ("missing", "new", "incomparable")


@given(st.dictionaries(keys, complete, min_size=1, max_size=8))
def test_a_complete_run_compared_with_itself_is_all_same(values: dict[Key, Value]) -> None:
    found = compare(snapshot(values), snapshot(values), Gate())
    assert {v.outcome for v in found.verdicts} == {"same"}
    assert found.exit_code == 0


@given(snapshots, snapshots)
def test_no_missing_value_is_ever_a_pass(a: Snapshot, b: Snapshot) -> None:
    for verdict in compare(a, b, Gate()).verdicts:
        key = verdict.key
        lacking = key in a.values and key not in b.values and not key.label
        incomplete = b.why_incomplete(key) if key in a.values and key.corpus else None
        if lacking or incomplete:
            assert verdict.outcome in ("missing", "incomparable")
            assert verdict.effect == "incomplete"


@given(snapshots, snapshots, st.randoms(use_true_random=False))
def test_the_order_of_values_never_matters(a: Snapshot, b: Snapshot, rng: random.Random) -> None:
    def shuffled(side: Snapshot) -> Snapshot:
        items = list(side.values.items())
        rng.shuffle(items)
        return replace(side, values=dict(items))

    found, again = compare(a, b, Gate()), compare(shuffled(a), shuffled(b), Gate())
    assert found.verdicts == again.verdicts
    assert found.moved == again.moved


@given(snapshots, snapshots)
def test_what_moved_is_listed_gravest_first(a: Snapshot, b: Snapshot) -> None:
    moved = compare(a, b, Gate()).moved
    effects = [("fails", "incomplete", "passes").index(v.effect) for v in moved]
    assert effects == sorted(effects)
    assert all(v.outcome in OUTCOMES and v.outcome != "same" for v in moved)


def test_a_direction_may_be_given_to_a_metric_that_has_none() -> None:
    gate = Gate(rules=(Rule(metric="n_entries", direction="lower"),))
    key = Key("bpe", None, None, "n_entries")
    found = compare(snapshot({key: 5.0}), snapshot({key: 4.0}), gate)
    assert found.verdicts[0].outcome == "better"


def test_between_schemas_only_metrics_of_another_definition_are_not_decided() -> None:
    by_class = Key("bpe", "web", "en", "round_trip", "class=exact")
    hashed = Key("bpe", "web", "en", "round_trip_by_document")
    metrics = {**METRICS, **metric_facts([("round_trip", "share", "none")])}
    values = {TOKENS: 10.0, IDS: "a", by_class: 1.0, hashed: "h"}
    old = snapshot(values, schema=1, metrics=metrics)
    policy = {**old.policy, "rank_lost_limit": 0.001}
    new = snapshot(values, schema=2, metrics=metrics, policy=policy)
    found = compare(old, new, Gate())
    assert outcomes(found) == {
        "web/en/tokens": "same",
        "web/en/ids": "same",
        "web/en/round_trip[class=exact]": "incomparable",
        "web/en/round_trip_by_document": "incomparable",
    }
    assert not found.mismatches
    assert found.exit_code == 3
    one_schema = compare(replace(old, schema=2), new, Gate())
    assert "the policies differ: rank_lost_limit None → 0.001" in one_schema.mismatches[0]
