"""Checks of a config's inputs before a run: loading scripts, access to the Hub.

The Hub gets one request per repository and nothing is downloaded; offline it gets none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from tokbench.bench.commands.pin import Repository, ask_hub, repositories
from tokbench.bench.config.corpora import NO_SCRIPTS, HuggingFaceCorpus
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.find_files import source_files
from tokbench.bench.corpus.read_files import read
from tokbench.bench.corpus.rows import RowCounts, documents
from tokbench.bench.errors import HubUnreachable, InputError
from tokbench.bench.paths import looking_at, user_path
from tokbench.bench.plugins import TextSizes
from tokbench.bench.run.trained_models import trainer_of
from tokbench.bench.timing.ratios import LEAST_PROCESSES, LEAST_ROUNDS

MOST_TRAINING_BYTES = 64_000_000
"""Bytes of files, per language, that are read to say what a training takes."""

FEW_DOCUMENTS = 100
"""Documents below which `tokbench.bench.count.stats` corrects intervals for bias."""


_LONG = TextSizes(documents=1, bytes=10**10, longest=10**10, squares=10**20)
"""Text of which every trainer warns that ever does."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem that a run of the config would meet."""

    kind: Literal["script", "refused", "unknown"]
    """Made by a loading script; refused by the Hub; or the Hub does not answer."""
    text: str


def problems(config: Config) -> Iterator[Problem]:
    """Yield the problems of a config's inputs that can be found without reading them."""
    yield from _local_scripts(config)
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() not in ("", "0", "false", "no", "off"):
        return
    for one in repositories(config):
        try:
            found = ask_hub(one)
        except InputError as exc:
            silent = isinstance(exc, HubUnreachable)
            place = ".".join(one.place)
            yield Problem(kind="unknown" if silent else "refused", text=f"{place}: {exc}")
            if silent:
                return
            continue
        if one.kind == "dataset" and _script_of(one) in {s.rfilename for s in found.siblings or ()}:
            yield _made_by_script(".".join(one.place), one.name)


def remarks(config: Config) -> Iterator[str]:
    """Yield the values that a run of the config will compute without an interval, or not at all."""
    for name, entry in config.run.corpora.items():
        rows = entry.limit.rows if entry.limit is not None else None
        if rows is not None and rows < FEW_DOCUMENTS:
            yield (
                f"corpora.{name}.limit.rows: {rows} documents are few: below {FEW_DOCUMENTS} "
                "documents intervals are wide and corrected for bias; one document has no interval"
            )
    for name, suite in config.suites.items():
        processes, rounds = getattr(suite, "processes", None), getattr(suite, "rounds", None)
        few_processes = isinstance(processes, int) and processes < LEAST_PROCESSES
        if few_processes and isinstance(rounds, int) and rounds < LEAST_ROUNDS:
            yield (
                f"suites.{name}.rounds: {rounds} rounds in {processes} processes are too few for "
                f"an interval; set rounds to {LEAST_ROUNDS} or processes to {LEAST_PROCESSES}"
            )
    for key, tokenizer in config.tokenizers.items():
        if isinstance(tokenizer, TrainEntry) and (costs := _training_costs(config, tokenizer)):
            yield f"tokenizers.{config.origins.get(key, key)}: {costs}"


def _training_costs(config: Config, entry: TrainEntry) -> str | None:
    """Return what the trainer says of its text, where that is in local files of moderate size."""
    corpus = config.run.corpora[entry.corpus]
    if isinstance(corpus, HuggingFaceCorpus) or trainer_of(entry).warning(_LONG) is None:
        return None
    sizes: list[int] = []
    for key in entry.languages or corpus.options():
        with suppress(InputError):  # what cannot be read is told of the corpus
            files = source_files(corpus, key, config.folder)
            if sum(file.path.stat().st_size for file in files) <= MOST_TRAINING_BYTES:
                reading = read(corpus, key, config.folder, Budget(config.run.limits))
                sizes += [document.bytes for document in documents(reading, corpus, RowCounts())]
    return trainer_of(entry).warning(TextSizes.of(sizes))


def _script_of(one: Repository) -> str:
    return f"{one.name.rpartition('/')[2]}.py"


def _local_scripts(config: Config) -> Iterator[Problem]:
    for name, entry in config.run.corpora.items():
        if isinstance(entry, HuggingFaceCorpus):
            with suppress(InputError), looking_at(entry.path):
                folder = user_path(config.folder, entry.path)
                if (folder / f"{folder.name}.py").is_file():
                    yield _made_by_script(f"corpora.{name}", entry.path)


def _made_by_script(place: str, name: str) -> Problem:
    text = f"{place}: data set {name!r} requires a loading script; {NO_SCRIPTS}"
    return Problem(kind="script", text=text)
