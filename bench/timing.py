"""Timing: worker processes that take turns, raw samples kept.

Each tokenizer lives in a process of its own, started fresh and alone with the text. The processes
take turns, one at a time, in an order shuffled each round, so that a slow minute of the machine
slows all of them alike. Garbage collection is off inside a sample. Only the library's own calls
are timed: one batch call on one thread, without offsets.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Literal

from bench.environment import no_garbage_collection
from bench.errors import TokbenchError
from bench.loading import TokenizerSource
from bench.model import Finding, Measurement

Phase = Literal["load", "encode", "decode"]

REPLY_SECONDS = 120
"""A worker that says nothing for this long is ended and reported."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One timed call: seconds by the wall and by the CPU for the whole text."""

    tokenizer: str
    corpus: str
    phase: Phase
    round: int
    warm_up: bool
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What a clock suite works on: tokenizers, and the documents of each corpus."""

    tokenizers: Mapping[str, TokenizerSource]
    texts: Mapping[str, Iterable[str]]
    seed: int
    progress: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What a clock suite found: values, every raw sample behind them, and what went wrong."""

    measurements: Sequence[Measurement]
    samples: Sequence[Sample]
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A tokenizer that could not be timed, and why."""

    tokenizer: str
    reason: str


def take_turns(
    contest: Contest, *, rounds: int, warm_ups: int
) -> tuple[list[Sample], list[Failure]]:
    """Return the samples of all rounds, and the tokenizers that failed on the way."""
    workers = {name: _Worker(name, source) for name, source in contest.tokenizers.items()}
    samples: list[Sample] = []
    failures: list[Failure] = []

    def guarded(name: str, action: Callable[[], None]) -> None:
        if name in workers:
            try:
                action()
            except TokbenchError as exc:
                workers.pop(name).stop()
                failures.append(Failure(tokenizer=name, reason=str(exc)))

    try:
        for name, worker in list(workers.items()):
            guarded(name, partial(worker.start, contest.texts))
        order = random.Random(contest.seed)
        for number in range(warm_ups + rounds):
            contest.progress(f"timing round {number + 1} of {warm_ups + rounds}")
            turns = [(worker, corpus) for worker in workers.values() for corpus in contest.texts]
            order.shuffle(turns)
            for worker, corpus in turns:
                turn = partial(worker.turn, corpus, number, samples, warm_up=number < warm_ups)
                guarded(worker.name, turn)
    finally:
        for worker in workers.values():
            worker.stop()
    return samples, failures


class _Worker:
    """One tokenizer in a process of its own."""

    def __init__(self, name: str, source: TokenizerSource) -> None:
        self.name = name
        self._source = source
        self._connection: Connection | None = None
        self._process: Any = None

    def start(self, texts: Mapping[str, Iterable[str]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._source), daemon=True)
        self._process.start()
        theirs.close()
        self._ask({corpus: list(documents) for corpus, documents in texts.items()})

    def turn(self, corpus: str, number: int, samples: list[Sample], *, warm_up: bool) -> None:
        samples += [
            Sample(
                tokenizer=self.name,
                corpus=corpus,
                phase=phase,
                round=number,
                warm_up=warm_up,
                wall_seconds=wall,
                cpu_seconds=cpu,
            )
            for phase, wall, cpu in self._ask(corpus)
        ]

    def _ask(self, message: object) -> Any:
        assert self._connection is not None
        try:
            self._connection.send(message)
            if not self._connection.poll(REPLY_SECONDS):
                raise TokbenchError(f"said nothing for {REPLY_SECONDS} s while it was timed")
            answer = self._connection.recv()
        except (EOFError, OSError) as exc:
            self._process.join(timeout=2)  # the pipe closes a moment before the process is gone
            code = self._process.exitcode
            raise TokbenchError(f"its process ended while it was timed (exit code {code})") from exc
        if isinstance(answer, str):
            raise TokbenchError(answer)
        return answer

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(timeout=2)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()


def _serve(connection: Connection, source: TokenizerSource) -> None:
    """Run in the worker: load, then time one batch call of each kind whenever asked.

    A text for an answer is an error; everything that can go wrong in a library is sent back.
    """
    from bench.encode import is_library_failure

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        tokenizer = source.load()
        texts = connection.recv()
        connection.send(True)
        while True:
            documents = texts[connection.recv()]
            encode_time, ids = _timed(lambda: tokenizer.encode_batch(documents))  # noqa: B023
            decode_time, _ = _timed(lambda: tokenizer.decode_batch(ids))  # noqa: B023
            connection.send([("encode", *encode_time), ("decode", *decode_time)])
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        return
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        connection.send(f"{type(exc).__name__}: {exc}"[:500])


def _timed(call: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    gc.collect()
    with no_garbage_collection():
        wall, cpu = time.perf_counter(), time.process_time()
        value = call()
        return (time.perf_counter() - wall, time.process_time() - cpu), value
