"""Suites that are pure functions of what has been counted."""

from __future__ import annotations

from collections.abc import Iterable

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.model import Finding, Measurement
from tokbench.bench.plugins import SuitePlugin


class CountsSuite(SuitePlugin):
    """A suite whose values are pure functions of what has been counted."""

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell that has any."""
        raise NotImplementedError
