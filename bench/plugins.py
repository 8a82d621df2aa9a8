"""Plug-ins: found by entry points, described by their options, imported on use.

A plug-in is one pydantic model. Its fields are its options (they appear in the schema, in
`list` and in error messages); its one method does the work and imports what is heavy. What
tokbench ships and what a third party adds are found in the same way:

    [project.entry-points."tokbench.tokenizers"]
    my_tokenizer = "my_package.tokbench:MyTokenizer"
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tokbench.bench.errors import PluginError
from tokbench.bench.model import Finding, Measurement, MetricSpec, Tokenizer
from tokbench.bench.paths import looking_at, user_path

if TYPE_CHECKING:
    from tokbench.bench.anchoring import Check
    from tokbench.bench.cases import Grid
    from tokbench.bench.compare import Comparison
    from tokbench.bench.examine import Examination
    from tokbench.bench.results import Results
    from tokbench.bench.tally import Tallies
    from tokbench.bench.timing import Contest, Timed


class Plugin(BaseModel):
    """Base of all plug-ins: options are fields, unknown ones are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, kw_only=True)
class LoadContext:
    """What a tokenizer may need to know beside its own options."""

    folder: Path
    """Folder that relative paths in the config start from."""

    def resolve(self, path: str) -> Path:
        """Return a path of the config as one that can be opened; `InputError` where none can be."""
        with looking_at(path):
            return user_path(self.folder, path).resolve()


