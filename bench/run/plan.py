"""The plan of a run, without any measurement."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.count.tally import CellKey
from tokbench.bench.environment import library_versions
from tokbench.bench.markup import plural, table
from tokbench.bench.results.schemas import SCHEMA_VERSION
from tokbench.bench.run.probe import TokenizerSuite
from tokbench.bench.timing.suite import ClockSuite


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells of a run, in the order of the config, and a hash of their inputs."""

    name: str
    cells: tuple[CellKey, ...]
    sha256: str

    def describe(self) -> str:
        """Return the plan in words: the tokenizers, then each corpus with its languages, once."""
        tokenizers = list(dict.fromkeys(cell.tokenizer for cell in self.cells))
        corpora: dict[str, list[str]] = {}
        for cell in self.cells:
            if cell.tokenizer == tokenizers[0]:
                corpora.setdefault(cell.corpus, []).append(cell.language)
        rows = [[name, str(len(some)), ", ".join(some)] for name, some in corpora.items()]
        listed = table(["corpus", "languages", "which"], rows, right=[1])
        times = plural(len(tokenizers), "tokenizer")
        return (
            f"{self.name}: {plural(len(self.cells), 'cell')}: {times} \u00d7 "
            f"{plural(len(rows), 'corpus', 'corpora')}\n"
            f"tokenizers: {', '.join(tokenizers)}\n{listed}"
        )


def make_plan(config: Config) -> Plan:
    """Return the plan of a config: every tokenizer on every language of every corpus."""
    cells = tuple(
        CellKey(tokenizer, corpus, language)
        for tokenizer in config.tokenizers
        for corpus, entry in config.run.corpora.items()
        for language in entry.options()
    )
    decides = {
        "config": config.sha256(),
        "schema": SCHEMA_VERSION,
        "versions": library_versions(),
    }
    text = json.dumps(decides, sort_keys=True)
    return Plan(name=config.run.name, cells=cells, sha256=hashlib.sha256(text.encode()).hexdigest())


SLICE, LOAD, CELL, TRAIN = 0.05, 0.7, 0.03, 2.0
"""Seconds for reading one language, loading a tokenizer, counting a cell, one training."""
ASKING, ROUND, PROBING, REPORT = 3.0, 0.12, 5.0, 0.8
"""Seconds for a suite that asks one tokenizer, a tokenizer's turn in a round of timing, a clock
suite without rounds on one tokenizer, and a report."""
REPORT_CELL = 0.003


def seconds_by_part(config: Config, plan: Plan) -> dict[str, float]:
    """Return the seconds that reading, counting, asking, timing and reporting may take.

    They are rough weights for a progress bar, measured on a common machine: what matters is how
    the parts compare. `tokbench plan --estimate` measures a sample.
    """
    n, suites = len(config.tokenizers), config.suites.values()
    slices = sum(len(entry.options()) for entry in config.run.corpora.values())
    trained = sum(isinstance(entry, TrainEntry) for entry in config.tokenizers.values())
    asking = sum(isinstance(suite, TokenizerSuite) for suite in suites)
    clocks = [suite for suite in suites if isinstance(suite, ClockSuite)]
    reports = len(config.run.reports) + 1
    return {
        "corpora": SLICE * slices + TRAIN * trained,
        "counting": LOAD * n + CELL * len(plan.cells),
        "suites": ASKING * n * asking,
        "timing": sum(_turns(suite) * n for suite in clocks),
        "reports": REPORT * reports + REPORT_CELL * len(plan.cells),
    }


def _turns(suite: ClockSuite) -> float:
    processes, rounds = getattr(suite, "processes", None), getattr(suite, "rounds", None)
    if isinstance(processes, int) and isinstance(rounds, int):
        return processes * (LOAD + rounds * ROUND)
    return PROBING


def cells_by_tokenizer(plan: Plan) -> Mapping[str, int]:
    """Return the number of cells of each tokenizer."""
    return Counter(cell.tokenizer for cell in plan.cells)
