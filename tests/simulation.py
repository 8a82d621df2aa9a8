"""Simulate a large cluster: the real pool, workers that do no work and are lost at random.

    python tests/simulation.py --workers 1000 --parts 100000 --lost 0.01

Each part is counted by a worker that waits some milliseconds and stores a small tally under the
part's number, as a worker stores a file. A lost worker may have stored its part or not; the part is
then counted again, as Ray asks a restarted actor again. In the end every part must be there once,
the merged counts must be those of one pass, and the driver's memory must not have grown with the
losses. With the measured cost per MB, a table of hours follows.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokbench.bench.count.tally import merge_histograms
from tokbench.bench.environment import Stopwatch, peak_bytes
from tokbench.bench.workers.job import Answer, Died, Job, perform
from tokbench.bench.workers.pool import Workers
from tokbench.bench.workers.ray_actors import RESTARTS

IDS = 1000
"""Ids of the vocabulary whose occurrences are counted."""

Counts = tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]


def counts_of(part: int) -> Counts:
    """Return the histogram of a part, the same whenever it is counted."""
    ids = np.unique(np.random.default_rng(part).integers(0, IDS, 16))
    return ids, ids % 7 + 1


@dataclass(frozen=True, kw_only=True)
class Part(Job[int]):
    """A part to count."""

    number: int

    @property
    def group(self) -> str:
        """One tokenizer for all."""
        return "tokenizer"

    def run(self, watch: Stopwatch) -> int:
        """Return the number of the part."""
        return self.number


@dataclass(kw_only=True)
class Cluster:
    """What the workers share: the store of tallies, and how often one of them is lost."""

    lost: float
    seconds: float
    rng: random.Random
    stored: dict[int, Counts]
    losses: int = 0
    doubled: int = 0

    def start(self) -> SimulatedWorker:
        """Start a worker."""
        return SimulatedWorker(self)


class SimulatedWorker:
    """A worker of the pool that may be lost before or after it has stored its part."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def ask(
        self,
        fn: Callable[..., Any],
        *arguments: Any,
        memory: int | None = None,
        option: str = "",
        closed: threading.Event | None = None,
    ) -> Any | Died:
        """Count a part; Ray asks again where the worker is lost, up to its limit."""
        cluster, (part,) = self._cluster, arguments
        for _ in range(RESTARTS + 1):
            time.sleep(cluster.seconds)
            is_lost = cluster.rng.random() < cluster.lost
            if not is_lost or cluster.rng.random() < 0.5:
                cluster.doubled += part.number in cluster.stored
                cluster.stored[part.number] = counts_of(part.number)
            if not is_lost:
                return fn(part)
            cluster.losses += 1
        return Died(kind="died", step=("start",), reason="its machine was lost too often")

    def last_words(self) -> str:
        """Return nothing."""
        return ""

    def stop(self) -> None:
        """Do nothing."""


def simulate(workers: int, parts: int, lost: float, seconds: float, seed: int = 0) -> Cluster:
    """Count all parts; raise `AssertionError` where one is missing or the merge is another."""
    cluster = Cluster(lost=lost, seconds=seconds, rng=random.Random(seed), stored={})
    with Workers(workers, on_loss=print, start=cluster.start, name="simulated") as pool:
        futures: list[Future[Answer[int]]] = [
            pool.submit(perform, Part(number=number)) for number in range(parts)
        ]
        answered = sorted(int(future.result().value or 0) for future in futures)
    assert answered == list(range(parts)), "a part was lost or answered twice"
    assert sorted(cluster.stored) == answered
    assert all(map(np.array_equal, merged(list(cluster.stored.values())), in_one_pass(parts)))
    return cluster


def merged(some: list[Counts]) -> Counts:
    """Merge histograms as a tree, pairs first."""
    while len(some) > 1:
        some = [merge_histograms(some[i : i + 2]) for i in range(0, len(some), 2)]
    return some[0]


def in_one_pass(parts: int) -> Counts:
    """Add all histograms up one after the other."""
    total = np.zeros(IDS, np.int64)
    for number in range(parts):
        ids, counts = counts_of(number)
        total[ids] += counts
    ids = np.flatnonzero(total)
    return ids, total[ids]


def table(reading: float, counting: float) -> list[str]:
    """Return lines of hours on the clock by text, tokenizers and cores, from CPU seconds per MB."""
    lines = ["| text | tokenizers | CPU hours | 64 cores | 1,024 cores | 8,192 cores |"]
    lines.append("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for terabytes in (1, 10, 100):
        for tokenizers in (1, 30):
            hours = terabytes * 1e6 * (reading + tokenizers * counting) / 3600
            spread = " | ".join(f"{hours / cores:,.1f} h" for cores in (64, 1024, 8192))
            lines.append(f"| {terabytes} TB | {tokenizers} | {hours:,.0f} | {spread} |")
    return lines


def main() -> None:
    """Simulate once, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=100_000)
    parser.add_argument("--lost", type=float, default=0.01)
    parser.add_argument("--seconds", type=float, default=0.02, help="of one part")
    parser.add_argument("--reading", type=float, default=0.14, help="CPU seconds per MB")
    parser.add_argument("--counting", type=float, default=0.5, help="CPU seconds per MB")
    arguments = parser.parse_args()
    before, started = peak_bytes(), time.monotonic()
    cluster = simulate(arguments.workers, arguments.parts, arguments.lost, arguments.seconds)
    lines = [
        f"{arguments.parts:,} parts on {arguments.workers:,} workers: none lost, none doubled in "
        f"the merge, merge equal to one pass ({time.monotonic() - started:.0f} s)",
        f"workers lost: {cluster.losses:,}; parts stored twice: {cluster.doubled:,}",
        f"driver: {(peak_bytes() - before) / arguments.parts:,.0f} bytes for each part",
        *table(arguments.reading, arguments.counting),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
