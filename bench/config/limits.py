"""How long to wait and how much memory to allow before a worker process is ended.

Limits decide nothing about numbers: they say when a tokenizer, a corpus or a trainer is given up.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_bytes(value: Any) -> Any:
    """Return a number of bytes from text such as ``2 GB``; other values as they are.

    >>> parse_bytes("1.5 GB"), parse_bytes("512MiB"), parse_bytes(7)
    (1500000000, 536870912, 7)
    """
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
    if found is None or found.group(2).upper() not in _UNITS:
        raise ValueError(f"{value!r} is no amount of memory; write it like 4 GB or 512 MiB")
    return int(float(found.group(1)) * _UNITS[found.group(2).upper()])


def show_bytes(n: int) -> str:
    """Return an amount of memory as people write it.

    >>> show_bytes(8_000_000_000), show_bytes(512_000_000), show_bytes(1500)
    ('8 GB', '512 MB', '1.5 KB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if n >= _UNITS[unit] and n % (_UNITS[unit] // 10) == 0:
            return f"{n / _UNITS[unit]:g} {unit}"
    return f"{n} bytes"


class Limits(BaseModel):
    """What one worker process may take before it is ended and its work goes on without it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: float = Field(default=120, gt=0)
    """For one document, or for one batch of them (about 1 MiB)."""
    load_seconds: float = Field(default=300, gt=0)
    """For loading a tokenizer, and for each pause of a corpus that is being read."""
    train_seconds: float = Field(default=7200, gt=0)
    """For training one tokenizer."""
    hub_seconds: float = Field(default=60, gt=0)
    """For waiting until the Hub answers again after it refused or broke off."""
    memory: Annotated[int, BeforeValidator(parse_bytes)] = Field(default=8 * 10**9, ge=10**8)
    """Resident memory, in bytes or as text such as ``8 GB``."""
    lost_documents: int = Field(default=5, ge=1)
    """Documents that may end a worker before the rest of their part of a cell is given up."""
    corpus_bytes: ByteSize = Field(
        default=ByteSize(20 * 10**9),
        ge=1,
        description="Bytes that reading one language of a corpus may take, after unpacking. Unless it "
        "is set, a file that unpacks to more than 200 times its size is an error.",
    )
    corpus_seconds: float = Field(
        default=3600, gt=0, description="Seconds that reading one language of a corpus may take."
    )
