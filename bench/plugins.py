"""Plug-ins: found by entry points, described by their options, imported on use.

A plug-in is one pydantic model. Its fields are its options (they appear in the schema, in
`list` and in error messages); its one method does the work and imports what is heavy. Built-in
plug-ins and those of other packages are found in the same way:

    [project.entry-points."tokbench.tokenizers"]
    my_tokenizer = "my_package.tokbench:MyTokenizer"
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from tokbench.bench.errors import PluginError, UsageError
from tokbench.bench.guard import contained
from tokbench.bench.model import MetricSpec, Tokenizer
from tokbench.bench.paths import looking_at, user_path


class Plugin(BaseModel):
    """Base of all plug-ins: options are fields, unknown ones are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    group: ClassVar[str]
    """Entry point group of the plug-ins."""


@dataclass(frozen=True, kw_only=True)
class LoadContext:
    """What loading a tokenizer may require beside its own options."""

    folder: Path
    """Folder that relative paths in the config start from."""

    def resolve(self, path: str) -> Path:
        """Return a path of the config that can be opened; raise `InputError` for an invalid one."""
        with looking_at(path):
            return user_path(self.folder, path).resolve()


class TokenizerPlugin(Plugin):
    """Options of one kind of tokenizer."""

    group = "tokbench.tokenizers"

    def repository(self, context: LoadContext) -> str | None:
        """Return the Hub repository that the option `revision` pins; None if there is none."""
        return None

    def bare(self, context: LoadContext, folder: Path) -> Mapping[str, Any] | None:
        """Return what `timing.standalone_worker` needs to load it without tokbench.

        Files that it reads may be written into `folder`. None where tokbench itself is needed,
        as for tokenizers that are part of it.
        """
        return None

    def misfit(self, option: str, head: bytes) -> str | None:
        """Return why the file of an option cannot be loaded, judging by its first unpacked bytes.

        The text follows the file's name; None if the first bytes are not conclusive.
        """
        return None

    def load(self, context: LoadContext) -> Tokenizer:
        """Build the tokenizer; raise `TokenizerError` with a remedy if it cannot be built."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """The model that a trainer wrote into its folder."""

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


@dataclass(frozen=True, kw_only=True)
class TextSizes:
    """How much text a trainer is about to read, in UTF-8 bytes."""

    documents: int
    bytes: int
    longest: int
    """The longest document."""
    squares: int
    """Sum of the squares of the documents' sizes."""

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Self:
        """Return the sizes of documents, each in bytes.

        >>> TextSizes.of([3, 4])
        TextSizes(documents=2, bytes=7, longest=4, squares=25)
        """
        squares = sum(n * n for n in sizes)
        return cls(
            documents=len(sizes), bytes=sum(sizes), longest=max(sizes, default=0), squares=squares
        )


@runtime_checkable
class WeightedTexts(Protocol):
    """Texts that say how often each is to be seen; iterated, they come that often."""

    def __iter__(self) -> Iterator[str]:
        """Yield each text as often as its weight says."""

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each text once, with its weight."""


def weighted(texts: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield texts with their weights, 1 where they have none.

    >>> list(weighted(["a", "b"]))
    [('a', 1), ('b', 1)]
    """
    if isinstance(texts, WeightedTexts):
        return texts.weighted()
    return ((text, 1) for text in texts)


@runtime_checkable
class LabelledTexts(WeightedTexts, Protocol):
    """Texts that know their language too."""

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each text once, with its weight and its language, language by language."""


class TrainerPlugin(Plugin):
    """Options of one training algorithm."""

    group = "tokbench.trainers"

    def warning(self, sizes: TextSizes) -> str | None:
        """Say before training what time and memory this text will take, where that is much."""
        return None

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Train on texts (they may be iterated more than once) and write into folder."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A pair that could be joined next."""

    left: bytes
    right: bytes
    count: int
    score: float | None = None
    """What decides, where that is not the count."""


def _no_rivals(n: int) -> Sequence[Rival]:
    return ()


@dataclass(frozen=True, kw_only=True)
class MergeEvent:
    """One merge of a training: its rank from 0, both parts, the token, the count of the pair.

    Parts and token are bytes, in the spelling of the algorithm (``##`` or ``▁`` as UTF-8).
    """

    rank: int
    left: bytes
    right: bytes
    token: bytes
    count: int
    score: float | None = None
    """What decided, where that is not the count."""
    rivals: Callable[[int], Sequence[Rival]] = field(default=_no_rivals, compare=False)
    """Returns the n best pairs of this step, this one first; may be asked during the call only."""


Trace = Callable[[MergeEvent], None]


@dataclass(frozen=True, kw_only=True)
class PruneEvent:
    """One round of a trainer that starts with many pieces and drops some."""

    round: int
    pieces: int
    """Before any are dropped."""
    log_likelihood: float
    """Of the training text, natural logarithm, summed over all words."""
    dropped: Callable[[int], Sequence[str]]
    """Returns n of the pieces that go, least useful first; may be asked during the call only."""


AnyTrace = Callable[[MergeEvent | PruneEvent], None]


class PruningTrainer(TrainerPlugin):
    """A trainer that drops pieces round by round, and reports each round."""

    def train(
        self,
        texts: Iterable[str],
        folder: Path,
        *,
        trace: Callable[[PruneEvent], None] | None = None,
    ) -> TrainedModel:
        """Train as every trainer does, and call `trace` for each round."""
        raise NotImplementedError


