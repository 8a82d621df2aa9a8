"""The options of the throughput suite."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from tokbench.bench.model import MetricSpec
from tokbench.bench.timing.cases import CallShape, Sight
from tokbench.bench.timing.suite import ClockSuite
from tokbench.suites.throughput.specs import METRICS


class Options(ClockSuite):
    """Which calls are timed over which texts, how often, and against which tokenizer."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = METRICS

    reference: str | None = Field(
        None, description="the pinned tokenizer that others are compared with; else the first"
    )
    references: dict[str, str] = Field(
        default_factory=dict, description="another pinned tokenizer for some, by their keys"
    )
    phases: tuple[Literal["encode", "decode", "latency", "train"], ...] = ("encode", "decode")
    calls: tuple[CallShape, ...] = ("batch",)
    batch_sizes: tuple[int | None, ...] = Field(
        (None,), description="documents in a batch; null: all of them"
    )
    threads: tuple[int, ...] = (1,)
    texts: tuple[Sight, ...] = ("repeated",)
    by: Literal["corpus", "language"] = "corpus"
    languages: tuple[str, ...] | None = Field(None, description="only these languages or codes")
    lengths: tuple[int, ...] = Field((), description="bytes at which documents are parted")
    processes: int = Field(3, ge=1, description="fresh processes of each tokenizer")
    rounds: int = Field(11, ge=3, description="timed rounds in each process")
    warm_ups: int = Field(2, ge=1, description="rounds before them, stored apart")
    milliseconds: float = Field(
        5, gt=0, description="repeated text is passed over until a sample takes about so long"
    )
    max_bytes: int = Field(1_000_000, ge=1, description="text of a case: whole documents")
    latency_bytes: int = Field(256, ge=1, description="longest text whose latency is timed")
    latency_texts: int = Field(200, ge=1, description="how many of them")

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
