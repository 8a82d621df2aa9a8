"""What is timed: one call shape over one text. A suite makes cases; workers and gates time them.

A case says what is called and holds its documents; it knows no tokenizer. `call_of` turns it and a
loaded tokenizer into the call that stands between two looks at the clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from tokbench.bench.errors import Refusal
from tokbench.bench.model import HasSingleCall, HasThreads, Ids, Tokenizer
from tokbench.bench.timing.standalone_worker import batches

Phase = Literal["encode", "decode", "latency", "train", "load"]
"""The operation of a sample. `load` has no case of its own: it is timed when a worker starts."""

CallShape = Literal["single", "batch"]
Sight = Literal["repeated", "first_sight"]

Block = tuple[str, ...]
"""The documents of one sample."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One cell of the grid.

    `blocks` has one block of documents that every round encodes, or, at first sight, one for each
    round of a process, no document in two of them nor in any other case.
    """

    corpus: str
    phase: Phase
    language: str | None = None
    """None: all languages of the corpus together."""
    length: str | None = None
    """Which documents by their length in bytes, such as ``"to_256"``; None: all."""
    call: CallShape = "batch"
    batch_size: int | None = None
    """Documents in one call; None: all of them. 1 where the call is single."""
    threads: int = 1
    sight: Sight = "repeated"
    blocks: tuple[Block, ...] = field(repr=False, compare=False, hash=False)

    @property
    def id(self) -> str:
        """A short name, for tests and progress; it holds no text.

        >>> Case(corpus="web", language="en", phase="encode", threads=2, blocks=(("a",),)).id
        'web-en-encode-batch-2_threads'
        >>> Case(corpus="web", phase="encode", call="single", sight="first_sight", blocks=()).id
        'web-encode-single-first_sight'
        """
        shape = f"batch_{self.batch_size}" if self.batch_size else self.call
        parts = (
            self.corpus,
            self.language,
            self.length,
            self.phase,
            None if self.phase in ("latency", "train") else shape,
            f"{self.threads}_threads" if self.threads > 1 else None,
            "first_sight" if self.sight == "first_sight" else None,
        )
        return "-".join(part for part in parts if part)

    def block(self, number: int) -> Block:
        """Return the documents of a round."""
        return self.blocks[number % len(self.blocks)]

    def params(self) -> dict[str, Any]:
        """Return the params that identify this case, for results."""
        return {
            "phase": self.phase,
            "call": self.call,
            "batch_size": self.batch_size,
            "threads": self.threads,
            "text": self.sight,
            "length": self.length,
        }


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A requested case that cannot be timed, with the reason."""

    case: Case
    reason: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The cases of a suite, and those that cannot be."""

    cases: Sequence[Case]
    rounds: int
    warm_ups: int
    left_out: Sequence[LeftOut] = ()


def bytes_of(documents: Sequence[str]) -> int:
    """Return the UTF-8 bytes of some documents."""
    return sum(len(text.encode()) for text in documents)


def lengths_of(documents: Sequence[str]) -> dict[str, int]:
    """Return the lengths of documents in bytes: minimum, median, 90th percentile, maximum.

    >>> lengths_of(["a" * n for n in range(1, 101)])
    {'least': 1, 'median': 50, 'p90': 90, 'most': 100}
    """
    sizes = [len(text.encode()) for text in documents]
    least, middle, high, most = np.percentile(sizes, [0, 50, 90, 100], method="lower").tolist()
    return {"least": least, "median": middle, "p90": high, "most": most}


def call_of(tokenizer: Tokenizer, case: Case, documents: Sequence[str]) -> Callable[[], object]:
    """Return the call to time: everything that is not the library's work is done here, before.

    Raises `Refusal` where the tokenizer has no such call.
    """
    if case.phase == "decode":
        ids: Sequence[Ids] = tokenizer.encode_batch(list(documents))
        return _each(tokenizer.decode_batch, batches(list(ids), size_of(case)))
    if case.call == "single":
        one = single_call(tokenizer)
        return lambda: [one(text) for text in documents]
    return _each(_batch_call(tokenizer, case.threads), batches(list(documents), size_of(case)))


def size_of(case: Case) -> int | None:
    """Return how many documents one call gets."""
    return 1 if case.call == "single" else case.batch_size


def _each(call: Callable[[Any], object], parts: Sequence[Any]) -> Callable[[], object]:
    if len(parts) == 1:
        return partial(call, parts[0])
    return lambda: [call(part) for part in parts]


def single_call(tokenizer: Tokenizer) -> Callable[[str], object]:
    """Return the library's call for one text; a batch of one where it has none."""
    if isinstance(tokenizer, HasSingleCall):
        return tokenizer.encode_one
    return lambda text: tokenizer.encode_batch([text])


def _batch_call(tokenizer: Tokenizer, threads: int) -> Callable[[Sequence[str]], object]:
    if threads == 1:
        return tokenizer.encode_batch
    if not isinstance(tokenizer, HasThreads):
        raise Refusal(f"its library has no call that encodes a batch on {threads} threads")
    return partial(tokenizer.encode_batch_on, threads=threads)


def pin_threads(threads: int) -> None:
    """Set the size of thread pools; before any library is imported."""
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
