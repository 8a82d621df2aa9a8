"""`tokbench plan --estimate`: how long a run will take, from a short run of a part of it.

The part is the first language of each corpus, at most `ROWS` rows, with the real tokenizers and the
suites that count. What it took is scaled by bytes: text of the other languages is taken to be of the
same size where its files do not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokbench.bench.config.corpora import BuiltinCorpus, CorpusEntry, FilesCorpus
from tokbench.bench.config.corpus_options import Limit
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.corpus.find_files import source_files
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.errors import InputError, UsageError
from tokbench.bench.markup import plural
from tokbench.bench.progress import clock
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run import runner
from tokbench.bench.run.plan import make_plan, seconds_by_part
from tokbench.bench.workers.executors import Executor, default_jobs

ROWS = 200
"""Rows of each corpus that are measured."""
UNPACKED = {"gzip": 3.5, "bz2": 4.0, "xz": 5.0, "zstd": 4.0, "zip": 3.5}
"""How much larger text is than its packed file, roughly; Parquet is packed inside."""
PARQUET = 2.0
PER_DOCUMENT = 30
"""Bytes of results for each document and tokenizer, in `documents/` and `cells/`."""
HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a run will read and take."""

    bytes: int | None
    """Of text; None where only reading it would tell."""
    unknown: tuple[str, ...]
    """Corpora whose size is not known without reading them."""
    cpu_seconds: float
    """For the counting of what is known, the timing and the reports."""
    seconds: float
    """On the clock of this machine, with so many jobs."""
    jobs: int
    memory: int
    """Highest resident bytes of a worker."""
    disk: int
    """Bytes of slices and results."""
    machines: int
    """Of this kind, that would make it an hour."""
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def forecast(config: Config, executor: Executor, jobs: int | None = None) -> Forecast:
    """Measure a part of a run and say what the whole will take."""
    part = _part_of(config)
    with TemporaryDirectory(prefix="tokbench-estimate-") as folder:
        outcome = runner.run(part, output=Path(folder), executor=executor, new=True)
        sample = outcome.results
        taken = sample.environment
        sizes = {name: _sample_of(sample, name) for name in config.run.corpora}
    known = {name: _bytes_of(config, name, sizes[name]) for name in config.run.corpora}
    total = sum(size for size in known.values() if size is not None)
    measured = sum(size for size, _ in sizes.values()) or 1
    once, growing = _seconds(taken["cpu_seconds"])
    whole = seconds_by_part(config, make_plan(config))
    counting = growing * max(1.0, total / measured)
    cpu = once + counting + whole["suites"] + whole["timing"] + whole["reports"]
    seats = jobs or default_jobs()
    reading = _reading(taken["cpu_seconds"]) * max(1.0, total / measured)
    at_once = _one_after_the_other(config, reading, counting - reading, seats)
    clock_seconds = once + at_once + whole["timing"] + whole["reports"]
    documents = sum(rows for _, rows in sizes.values()) * total / measured
    return Forecast(
        bytes=total if None not in known.values() else None,
        unknown=tuple(name for name, size in known.items() if size is None),
        cpu_seconds=round(cpu, 1),
        seconds=round(clock_seconds + whole["suites"] / seats, 1),
        jobs=seats,
        memory=max(taken.get("peak_bytes", {}).values(), default=0),
        disk=int(2.2 * total + documents * PER_DOCUMENT * len(config.tokenizers)),
        machines=max(1, round(counting / seats / HOUR + 0.5)),
        problems=(*outcome.problems, *_not_measured(config)),
    )


def _part_of(config: Config) -> Config:
    """Return the config with a little of each corpus, and what counts alone."""
    tokenizers = {k: e for k, e in config.tokenizers.items() if not isinstance(e, TrainEntry)}
    if not tokenizers:
        raise UsageError("--estimate needs a tokenizer that is not trained by the run")
    run = config.run.model_copy(
        update={
            "corpora": {name: _little(entry) for name, entry in config.run.corpora.items()},
            "tokenizers": {key: config.run.tokenizers[key] for key in tokenizers},
            "reports": {},
            "suites": {name: config.run.suites.get(name, {}) for name in _counting(config)},
            "resamples": 200,
        }
    )
    suites = {name: config.suites[name] for name in _counting(config)}
    return replace(config, run=run, tokenizers=tokenizers, suites=suites)