class MergeTrainer(TrainerPlugin):
    """A trainer that merges pairs one after the other, and reports each merge."""

    def symbols(self, word: str) -> list[bytes]:
        """Return what training starts from in a word, spelled as in `MergeEvent`."""
        return [character.encode() for character in word]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Train as every trainer does, and call `trace` for each merge."""
        raise NotImplementedError


class NestedTrainer(MergeTrainer):
    """A trainer whose smaller vocabularies are prefixes of its larger ones.

    One training then serves a whole curve of sizes.
    """

    vocab_size: int = Field(gt=0, description="Entries to reach.")

    def train_curve(
        self, texts: Iterable[str], folders: Mapping[int, Path], *, trace: Trace | None = None
    ) -> Mapping[int, TrainedModel]:
        """Train once for the largest size and write a model of each into its folder.

        Files and facts are those that `train` would produce for that size.
        """
        raise NotImplementedError

    def least(self) -> int:
        """Return the vocabulary size without any merge."""
        raise NotImplementedError

    def beginning(self, folder: Path, vocab_size: int) -> Tokenizer:
        """Return the tokenizer of a smaller size from the folder of a trained larger one."""
        raise NotImplementedError


class FinderPlugin(Plugin):
    """Resolves what a user writes in place of a config entry: a name, a path, an id."""

    group = "tokbench.finders"

    order: ClassVar[int] = 100
    """Of two finders that both know a name, the one with the lower number wins."""

    def names(self) -> tuple[str, ...]:
        """Return all known names; empty if they cannot be listed, as for files."""
        return ()

    def hints(self, name: str) -> str | None:
        """Return suggestions for an unknown name, in words."""
        return None

    def has(self, name: str, folder: Path) -> str | None:
        """Return a description of the name; None if this finder does not know it.

        Relative paths start from `folder`. The network is not used.
        """
        raise NotImplementedError

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry (`type` and options) of a known name.

        Raises `TokenizerError` if the name exists and is not a tokenizer.
        """
        raise NotImplementedError


class SuitePlugin(Plugin):
    """Options of one suite of metrics: a `CountsSuite`, a `TokenizerSuite` or a `ClockSuite`.

    A suite is of exactly one kind, so its class says what it needs and what it may cost.
    """

    group = "tokbench.suites"

    metrics: ClassVar[tuple[MetricSpec, ...]] = ()


class SegmenterPlugin(Plugin):
    """Finds the words of a language that does not separate them by spaces."""

    group = "tokbench.segmenters"

    def version(self) -> str:
        """Return what decides the words: library, version, dictionary or model.

        Raises `InputError` with a remedy where the library is not installed.
        """
        raise NotImplementedError

    def load(self) -> Callable[[str], Iterable[str]]:
        """Return a function that cuts a text into pieces, in order; it may leave some text out."""
        raise NotImplementedError


class ReportOptions(Plugin):
    """Options of one kind of report; what a report renders is known above the config."""

    group = "tokbench.reports"


P = TypeVar("P", bound=Plugin)


def names(kind: type[Plugin] | str) -> list[str]:
    """Return the names of all plug-ins of a kind, or entry point group, importing none of them."""
    group = kind if isinstance(kind, str) else kind.group
    return sorted({entry.name for entry in _entries(group)})


def _entries(group: str) -> EntryPoints:
    return _scan(group, tuple(sys.path))


@cache
def _scan(group: str, path: tuple[str, ...]) -> EntryPoints:
    """Read the metadata of every package on the path once: a config needs it many times."""
    return entry_points(group=group)


def sound(kind: type[P], told: Callable[[str], None]) -> dict[str, type[P]]:
    """Import all plug-ins of a kind; those that cannot be imported are reported and left out."""
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
    entry = _only_entry(kind.group, name)
    try:
        with contained():
            plugin = entry.load()
    except (Exception, SystemExit) as exc:
        raise PluginError(
            f"plug-in {name!r} ({entry.value}, {kind.group}) cannot be imported: "
            f"{type(exc).__name__}: {exc}; {_remedy(exc)}"
        ) from exc
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise PluginError(
            f"plug-in {name!r} ({entry.value}) is not a {kind.__name__}; "
            f"its entry point must name a subclass of tokbench.plugins.{kind.__name__}"
        )
    return plugin


def without_options(kind: type[P], name: str) -> P:
    """Create a plug-in with its defaults; raise `UsageError` if it requires options."""
    model = find(kind, name)
    if required := [key for key, field in model.model_fields.items() if field.is_required()]:
        raise UsageError(
            f"{name} requires options: {', '.join(required)}; write them to a YAML file and pass "
            "--options FILE, or set them in the config"
        )
    return model()


_OLD_NAMES = ("bench", "suites", "tokenizers_impl", "reports")


def _remedy(exc: BaseException) -> str:
    """Return the remedy for a plug-in that cannot be imported."""
    missing = (getattr(exc, "name", None) or "").partition(".")[0]
    if isinstance(exc, ModuleNotFoundError) and missing in _OLD_NAMES:
        return (
            f"since tokbench 0.2 the package {missing} is tokbench.{missing}: write "
            "`from tokbench.plugins import ...`, which exports everything that a plug-in needs"
        )
    return "fix or uninstall the package that provides it"


def _only_entry(group: str, name: str) -> EntryPoint:
    found = {entry.value: entry for entry in _entries(group).select(name=name)}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise PluginError(
            f"two plug-ins of {group} are called {name!r}: {', '.join(sorted(found))}; "
            "uninstall one of the packages that provide them"
        )
    known = ", ".join(names(group)) or "none; install tokbench (pip install -e .)"
    raise PluginError(f"unknown plug-in {name!r} of {group}; use one of: {known}")
