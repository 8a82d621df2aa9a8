"""Time and memory limits of worker processes.

Limits never change a value: they decide when a tokenizer, a corpus or a trainer is given up.
"""

from __future__ import annotations

from pydantic import BaseModel, ByteSize, ConfigDict, Field


class Limits(BaseModel):
    """Limits of one worker process; a process that exceeds one is killed and the run continues."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    seconds: float = Field(
        120,
        gt=0,
        description="Seconds for one document or one batch of documents (about 1 MiB), and for one "
        "call of a suite that runs tokenizers.",
    )
    load_seconds: float = Field(
        300,
        gt=0,
        description="Seconds for loading a tokenizer, and between two rows of a corpus.",
    )
    train_seconds: float = Field(7200, gt=0, description="Seconds for training one tokenizer.")
    hub_seconds: float = Field(
        60,
        gt=0,
        description="Seconds to retry the Hub after a refusal or a broken connection.",
    )
    memory: ByteSize = Field(
        ByteSize(8 * 10**9),
        ge=10**8,
        description="Resident memory, in bytes or as text such as `8 GB`.",
    )
    lost_documents: int = Field(
        5,
        ge=1,
        description="Documents that may crash a worker before the rest of their part of a cell is "
        "given up; for a suite, texts before it gives up the tokenizer.",
    )
    corpus_bytes: ByteSize = Field(
        ByteSize(20 * 10**9),
        ge=1,
        description="Bytes to read for one language of a corpus, after unpacking. If it is not "
        "set, a file that unpacks to more than 200 times its size is an error.",
    )
    corpus_seconds: float = Field(
        3600, gt=0, description="Seconds for reading one language of a corpus."
    )