def _counting(config: Config) -> list[str]:
    return [name for name, suite in config.suites.items() if isinstance(suite, CountsSuite)]


def _little(entry: CorpusEntry) -> CorpusEntry:
    key = entry.pivot or next(iter(entry.options()))
    return entry.model_copy(
        update={
            "languages": {key: entry.options()[key]},
            "language": None,
            "parallel": False,
            "pivot": None,
            "sample": None,
            "limit": Limit(rows=ROWS),
        }
    )


def _not_measured(config: Config) -> list[str]:
    trained = [key for key, entry in config.tokenizers.items() if isinstance(entry, TrainEntry)]
    return [f"the training of {', '.join(trained)} is not in it"] if trained else []


def _sample_of(results: Results, corpus: str) -> tuple[int, int]:
    """Return the bytes and documents of a corpus that were measured."""
    metas = results.run["corpora"].get(corpus, {}).values()
    return sum(m["bytes"] for m in metas), sum(m["documents"] for m in metas)


def _bytes_of(config: Config, name: str, sample: tuple[int, int]) -> int | None:
    """Return the bytes of text of a corpus, None where only the Hub could tell."""
    entry, (size, rows) = config.run.corpora[name], sample
    limit = entry.limit
    most = None
    if limit is not None and limit.rows is not None and rows:
        most = int(limit.rows * size / rows) * len(entry.options())
    if limit is not None and limit.bytes is not None:
        capped = int(limit.bytes) * len(entry.options())
        most = capped if most is None else min(most, capped)
    if not isinstance(entry, FilesCorpus | BuiltinCorpus):
        return most
    on_disk = 0
    for key in entry.options():
        try:
            files = source_files(entry, key, config.folder)
        except InputError:
            continue
        on_disk += sum(_unpacked(f.path, f.packing) for f in files)
    return on_disk if most is None else min(on_disk, most)


def _unpacked(path: Path, packing: str | None) -> int:
    factor = UNPACKED.get(packing or "", PARQUET if path.suffix == ".parquet" else 1.0)
    return int(path.stat().st_size * factor)


def _seconds(taken: Mapping[str, float]) -> tuple[float, float]:
    """Return the CPU seconds of starting and loading, and those that grow with the text."""
    growing = ("encode", "decode", "words", "tally", "corpus")
    grows = sum(seconds for name, seconds in taken.items() if name in growing)
    return sum(taken.values()) - grows, grows


def _reading(taken: Mapping[str, float]) -> float:
    """Return the CPU seconds of making slices, which one worker does for each language."""
    return sum(taken.get(name, 0.0) for name in ("corpus", "words"))


def _one_after_the_other(config: Config, reading: float, rest: float, seats: int) -> float:
    """Return the clock seconds of reading and then counting with so many workers."""
    languages = sum(len(entry.options()) for entry in config.run.corpora.values())
    return reading / min(seats, languages) + rest / seats


def render(found: Forecast) -> str:
    """Return the forecast in a few lines."""
    size = "unknown" if found.bytes is None else f"about {found.bytes / 1e6:,.1f} MB"
    lines = [
        f"reads {size} of text" + (f" (not known: {', '.join(found.unknown)})" if found.unknown else ""),
        f"takes about {clock(found.seconds)} with {plural(found.jobs, 'job')} "
        f"({clock(found.cpu_seconds)} of CPU)",
        f"memory: up to {found.memory / 1e6:,.0f} MB in one process; disk: about "
        f"{found.disk / 1e6:,.1f} MB",
    ]  # fmt: skip
    if found.machines > 1:
        lines.append(f"{found.machines} machines like this one would make it an hour")
    lines += [f"note: {problem}" for problem in found.problems]
    return "\n".join(lines)
