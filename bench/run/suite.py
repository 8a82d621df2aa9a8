"""Suites that call the tokenizers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.model import Finding, Measurement
from tokbench.bench.plugins import SuitePlugin
from tokbench.bench.run.probe import Examination


class TokenizerSuite(SuitePlugin):
    """A suite that asks the tokenizers themselves, after everything is counted.

    It runs in the tokenizer's own worker process, which may be lost with nothing else. What it may
    cost is bounded by its options, in texts and not in seconds, so that the same inputs give the
    same results; its CPU time is recorded apart.
    """

    def together(self, tokenizers: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return which tokenizers of a run are asked at one time: each alone, by default."""
        return [(key,) for key in tokenizers]

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return what the tokenizers of an examination answer."""
        raise NotImplementedError

    def compare(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return what follows from the counts of all tokenizers, none of which is asked."""
        return ()
