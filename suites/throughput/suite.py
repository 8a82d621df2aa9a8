"""How fast tokenizers encode, decode and train: a grid of calls, timed turn by turn."""

from __future__ import annotations

from tokbench.bench.timing.cases import Grid
from tokbench.bench.timing.contest import Contest, Schedule, Timed, take_turns
from tokbench.suites.throughput.grid import grid
from tokbench.suites.throughput.options import Options
from tokbench.suites.throughput.values import values


class Throughput(Options):
    """Speed of every tokenizer in each call over each text, relative to a pinned one."""

    def cases(self, contest: Contest) -> Grid:
        """Return what is timed, and what cannot be."""
        return grid(self, contest.texts, contest.training)

    def measure(self, contest: Contest) -> Timed:
        """Let the tokenizers take turns on each case."""
        pinned = self._pinned(contest)
        schedule = Schedule(
            processes=self.processes,
            rounds=self.rounds,
            warm_ups=self.warm_ups,
            seconds=self.milliseconds / 1000,
            pinned=frozenset(pinned.values()),
        )
        cases = self.cases(contest)
        samples, failures = take_turns(contest, cases.cases, schedule)
        return values(contest, cases, samples, failures, pinned)

    def _pinned(self, contest: Contest) -> dict[str, str]:
        """Return which tokenizer each is compared with."""
        first = next(iter(contest.tokenizers), "")
        return {
            name: self.references.get(name, self.reference or first) for name in contest.tokenizers
        }
