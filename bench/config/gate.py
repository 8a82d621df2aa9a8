"""The `gate:` block of a config: what may move, how far, and in which direction.

Without a block every exact value must stay as it is. Rules are read from first to last; where
several match a value, a later rule overrides what an earlier one set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from tokbench.bench.model import Direction

Allow = Literal["nothing", "better", "anything"]


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One name or a list of names."""


class SpeedLimits(BaseModel):
    """When a candidate counts as slower, and how much is measured to tell."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bound: float = Field(1.02, gt=1, description="what the interval's low end must exceed to fail")
    estimate: float = Field(1.05, gt=1, description="what the estimate must exceed to fail")
    processes: int = Field(3, ge=3, description="fresh processes at first, both sides in each")
    pairs: int = Field(5, ge=5, description="fresh pairs of processes, where sides have their own")
    rounds: int = Field(30, ge=6, description="rounds in each process")
    milliseconds: float = Field(10, gt=0, description="length of a side's part of a round")
    width: float = Field(
        0.03, gt=0, description="half of the interval, as a share, that is narrow enough"
    )
    most: int = Field(15, ge=5, description="processes or pairs after which nobody can tell")
    inconclusive: int = Field(0, ge=0, le=255, description="exit code where nobody can tell")


class Rule(BaseModel):
    """What some values may do: selectors first (left out: all), then settings (left out: as is)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: Names | None = Field(None, description="name or names of metrics")
    tokenizer: Names | None = Field(None, description="key or keys of tokenizers")
    corpus: Names | None = Field(None, description="key or keys of corpora")
    language: Names | None = Field(None, description="key or keys of languages")
    tolerance: float | None = Field(
        None, ge=0, lt=1, description="share of the base value that it may move by and stay same"
    )
    absolute_tolerance: float | None = Field(
        None, ge=0, description="amount that it may move by and stay same"
    )
    direction: Direction | None = Field(None, description="which way is better")
    allow: Allow | None = Field(
        None,
        description="changes that pass: nothing; better: a change of a value without direction "
        "where gated values got better and none worse; anything",
    )
    gated: bool | None = Field(None, description="false: shown, decides nothing")

    def matches(self, place: Mapping[str, str | None]) -> bool:
        """Tell whether the rule speaks of a value; a value about all languages has none."""
        for selector, found in place.items():
            wanted = getattr(self, selector)
            if wanted is not None and found not in wanted:
                return False
        return True


class Gate(BaseModel):
    """Where the baseline is, and the rules."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    baseline: str | None = Field(
        None, description="baseline file, from the config's folder; for pytest and `compare`"
    )
    rules: tuple[Rule, ...] = ()
    speed: SpeedLimits = SpeedLimits()
    """When `tokbench speed` calls a candidate slower."""

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
        """Return the settings of one value, every one of them given except `direction`.

        >>> gate = Gate(rules=[Rule(metric="tokens", tolerance=0.01), Rule(language="fr", tolerance=0)])
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
