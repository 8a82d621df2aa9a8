"""The file of a baseline: its schema and its seal.

A baseline may come from an untrusted pull request. It is read as strict JSON, within bounds;
every value has its type; what the head names and what the rows are of must fit together. The seal
finds damage and edits made by hand. It cannot find an edit that is sealed again: for that, compare
with the baseline of a revision that the pull request cannot change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json
from tokbench.bench.model import Direction, Kind, Status

FORMAT = 2

MOST_BYTES = 1 << 27
"""Size of the largest baseline that is read; twelve tokenizers × 49 languages take 2 MB."""

Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(min_length=1)]
Number = int | float


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TrainedShape(_Shape):
    """How a tokenizer was trained."""

    trainer: str | None
    options: Mapping[str, Any] | None
    documents: Count | None
    bytes: Count | None
    deterministic: bool | None


class TokenizerShape(_Shape):
    """A tokenizer's identity."""

    fingerprint: Name
    parts: Mapping[str, str]
    trained: TrainedShape | None


class SliceShape(_Shape):
    """The text of a language."""

    sha256: Name
    documents: Count
    script: str | None
    kind: Kind


class MetricShape(_Shape):
    """Unit and direction of a metric."""

    unit: str
    direction: Direction


class StatedShape(_Shape):
    """A value with a status and a reason."""

    value: Number | str | None
    status: Status
    detail: str | None


class BaselineShape(_Shape):
    """A whole baseline."""

    tokbench_baseline: Literal[2]
    seal: str
    results_schema: Annotated[int, Field(ge=1)]
    name: str
    policy: Mapping[str, str | bool | Number | None]
    versions: Mapping[str, str]
    rules: list[Rule] = Field(default_factory=list)
    tokenizers: Annotated[Mapping[str, TokenizerShape], Field(min_length=1)]
    slices: Annotated[Mapping[str, SliceShape], Field(min_length=1)]
    metrics: Annotated[Mapping[str, MetricShape], Field(min_length=1)]
    values: Annotated[Mapping[str, Number | str | StatedShape], Field(min_length=1)]

    @field_validator("rules")
    @classmethod
    def _as_in_a_config(cls, rules: list[Rule]) -> list[Rule]:
        Gate(rules=tuple(rules))
        return rules


def seal_of(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 over the content of a baseline without the seal itself.

    It is over the values, so that line ends and indentation may change on their way through git.
    """
    content = {key: value for key, value in document.items() if key != "seal"}
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def read_document(data: str | bytes, name: str, newest_schema: int) -> BaselineShape:
    """Return a baseline's content, checked.

    Raises `ResultsError` if it is not a baseline, unsealed, damaged, or from a newer tokbench.
    """
    document = _parsed(data, name)
    for key, ours in (("tokbench_baseline", FORMAT), ("results_schema", newest_schema)):
        found = document.get(key)
        if isinstance(found, int) and not isinstance(found, bool) and found > ours:
            raise ResultsError(
                f"{name}: has {key} {found}, this tokbench reads up to {ours}, so there is nothing "
                "to compare; upgrade tokbench, or save a new baseline with this version"
            )
    if "seal" not in document:
        raise ResultsError(
            f"{name}: has no seal (an older tokbench saved it, or a line was removed), so there is "
            "nothing to compare; save it again: tokbench baseline save RUN FILE"
        )
    if document["seal"] != seal_of(document):
        raise damaged(name, "its seal does not match its content")
    try:
        return BaselineShape.model_validate(document)
    except ValidationError as exc:
        raise damaged(name, _first(exc)) from exc


def _parsed(data: str | bytes, name: str) -> dict[str, Any]:
    try:
        document = parse_json(data)
    except ValueError as exc:
        raise ResultsError(f"{name}: is not a baseline: not JSON ({exc})") from exc
    if not isinstance(document, dict) or "tokbench_baseline" not in document:
        raise ResultsError(
            f"{name}: is not a baseline; save one with: tokbench baseline save RUN FILE"
        )
    return document


def _first(exc: ValidationError) -> str:
    error = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in error['loc'])[:200]}: {error['msg']}"


def damaged(name: str, why: str) -> ResultsError:
    """Return the error for a baseline that was changed after it was saved."""
    return ResultsError(
        f"{name}: is damaged or was edited: {why}; save it again with `tokbench baseline save RUN "
        "FILE`, also to resolve merge conflicts in it"
    )
