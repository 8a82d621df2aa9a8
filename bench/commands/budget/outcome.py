"""What a check of a budget found: counts, limits, and the lines that cost most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from tokbench.bench.commands.budget.schema import LimitName

Status = Literal["same", "changed", "new", "renamed", "deleted"]


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileTokens(_Fact):
    """One file under one tokenizer."""

    file: str = Field(description="Path from the budget's folder.")
    base_file: str | None = Field(description="Path in the base; null if the file is new.")
    groups: tuple[str, ...] = Field(description="Groups that the file belongs to.")
    tokenizer: str = Field(description="Key of the tokenizer.")
    status: Status | None = Field(
        description="How the file differs from the base; null without a base."
    )
    tokens: int | None = Field(description="Tokens now; 0 if deleted, null if not counted.")
    base_tokens: int | None = Field(
        description="Tokens in the base; 0 if new, null without a base or if not counted."
    )
    reason: str | None = Field(description="Why a version was not counted.")

    @property
    def growth(self) -> int | None:
        """Tokens more than in the base; None where one of them is not known."""
        if self.tokens is None or self.base_tokens is None:
            return None
        return self.tokens - self.base_tokens


class LimitCheck(_Fact):
    """One limit, held against one value."""

    scope: Literal["file", "group", "total"] = Field(description="What the limit is on.")
    name: str = Field(description="File or group; empty for the total.")
    tokenizer: str = Field(description="Key of the tokenizer.")
    limit: LimitName = Field(description="Name of the limit.")
    allowed: float = Field(description="The limit.")
    value: float | None = Field(description="What was measured; null if it could not be.")
    passed: bool = Field(description="Whether the value is within the limit.")


class CostlyLines(_Fact):
    """Neighbouring lines of a file, and their tokens. A token belongs to the line it begins in."""

    file: str = Field(description="Path from the budget's folder.")
    tokenizer: str = Field(description="Key of the tokenizer.")
    first: int = Field(description="First line now, from 1; for lines that went, the one after.")
    last: int = Field(description="Last line now; less than `first` if no line is left.")
    tokens: int = Field(description="Tokens of the lines now.")
    base_tokens: int | None = Field(description="Tokens of what stood there; null without a base.")

    @property
    def growth(self) -> int:
        """Tokens more than in the base, or all of them."""
        return self.tokens - (self.base_tokens or 0)


class BudgetOutcome(_Fact):
    """A budget held against the files."""

    budget: str = Field(description="The budget's file.")
    base: str | None = Field(description="The base as it was given.")
    base_commit: str | None = Field(description="The commit that was compared with.")
    currency: str = Field(description="Currency of the prices.")
    files: tuple[FileTokens, ...] = Field(description="Files, largest growth first.")
    checks: tuple[LimitCheck, ...] = Field(description="All limits; those exceeded first.")
    lines: tuple[CostlyLines, ...] = Field(
        description="The lines with most tokens, or most growth, in order."
    )
    problems: tuple[str, ...] = Field(description="What could not be measured.")
    notes: tuple[str, ...] = Field(description="What a reader should know.")

    @computed_field(description="0 within the budget, 1 over it, 3 not all could be measured.")  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> int:
        """0 within the budget, 1 over it, 3 not all could be measured."""
        if any(not check.passed and check.value is not None for check in self.checks):
            return 1
        return 3 if self.problems else 0

    @property
    def exceeded(self) -> tuple[LimitCheck, ...]:
        """Limits that a measured value is over."""
        return tuple(c for c in self.checks if not c.passed and c.value is not None)

    @property
    def moved(self) -> tuple[FileTokens, ...]:
        """Files whose tokens differ from the base, largest growth first."""
        return tuple(one for one in self.files if one.growth)

    def sentence(self) -> str:
        """Return the verdict in one sentence."""
        if self.exceeded:
            n = len(self.exceeded)
            return f"over budget: {n:,} of {len(self.checks):,} limits {'is' if n == 1 else 'are'} exceeded"
        if self.problems:
            return "not everything could be measured, so the check does not pass"
        return f"within budget: {len(self.checks):,} {'limit holds' if len(self.checks) == 1 else 'limits hold'}"

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return self.model_dump(mode="json")


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum of values, None where one is missing.

    >>> total([1, 2]), total([1, None])
    (3, None)
    """
    found = list(values)
    return None if None in found else sum(value or 0 for value in found)


def outcome_schema() -> dict[str, Any]:
    """Return the JSON schema of what `--json` prints."""
    schema = BudgetOutcome.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "tokbench budget"
    return schema
