"""What a budget may say: tokenizers, groups of files, limits.

A budget is a YAML file of its own, or the table `[tool.tokbench.budget]` of a `pyproject.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tokbench.bench.config.advice import explain
from tokbench.bench.config.mistakes import error
from tokbench.bench.config.schema import load_options
from tokbench.bench.config.yaml_file import MAPPING, read
from tokbench.bench.errors import ConfigError, UsageError
from tokbench.bench.files import read_bounded
from tokbench.bench.results.costs import NotNegative, Positive

FILE = "tokbench-budget.yaml"
PROJECT = "pyproject.toml"
TABLE = "tool.tokbench.budget"
MOST_BYTES = 500_000
"""Size of a budget file."""


LimitName = Literal["tokens", "price", "context_used", "growth_tokens", "growth_percent"]


class _BudgetPart(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True
    )


class TokenLimits(_BudgetPart):
    """Limits on a file, a group, or everything, for every tokenizer that has the numbers."""

    tokens: int | None = Field(None, ge=0, description="Most tokens.")
    price: NotNegative | None = Field(
        None, description="Highest price of the tokens, at `input_per_million`."
    )
    context_used: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Largest share of a context length; 0.5 is half of it."
    )
    growth_tokens: int | None = Field(None, description="Most tokens more than in the base.")
    growth_percent: float | None = Field(
        None, description="Most growth over the base, in per cent."
    )

    def given(self) -> list[tuple[LimitName, float]]:
        """Return the limits that are set."""
        every = [(name, getattr(self, name)) for name in get_args(LimitName)]
        return [(name, value) for name, value in every if value is not None]


class BudgetTokenizer(_BudgetPart):
    """A tokenizer, and what its tokens cost."""

    tokenizer: str | dict[str, Any] = Field(
        description="Name, file or Hub repository, or `type` and options as in a config."
    )
    input_per_million: NotNegative | None = Field(
        None, description="Price of a million input tokens."
    )
    context: Positive | None = Field(None, description="Context length in tokens.")


def _one_pattern(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[list[str], BeforeValidator(_one_pattern)]


class Group(_BudgetPart):
    """Files that belong together."""

    files: Patterns = Field(
        min_length=1,
        description="Paths or patterns from the budget's folder; `**` is any number of folders.",
    )
    exclude: Patterns = Field([], description="Paths or patterns to leave out.")
    each: TokenLimits = Field(TokenLimits(), description="Limits on every file.")
    whole: TokenLimits = Field(
        TokenLimits(), description="Limits on all files of the group together."
    )


def _by_key(value: Any) -> Any:
    """Allow `tokenizers: [o200k_base]` and `{mine: o200k_base}` beside whole entries."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        from tokbench.bench.config.resolve import key_of

        return {key_of(one): {"tokenizer": one} for one in value}
    if isinstance(value, Mapping):
        return {
            key: {"tokenizer": one} if isinstance(one, str) else one for key, one in value.items()
        }
    return value


class TokenBudget(_BudgetPart):
    """Tokenizers, groups of files, and limits."""

    tokenizers: Annotated[dict[str, BudgetTokenizer], BeforeValidator(_by_key)] = Field(
        min_length=1, description="Tokenizers by key: names, or entries with price and context."
    )
    groups: dict[str, Group] = Field(min_length=1, description="Groups of files by name.")
    total: TokenLimits = Field(TokenLimits(), description="Limits on all files, each counted once.")
    base: str | None = Field(
        None, description="Git revision to compare with where the command names none."
    )
    currency: str = Field("", description="Currency of the prices, for messages.")

    @model_validator(mode="after")
    def _limits_can_be_checked(self) -> Self:
        for name, needed in (("price", "input_per_million"), ("context_used", "context")):
            is_set = any(name in dict(limits.given()) for limits in self.limits())
            if is_set and all(getattr(one, needed) is None for one in self.tokenizers.values()):
                raise ValueError(f"a limit {name!r} needs a tokenizer with {needed!r}")
        return self

    def limits(self) -> Iterator[TokenLimits]:
        """Yield the limits of every scope."""
        for group in self.groups.values():
            yield from (group.each, group.whole)
        yield self.total

    @property
    def limits_growth(self) -> bool:
        """Whether a limit needs a base."""
        return any(
            name.startswith("growth") for limits in self.limits() for name, _ in limits.given()
        )


def find(path: Path | None) -> Path:
    """Return the file of a budget: the given one, or the one of the working folder.

    Raises `UsageError` where there is none.
    """
    if path is not None:
        return path
    if Path(FILE).is_file():
        return Path(FILE)
    if Path(PROJECT).is_file() and _table(Path(PROJECT)) is not None:
        return Path(PROJECT)
    raise UsageError(
        f"no budget here: write {FILE}, or [{TABLE}] in {PROJECT}, or give the path of a budget"
    )


def load(path: Path) -> TokenBudget:
    """Read a budget; raise `ConfigError` with every mistake."""
    if path.suffix != ".toml":
        return load_options(path, TokenBudget)
    table = _table(path)
    if table is None:
        raise UsageError(f"{path}: has no table [{TABLE}]")
    where = read(table)
    try:
        return TokenBudget.model_validate(where.values())
    except ValidationError as exc:
        told = str(error(explain(where, exc, (), TokenBudget))).replace(
            MAPPING, f"{path} [{TABLE}]"
        )
        raise ConfigError(told) from exc


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        found: Any = tomllib.loads(read_bounded(path, MOST_BYTES).decode())
    except OSError as exc:
        raise UsageError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise UsageError(f"{path}: is not TOML: {exc}") from exc
    for key in TABLE.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def budget_schema() -> dict[str, Any]:
    """Return the JSON schema of a budget; a tokenizer may be its name alone."""
    schema = TokenBudget.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "tokbench budget"
    names = {"type": "array", "items": {"type": "string"}}
    by_key = schema["properties"]["tokenizers"]
    entry = by_key["additionalProperties"]
    by_key["additionalProperties"] = {"anyOf": [{"type": "string"}, entry]}
    what = by_key.pop("description")
    schema["properties"]["tokenizers"] = {"description": what, "anyOf": [names, by_key]}
    for place in ("files", "exclude"):
        one = schema["$defs"]["Group"]["properties"][place]
        one["type"] = ["array", "string"]
    return schema
