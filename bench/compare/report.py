"""Reports on a comparison."""

from __future__ import annotations

from collections.abc import Mapping

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.plugins import Plugin


class ComparisonPlugin(Plugin):
    """Options of one kind of report on a comparison."""

    group = "tokbench.comparisons"

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError
