"""How long to wait and how much memory to allow before a worker process is ended.

Limits decide nothing about numbers: they say when a tokenizer, a corpus or a trainer is given up.
"""

from __future__ import annotations

from pydantic import BaseModel, ByteSize, ConfigDict, Field


class Limits(BaseModel):
    """What one worker process may take before it is ended and its work goes on without it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: float = Field(
        120,
        gt=0,
        description="Seconds for one document or one batch of documents (about 1 MiB), and for one "
        "question of a suite that asks tokenizers.",
    )
    load_seconds: float = Field(
        300,
        gt=0,
        description="Seconds for loading a tokenizer, and for each pause of a corpus that is being "
        "read.",
    )
    train_seconds: float = Field(7200, gt=0, description="Seconds for training one tokenizer.")
    hub_seconds: float = Field(
        60,
        gt=0,
        description="Seconds to wait for the Hub to answer again after it refused or broke off.",
    )
    memory: ByteSize = Field(
        ByteSize(8 * 10**9),
        ge=10**8,
        description="Resident memory, in bytes or as text such as `8 GB`.",
    )
    lost_documents: int = Field(
        5,
        ge=1,
        description="Documents that may kill a worker before the rest of their part of a cell is "
        "given up; for a suite, texts before it gives the tokenizer up.",
    )
    corpus_bytes: ByteSize = Field(
        ByteSize(20 * 10**9),
        ge=1,
        description="Bytes that reading one language of a corpus may take, after unpacking. Unless it "
        "is set, a file that unpacks to more than 200 times its size is an error.",
    )
    corpus_seconds: float = Field(
        3600, gt=0, description="Seconds that reading one language of a corpus may take."
    )
