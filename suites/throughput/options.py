"""The options of the throughput suite."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import ByteSize, Field, field_validator, model_validator

from tokbench.bench.model import MetricSpec
from tokbench.bench.timing.cases import CallShape, Sight
from tokbench.bench.timing.suite import ClockSuite
from tokbench.suites.throughput.specs import METRICS


class Options(ClockSuite):
    """Which calls are timed over which texts, how often, and against which tokenizer."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = METRICS

    reference: str | None = Field(
        None,
        description="Key of the pinned tokenizer that the others are compared with; by default the "
        "first.",
    )
    references: dict[str, str] = Field(
        default_factory=dict,
        description="Another pinned tokenizer for some: `{mine: t5}` compares `mine` with one of "
        "its own kind.",
    )
    phases: tuple[Literal["encode", "decode", "latency", "train"], ...] = Field(
        ("encode", "decode"),
        description="What is timed: `encode`, `decode`, `latency` (single short texts) and `train` "
        "(tokenizers with a `train:` block).",
    )
    calls: tuple[CallShape, ...] = Field(
        ("batch",), description="`batch`, and `single`: one call for each document."
    )
    batch_sizes: tuple[int | None, ...] = Field(
        (None,), description="Documents in a batch; `null` is all of them in one."
    )
    threads: tuple[int, ...] = Field(
        (1,),
        description="Threads of a batch that is encoded. Each number has processes of its own.",
    )
    texts: tuple[Sight, ...] = Field(
        ("repeated",),
        description="`repeated`: the same text every round; `first_sight`: documents that this "
        "process has not seen.",
    )
    by: Literal["corpus", "language"] = Field(
        "corpus", description="`corpus`, all languages together, or `language`."
    )
    languages: tuple[str, ...] | None = Field(
        None, description="Only these languages, by key; by default all."
    )
    lengths: tuple[int, ...] = Field(
        (),
        description="Bytes at which documents are separated by length: `[256, 4096]` makes three "
        "cases.",
    )
    processes: int = Field(3, ge=1, description="Fresh processes of each tokenizer.")
    rounds: int = Field(11, ge=3, description="Timed rounds in each process, at least 3.")
    warm_ups: int = Field(2, ge=1, description="Rounds before the timed ones, stored apart.")
    milliseconds: float = Field(
        5, gt=0, description="Repeated text is encoded again until a sample takes about this long."
    )
    max_bytes: ByteSize = Field(
        ByteSize(1_000_000),
        ge=1,
        description="Text of a case in bytes: whole documents until this is reached; a number or "
        "text such as `1 MB`.",
    )
    latency_bytes: int = Field(
        256, ge=1, description="Longest text whose latency is timed, in bytes."
    )
    latency_texts: int = Field(200, ge=1, description="Number of texts whose latency is timed.")

    @field_validator("batch_sizes", "threads", "lengths")
    @classmethod
    def _positive(cls, values: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if any(value is not None and value < 1 for value in values):
            raise ValueError("these must be 1 or more")
        return values

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if list(self.lengths) != sorted(set(self.lengths)):
            raise ValueError("lengths must rise: each is the most bytes of its bucket")
        return self
