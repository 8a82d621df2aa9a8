"""`run.json` as it is read: within bounds, strict JSON, and of the shape that readers rely on.

Only what tokbench reads is checked; runs of older schemas have fewer keys, newer ones more.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json, read_bounded
from tokbench.bench.model import Direction, Kind, Status
from tokbench.bench.results.seal import damaged_run, seal_holds

LARGEST = 1 << 30
"""Bytes of the largest `run.json` that is read."""

LAST_UNSEALED = 1
"""Results schema up to which a run may come without a seal."""

Count = Annotated[int, Field(ge=0)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
Scalar = str | bool | int | float | None


class _RunPart(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class ConfigEntry(_RunPart):
    """The config of a run, as far as readers look into it."""

    description: str = ""
    corpora: Mapping[str, Mapping[str, Any]]
    tokenizers: Mapping[str, Mapping[str, Any]]
    suites: Mapping[str, Mapping[str, Any]]
    keep_ids: bool = False
    gate: Mapping[str, Any] = Field(default_factory=dict)


class MetricEntry(_RunPart):
    """A metric's unit, direction and definition."""

    unit: str
    direction: Direction
    definition: str


class TokenizerEntry(_RunPart):
    """Facts about a tokenizer."""

    fingerprint: Hash
    fingerprint_parts: Mapping[str, str]
    n_entries: Count
    n_ids: Count
    n_special: Count
    notes: list[str]
    matched_special: int = 0
    """Special tokens that a text which spells them gets; the others are ordinary text."""
    added_special_tokens: int = 0
    """Special tokens that its own template adds to a text; they are left out."""
    encode_call: str = ""
    """The call that encodes and is timed, such as ``tokenizers.Tokenizer.encode_batch_fast``."""
    trained: Mapping[str, Any] | None = None


class SliceEntry(_RunPart):
    """Facts about a slice."""

    sha256: Hash
    documents: Count
    bytes: Count
    characters: Count
    tag: str | None
    script: str | None
    kind: Kind
    pivot: str | None
    parallel: bool
    rows_skipped: Mapping[str, Count]
    notes: list[str]
    words_reason: str | None


class CellEntry(_RunPart):
    """The outcome of a cell."""

    tokenizer: str
    corpus: str
    language: str
    status: Status
    n: Count
    detail: str | None


class RunFile(_RunPart):
    """The content of `run.json`."""

    schema_version: Annotated[int, Field(ge=1)]
    name: str
    config: ConfigEntry
    policy: Mapping[str, Scalar]
    versions: Mapping[str, str]
    metrics: Mapping[str, MetricEntry]
    tokenizers: Mapping[str, TokenizerEntry]
    corpora: Mapping[str, Mapping[str, SliceEntry]]
    cells: list[CellEntry]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    files: Mapping[str, Hash] | None = None
    seal: Hash | None = None


def read_run_file(folder: Path) -> dict[str, Any]:
    """Return the content of a folder's `run.json`.

    Raises `ResultsError` when it cannot be read, breaks its seal or is not of the right shape.
    """
    data = read_bounded(folder / "run.json", LARGEST)
    try:
        run = parse_json(data)
    except ValueError as exc:
        raise damaged_run(folder, f"not JSON ({exc})") from exc
    if not isinstance(run, dict):
        raise ResultsError(f"{folder / 'run.json'}: is not a JSON object")
    sealed = "seal" in run or "files" in run
    if sealed and not seal_holds(data):
        raise damaged_run(folder, "its seal does not match its content")
    try:
        checked = RunFile.model_validate(run)
    except ValidationError as exc:
        raise damaged_run(folder, _first(exc)) from exc
    if sealed and checked.files is None:
        raise damaged_run(folder, "it names no files")
    if not sealed and checked.schema_version > LAST_UNSEALED:
        raise damaged_run(folder, "it has no seal")
    return run


def _first(exc: ValidationError) -> str:
    error = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in error["loc"])
    return f"{place[:200]}: {error['msg']}"
