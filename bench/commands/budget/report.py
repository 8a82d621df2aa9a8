"""Reports on a budget."""

from __future__ import annotations

from collections.abc import Mapping

from tokbench.bench.commands.budget.outcome import BudgetOutcome
from tokbench.bench.plugins import Plugin


class BudgetPlugin(Plugin):
    """Options of one kind of report on a budget."""

    group = "tokbench.budgets"

    def render(self, outcome: BudgetOutcome) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError
