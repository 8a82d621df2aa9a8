"""The `gate:` block of a config: what may move, how far, and in which direction.

Without a block every exact value must stay as it is. Rules are read from first to last; where
several match a value, a later rule overrides what an earlier one set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from tokbench.bench.model import Direction

Allow = Literal["nothing", "better", "anything"]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One name or a list of names."""


class SpeedLimits(BaseModel):
    """When a candidate counts as slower, and how much is measured to decide it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    former: ClassVar[Mapping[str, str]] = {
        "most": "is now called `max_processes`",
        "width": "is now called `max_interval`",
        "pairs": "is now called `process_pairs`",
    }

    bound: float = Field(
        1.02,
        gt=1,
        description="Fail only if the low end of the interval of candidate ÷ base exceeds this.",
    )
    estimate: float = Field(
        1.05, gt=1, description="Fail only if the estimate exceeds this as well."
    )
    processes: int = Field(
        3,
        ge=3,
        description="Fresh processes to start with, both sides in each; the same number again to "
        "confirm.",
    )
    process_pairs: int = Field(
        5,
        ge=5,
        description="Fresh pairs of processes to start with, if each side has its own environment; "
        "the same number again to confirm.",
    )
    rounds: int = Field(30, ge=6, description="Rounds in each process.")
    milliseconds: float = Field(
        10, gt=0, description="Approximate length of one side's part of a round."
    )
    max_interval: float = Field(
        0.03,
        gt=0,
        description="Stop when half of the interval, as a share of the estimate, is at most this.",
    )
    max_processes: int = Field(
        15, ge=5, description="Give up (inconclusive) after this many processes or pairs."
    )
    inconclusive: int = Field(
        0, ge=0, le=255, description="Exit code when the result is inconclusive."
    )


class Rule(BaseModel):
    """A rule: selectors (by default all values), then settings (by default unchanged)."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    metric: Names | None = Field(None, description="Selector: names of metrics.")
    tokenizer: Names | None = Field(None, description="Selector: keys of tokenizers.")
    corpus: Names | None = Field(None, description="Selector: keys of corpora.")
    language: Names | None = Field(
        None,
        description="Selector: keys of languages. A value over all languages has no key and "
        "matches "
        "no name.",
    )
    tolerance: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="Relative change that counts as the same: `0.001` is 0.1 % of the base value.",
    )
    absolute_tolerance: float | None = Field(
        None,
        ge=0,
        description="Absolute change that counts as the same, for values that can be 0. The larger "
        "of both tolerances applies.",
    )
    direction: Direction | None = Field(
        None,
        description="Direction that is better: `higher`, `lower` or `none`; by default that of the "
        "metric.",
    )
    allow: Allow | None = Field(
        None,
        description="Changes that pass: `nothing`; `better`, a change of a value without direction "
        "where gated values got better and none worse; `anything`.",
    )
    gated: bool | None = Field(None, description="`false` shows the value without gating it.")

    def matches(self, place: Mapping[str, str | None]) -> bool:
        """Return whether the rule matches a value; a value over all languages has no language."""
        for selector, found in place.items():
            wanted = getattr(self, selector)
            if wanted is not None and found not in wanted:
                return False
        return True


class Gate(BaseModel):
    """The baseline and the rules."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    baseline: str | None = Field(
        None,
        description="Baseline file, relative to the config's folder, or REVISION:FILE for the file "
        "at a git revision; for `compare --config` and `pytest --tokbench-gate`.",
    )
    rules: tuple[Rule, ...] = Field(
        (),
        description="Allowed changes; by default none. If several rules match, a later one "
        "overrides an earlier one.",
    )
    speed: SpeedLimits = Field(
        SpeedLimits(), description="When `tokbench speed` calls a candidate slower."
    )

    @field_validator("rules")
    @classmethod
    def _rules_say_something(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        for rule in rules:
            if all(getattr(rule, name) is None for name in SETTINGS):
                raise ValueError(f"a rule must set at least one of {', '.join(SETTINGS)}")
        return rules

    def settings(
        self,
        *,
        metric: str,
        tokenizer: str | None = None,
        corpus: str | None = None,
        language: str | None = None,
    ) -> Rule:
        """Return the settings of one value; only `direction` may be None.

        >>> rules = [Rule(metric="tokens", tolerance=0.01), Rule(language="fr", tolerance=0)]
        >>> gate = Gate(rules=rules)
        >>> gate.settings(metric="tokens", language="en").tolerance
        0.01
        >>> gate.settings(metric="tokens", language="fr").tolerance
        0.0
        """
        place = {
            "metric": metric,
            "tokenizer": tokenizer,
            "corpus": corpus,
            "language": language,
        }
        found: dict[str, Any] = {}
        for rule in (*DEFAULTS, *self.rules):
            if rule.matches(place):
                found |= {
                    name: value for name in SETTINGS if (value := getattr(rule, name)) is not None
                }
        return Rule(**found)


SETTINGS = ("tolerance", "absolute_tolerance", "direction", "allow", "gated")

DEFAULTS = (
    Rule(tolerance=0.0, absolute_tolerance=0.0, allow="nothing", gated=True),
    # These depend on who else takes part; what makes them move is gated where it is measured.
    Rule(metric=("rank", "vocabulary_utilization_at_equal_tokens"), gated=False),
)
