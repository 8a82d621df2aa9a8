"""Suites that are pure functions of what has been counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Need
from tokbench.bench.model import Finding, Measurement
from tokbench.bench.plugins import SuitePlugin


class CountsSuite(SuitePlugin):
    """A suite whose values are pure functions of what has been counted."""

    needs: ClassVar[frozenset[Need]] = frozenset()
    """What it needs counted beside what always is."""

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell that has any."""
        raise NotImplementedError
