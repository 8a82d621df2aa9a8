"""What `import tokbench` offers: measuring, comparing and looking at tokenizers from Python.

The names are those of `tokbench` itself, which imports this module on use. Nothing here prints:
errors are raised, and what a run survives is in `Results.problems`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.commands.inspect import Inspection, inspection_of
from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.sides import SideInput, compare_sides, gate_of, load_side, side_of
from tokbench.bench.config import schema
from tokbench.bench.config.bundled import find_config
from tokbench.bench.config.resolve import resolve
from tokbench.bench.config.schema import Config
from tokbench.bench.errors import TokbenchError, UsageError
from tokbench.bench.model import Tokenizer
from tokbench.bench.progress import SILENT, Progress
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.run import runner
from tokbench.bench.run.plan import Plan, make_plan
from tokbench.bench.workers.executors import DEFAULT, Executor
from tokbench.bench.workers.executors import executor as started
from tokbench.bench.workers.hub_access import set_up_hub
from tokbench.bench.workers.sources import TokenizerSource, library_failures

__all__ = [
    "Comparison",
    "Config",
    "Results",
    "TokbenchError",
    "compare",
    "inspect",
    "load_config",
    "load_results",
    "load_tokenizer",
    "plan",
    "run",
]

ConfigSource = str | PathLike[str] | Mapping[str, Any] | Config
"""A config file, the name of a ready config, the same as a mapping, or one that was loaded."""

Entry = Mapping[str, Any]
"""The entry of a tokenizer, as below `tokenizers:` in a config."""

AnyTokenizer = str | Entry | Tokenizer
"""A tokenizer by name, by entry, or loaded."""


def load_config(
    source: ConfigSource,
    *,
    overrides: Sequence[str] = (),
    folder: str | PathLike[str] | None = None,
) -> Config:
    """Return a validated config.

    `source` is a file, the name of a ready config, or a mapping of plain values. `overrides` are
    ``a.b=value`` settings, as `--set` takes them. Relative paths in it start from `folder`: by
    default that of the file, and the working folder for a mapping.

    Raises `TokbenchError` with every mistake found, one a line.

    >>> load_config("quick", overrides=["seed=7"]).run.seed
    7
    """
    if isinstance(source, Config):
        if overrides or folder is not None:
            raise UsageError("a config that is loaded takes no overrides and no folder")
        return source
    start = None if folder is None else Path(folder)
    if isinstance(source, Mapping):
        return schema.load_config(source, overrides=overrides, folder=start)
    path = find_config(str(source))
    return schema.load_config(path, overrides=overrides, shown=str(source), folder=start)


def plan(config: ConfigSource) -> Plan:
    """Return the cells that a config asks for, in order; nothing is read but the config.

    >>> plan("quick").name
    'quick'
    """
    return make_plan(load_config(config))


def run(
    config: ConfigSource,
    output: str | PathLike[str] = "runs",
    jobs: int | None = None,
    executor: Executor | str | None = None,
    progress: Progress | None = None,
    *,
    address: str | None = None,
    new: bool = False,
    rerun: Literal["missing", "failed", "all"] | None = None,
    keep_cells: bool = False,
) -> Results:
    """Measure what a config asks for, write a run folder below `output`, and return its results.

    `output` is a folder, or an address of an object store such as ``s3://bucket/runs``.
    `jobs` is the number of worker processes: by default one per CPU, at most four; 0 counts in
    this process, without protection from a library that crashes it. `executor` takes their place:
    the name of one, such as ``ray``, with the `address` of its cluster, or anything with the
    `submit` of `concurrent.futures`. `progress` hears what is being done; see
    `tokbench.bench.progress.Progress`. `new`, `rerun` and `keep_cells` are those of the command.

    Failures that a run survives, such as a tokenizer that cannot be loaded, is in
    `Results.problems`. Raises `TokbenchError` for a config that is wrong and for a folder that
    cannot be written.
    """
    passed = executor is not None and not isinstance(executor, str)
    if passed and (jobs is not None or address is not None):
        raise UsageError("give either jobs or executor; an address goes with an executor's name")
    set_up_hub()
    loaded = load_config(config)
    heard = SILENT if progress is None else progress
    here = (
        started(jobs, heard, executor or DEFAULT, address)
        if executor is None or isinstance(executor, str)
        else nullcontext(executor)
    )
    with here as workers:
        outcome = runner.run(
            loaded,
            output=output,
            progress=heard,
            new=new,
            rerun=rerun,
            executor=workers,
            keep_cells=keep_cells,
        )
    return outcome.results


def compare(
    base: str | PathLike[str] | Results,
    candidate: str | PathLike[str] | Results,
    *,
    config: ConfigSource | None = None,
    rules: Literal["base", "candidate"] = "base",
) -> Comparison:
    """Return the verdict on every value that either side has.

    A side is a run folder, a baseline file, a baseline at a git revision (``REVISION:FILE``), or
    results. What may move is decided by the `gate:` rules of the base where it has any; else, or
    with ``rules="candidate"``, by those of the candidate, which `config` replaces. Raises
    `TokbenchError` where a side cannot be read, or is compared with itself.
    """
    first, second = _side(base), _side(candidate)
    gate = gate_of(second) if config is None else load_config(config).run.gate
    return compare_sides(first, second, gate, rules=rules)


def _side(side: str | PathLike[str] | Results) -> SideInput:
    if isinstance(side, Results):
        return side_of(side, side.name)
    return load_side(str(side))


def load_tokenizer(
    name_or_entry: str | Entry, *, folder: str | PathLike[str] | None = None
) -> Tokenizer:
    """Return a tokenizer: by name, or by an entry as a config has it.

    A name is what a config takes in place of an entry: an encoding of tiktoken, a sample, a
    baseline, a file or folder, a repository of the Hub. Relative paths start from `folder`, by
    default the working folder. Raises `TokbenchError` where it is unknown or cannot be loaded.

    >>> tokenizer = load_tokenizer({"type": "utf8_bytes"})
    >>> [int(id) for id in tokenizer.encode_batch(["né"])[0]]
    [110, 195, 169]
    """
    start = Path(folder or ".").resolve()
    set_up_hub()
    if isinstance(name_or_entry, str):
        found = resolve(name_or_entry, start)
        key, entry = found.key, found.entry
    else:
        key, entry = str(name_or_entry.get("type")), name_or_entry
    return TokenizerSource(key=key, plugin=schema.load_entry(entry), folder=start).load()


def inspect(
    text: str, tokenizers: Sequence[AnyTokenizer] | Mapping[str, AnyTokenizer]
) -> list[Inspection]:
    """Return how each tokenizer cuts a text: pieces, ids, bytes and whether the text comes back.

    A tokenizer is what `load_tokenizer` takes, or one that is loaded; a mapping names them.
    Raises `TokbenchError` where one cannot be loaded or fails on the text.

    >>> [view] = inspect("né", ["characters"])
    >>> [piece.shown for piece in view.pieces], view.n_bytes, view.round_trip
    (['n', 'é'], 3, 'exact')
    """
    named = tokenizers.items() if isinstance(tokenizers, Mapping) else _named(tokenizers)
    views = []
    for name, one in named:
        tokenizer = load_tokenizer(one) if isinstance(one, str | Mapping) else one
        with library_failures(name, "encode or decode this text"):
            views.append(inspection_of(text, name, tokenizer))
    return views


def _named(tokenizers: Sequence[AnyTokenizer]) -> Iterator[tuple[str, AnyTokenizer]]:
    """Yield each tokenizer with a name: what was typed, its type, or its class."""
    for one in tokenizers:
        if isinstance(one, str):
            yield one, one
        elif isinstance(one, Mapping):
            yield str(one.get("type")), one
        else:
            yield type(one).__name__, one
