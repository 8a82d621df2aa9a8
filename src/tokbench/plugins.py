"""Everything that a plug-in needs, under one name.

    from tokbench.plugins import CountsSuite, Measurement, MetricSpec, Tallies

Names are imported on use, so that a plug-in's module stays light. Nothing is defined here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokbench.bench.commands.anchors import AnchorPlugin, Check
    from tokbench.bench.commands.budget.outcome import BudgetOutcome
    from tokbench.bench.commands.budget.report import BudgetPlugin
    from tokbench.bench.compare.comparison import Comparison
    from tokbench.bench.compare.report import ComparisonPlugin
    from tokbench.bench.count.stats import Interval
    from tokbench.bench.count.suite import CountsSuite
    from tokbench.bench.count.tallies import Tallies
    from tokbench.bench.count.tally import (
        ArrayTally,
        Cell,
        CellKey,
        CorpusFacts,
        Tally,
        TokenizerFacts,
    )
    from tokbench.bench.count.token_bytes import Contents
    from tokbench.bench.errors import InputError, Refusal, TokenizerError, TrainingError
    from tokbench.bench.markup import escape, markdown_table
    from tokbench.bench.model import (
        Finding,
        Fingerprint,
        HasMerging,
        HasOffsets,
        HasPreTokens,
        HasSingleCall,
        HasSpecialTokens,
        HasSpelling,
        HasThreads,
        Ids,
        Measurement,
        Merging,
        MetricSpec,
        Place,
        Span,
        Tokenizer,
        Vocabulary,
    )
    from tokbench.bench.plugins import (
        FinderPlugin,
        LabelledTexts,
        LoadContext,
        MergeEvent,
        MergeTrainer,
        NestedTrainer,
        Plugin,
        PruneEvent,
        PruningTrainer,
        Rival,
        SegmenterPlugin,
        SuitePlugin,
        TextSizes,
        TokenizerPlugin,
        Trace,
        TrainedModel,
        TrainerPlugin,
        WeightedTexts,
    )
    from tokbench.bench.reasons import Reason
    from tokbench.bench.results.report import HistoryPlugin, ReportPlugin
    from tokbench.bench.results.run_folder import Results
    from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
    from tokbench.bench.timing.cases import Block, Case, Grid
    from tokbench.bench.timing.contest import Contest, Sample, Timed
    from tokbench.bench.timing.suite import ClockSuite
    from tokbench.bench.workers.executors import ExecutorPlugin

_HOMES = {
    "commands.anchors": "AnchorPlugin Check",
    "commands.budget.outcome": "BudgetOutcome",
    "commands.budget.report": "BudgetPlugin",
    "compare.comparison": "Comparison",
    "compare.report": "ComparisonPlugin",
    "count.stats": "Interval",
    "count.suite": "CountsSuite",
    "count.tallies": "Tallies",
    "count.tally": "ArrayTally Cell CellKey CorpusFacts Tally TokenizerFacts",
    "count.token_bytes": "Contents",
    "errors": "InputError Refusal TokenizerError TrainingError",
    "markup": "escape markdown_table",
    "model": "Finding Fingerprint HasMerging HasOffsets HasPreTokens HasSingleCall"
    " HasSpecialTokens HasSpelling HasThreads Ids Measurement Merging MetricSpec Place Span Tokenizer Vocabulary",
    "plugins": "FinderPlugin LabelledTexts LoadContext MergeEvent MergeTrainer NestedTrainer Plugin PruneEvent"
    " PruningTrainer Rival SegmenterPlugin SuitePlugin TextSizes TokenizerPlugin Trace TrainedModel TrainerPlugin"
    " WeightedTexts",
    "reasons": "Reason",
    "results.report": "HistoryPlugin ReportPlugin",
    "results.run_folder": "Results",
    "run.probe": "Examination Subject TokenizerSuite",
    "timing.cases": "Block Case Grid",
    "timing.contest": "Contest Sample Timed",
    "timing.suite": "ClockSuite",
    "workers.executors": "ExecutorPlugin",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AnchorPlugin",
    "ArrayTally",
    "Block",
    "BudgetOutcome",
    "BudgetPlugin",
    "Case",
    "Cell",
    "CellKey",
    "Check",
    "ClockSuite",
    "Comparison",
    "ComparisonPlugin",
    "Contents",
    "Contest",
    "CorpusFacts",
    "CountsSuite",
    "Examination",
    "ExecutorPlugin",
    "FinderPlugin",
    "Finding",
    "Fingerprint",
    "Grid",
    "HasMerging",
    "HasOffsets",
    "HasPreTokens",
    "HasSingleCall",
    "HasSpecialTokens",
    "HasSpelling",
    "HasThreads",
    "HistoryPlugin",
    "Ids",
    "InputError",
    "Interval",
    "LabelledTexts",
    "LoadContext",
    "Measurement",
    "MergeEvent",
    "MergeTrainer",
    "Merging",
    "MetricSpec",
    "NestedTrainer",
    "Place",
    "Plugin",
    "PruneEvent",
    "PruningTrainer",
    "Reason",
    "Refusal",
    "ReportPlugin",
    "Results",
    "Rival",
    "Sample",
    "SegmenterPlugin",
    "Span",
    "Subject",
    "SuitePlugin",
    "Tallies",
    "Tally",
    "TextSizes",
    "Timed",
    "Tokenizer",
    "TokenizerError",
    "TokenizerFacts",
    "TokenizerPlugin",
    "TokenizerSuite",
    "Trace",
    "TrainedModel",
    "TrainerPlugin",
    "TrainingError",
    "Vocabulary",
    "WeightedTexts",
    "escape",
    "markdown_table",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"tokbench.bench.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