class TokenizerPlugin(Plugin):
    """Options of one kind of tokenizer."""

    def repository(self, context: LoadContext) -> str | None:
        """Return the Hub repository that an option `revision` pins, None where there is none."""
        return None

    def bare(self, context: LoadContext, folder: Path) -> Mapping[str, Any] | None:
        """Return what `tokbench.bench.bare_worker` needs to load it where there is no tokbench.

        Files that it reads may be written into `folder`. None where tokbench itself is needed,
        as for tokenizers that are part of it.
        """
        return None

    def load(self, context: LoadContext) -> Tokenizer:
        """Build the tokenizer; raise `TokenizerError` with what to do when it cannot be."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """What a trainer leaves behind in its folder."""

    tokenizer: Mapping[str, Any]
    """A config entry that loads it: `type` and options, paths relative to the folder."""
    vocab_size_requested: int
    vocab_size_reached: int
    documents: int
    bytes: int
    lines_skipped: int = 0
    bytes_skipped: int = 0
    deterministic: bool = True
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class TrainerPlugin(Plugin):
    """Options of one training algorithm."""

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Train on texts (they may be iterated more than once) and write into folder."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class MergeEvent:
    """One merge as it happens: its rank from 0, both parts, the token, how often they met.

    Parts and token are bytes, in the spelling of the algorithm (``##`` or ``▁`` as UTF-8).
    """

    rank: int
    left: bytes
    right: bytes
    token: bytes
    count: int


Trace = Callable[[MergeEvent], None]


class MergeTrainer(TrainerPlugin):
    """A trainer that joins pairs one after the other, and tells each as it happens."""

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Train as every trainer does, and call `trace` for each merge."""
        raise NotImplementedError


class NestedTrainer(MergeTrainer):
    """A trainer whose smaller vocabularies are the beginnings of its larger ones.

    One training then serves a whole curve of sizes.
    """

    vocab_size: int = Field(gt=0)

    def train_curve(
        self, texts: Iterable[str], folders: Mapping[int, Path], *, trace: Trace | None = None
    ) -> Mapping[int, TrainedModel]:
        """Train once for the largest size and write a model of each into its folder.

        Files and facts are those that `train` gives with that size.
        """
        raise NotImplementedError

    def least(self) -> int:
        """Return the size without any merge."""
        raise NotImplementedError

    def beginning(self, folder: Path, vocab_size: int) -> Tokenizer:
        """Return the tokenizer of a smaller size from the folder of a trained larger one."""
        raise NotImplementedError


class SuitePlugin(Plugin):
    """Options of one suite of metrics: a `CountsSuite`, a `TokenizerSuite` or a `ClockSuite`.

    A suite is of exactly one kind, so its name says what it needs and what it may cost.
    """

    metrics: ClassVar[tuple[MetricSpec, ...]] = ()


class CountsSuite(SuitePlugin):
    """A suite whose values are pure functions of what has been counted."""

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell that has any."""
        raise NotImplementedError


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


class ClockSuite(SuitePlugin):
    """A suite that times tokenizers, alone on the machine, after everything is counted."""

    def cases(self, contest: Contest) -> Grid:
        """Return what it times, for others that time the same: a gate, or pytest-benchmark."""
        raise NotImplementedError

    def measure(self, contest: Contest) -> Timed:
        """Time the tokenizers of a run against each other."""
        raise NotImplementedError


class ReportPlugin(Plugin):
    """Options of one kind of report."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError


class AnchorPlugin(Plugin):
    """A published figure and how to derive it again; its options are the protocol."""

    citation: ClassVar[str] = ""
    protocol: ClassVar[str] = ""
    divergences: ClassVar[str] = ""
    """Known ways in which the figure differs from what others would measure."""

    def check(self, data: Path) -> Iterable[Check]:
        """Yield every figure with what is measured from the user's data folder.

        Raises `InputError` where the folder lacks what the anchor needs.
        """
        raise NotImplementedError


class ComparisonPlugin(Plugin):
    """Options of one kind of report on a comparison."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return the text of each file to write, by file name."""
        raise NotImplementedError


class HistoryPlugin(Plugin):
    """Options of one kind of report on several runs."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return the text of each file to write; no metrics means those it finds best."""
        raise NotImplementedError


P = TypeVar("P", bound=Plugin)

GROUPS: Mapping[type[Plugin], str] = {
    TokenizerPlugin: "tokbench.tokenizers",
    TrainerPlugin: "tokbench.trainers",
    SuitePlugin: "tokbench.suites",
    ReportPlugin: "tokbench.reports",
    AnchorPlugin: "tokbench.anchors",
    ComparisonPlugin: "tokbench.comparisons",
    HistoryPlugin: "tokbench.histories",
}


def names(kind: type[Plugin]) -> list[str]:
    """Return the names of all plug-ins of a kind, without importing any of them."""
    return sorted({entry.name for entry in _entries(kind)})


def _entries(kind: type[Plugin]) -> EntryPoints:
    return _scan(GROUPS[kind], tuple(sys.path))


@cache
def _scan(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Read the metadata of every package on the path once: a config asks many times."""
    return entry_points(group=group)


def sound(kind: type[P], told: Callable[[str], None]) -> dict[str, type[P]]:
    """Import all plug-ins of a kind; those that cannot be are told and left out."""
    found = {}
    for name in names(kind):
        try:
            found[name] = find(kind, name)
        except PluginError as exc:
            told(f"warning: {exc}")
    return found


def find(kind: type[P], name: str) -> type[P]:
    """Import the plug-in of that kind and name.

    Raises `PluginError` when there is none, when two distributions offer the same name, or when
    its module cannot be imported.
    """
    entry = _only_entry(kind, name)
    try:
        plugin = entry.load()
    except (Exception, SystemExit) as exc:
        raise PluginError(
            f"plug-in {name!r} ({entry.value}, {GROUPS[kind]}) cannot be imported: "
            f"{type(exc).__name__}: {exc}; fix or uninstall the package that provides it"
        ) from exc
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise PluginError(
            f"plug-in {name!r} ({entry.value}) is not a {kind.__name__}; "
            f"its entry point must name a subclass of tokbench.bench.plugins.{kind.__name__}"
        )
    return plugin


def _only_entry(kind: type[Plugin], name: str) -> EntryPoint:
    found = {entry.value: entry for entry in _entries(kind).select(name=name)}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise PluginError(
            f"two plug-ins of {GROUPS[kind]} are called {name!r}: {', '.join(sorted(found))}; "
            "uninstall one of the packages that provide them"
        )
    known = ", ".join(names(kind)) or "none: is tokbench installed (pip install -e .)?"
    raise PluginError(f"no plug-in of {GROUPS[kind]} is called {name!r}; there are: {known}")
