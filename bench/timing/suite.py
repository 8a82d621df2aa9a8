"""Suites that time tokenizers."""

from __future__ import annotations

from tokbench.bench.plugins import SuitePlugin
from tokbench.bench.timing.cases import Grid
from tokbench.bench.timing.contest import Contest, Timed


class ClockSuite(SuitePlugin):
    """A suite that times tokenizers, alone on the machine, after everything is counted."""

    def cases(self, contest: Contest) -> Grid:
        """Return what it times, for others that time the same: a gate, or pytest-benchmark."""
        raise NotImplementedError

    def measure(self, contest: Contest) -> Timed:
        """Time the tokenizers of a run against each other."""
        raise NotImplementedError
