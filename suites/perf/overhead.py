"""What a run costs beside its tokenizers: CPU seconds of all else ÷ those of encode and decode.

    python -m tokbench.suites.perf.overhead CONFIG... [--beside OTHER/bin/tokbench] [--rounds 3]

Each config is run with one worker, after a first run that fills the cache. CPU seconds grow on a
machine that others use too: `--beside` runs another installed tokbench in turn with this one, round
by round, so that both meet the same load, and the ratio of the two says more than either figure.
The last line is what a worker process costs until it can take its first job.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import psutil

from tokbench.bench.console import result
from tokbench.bench.errors import UsageError
from tokbench.bench.workers.process import WorkerProcess

OWN = "this"
"""Name of the tokbench that this module is part of."""


@dataclass(frozen=True, kw_only=True)
class OverheadSample:
    """One run of a config: its share of overhead, and the load of the machine after it."""

    config: str
    version: str
    overhead: float
    load: float


def overhead(cpu_seconds: Mapping[str, float]) -> float:
    """Return (other + reports) ÷ (encode + decode) of `cpu_seconds` in `environment.json`.

    >>> overhead({"other": 0.4, "reports": 0.1, "encode": 1.5, "decode": 0.5, "imports": 9.0})
    0.25
    """
    own = cpu_seconds["other"] + cpu_seconds.get("reports", 0.0)
    return own / (cpu_seconds["encode"] + cpu_seconds.get("decode", 0.0))


def measure(
    configs: Sequence[Path], commands: Mapping[str, Sequence[str]], rounds: int
) -> Iterator[OverheadSample]:
    """Run every config under every command, in turn; `UsageError` where a run wrote nothing."""
    with tempfile.TemporaryDirectory(prefix="tokbench-overhead-") as folder:
        for config in configs:
            for number in range(rounds + 1):
                for version, command in commands.items():
                    found = overhead(_run(command, config, Path(folder, version)))
                    if number:  # the first reads corpora and fills the cache
                        load = psutil.getloadavg()[0]
                        yield OverheadSample(
                            config=config.stem, version=version, overhead=found, load=load
                        )


def _run(command: Sequence[str], config: Path, folder: Path) -> Mapping[str, float]:
    runs = folder / "runs"
    options = ["--new", "--quiet", "--jobs", "1", "--output", str(runs)]
    environment = {**os.environ, "TOKBENCH_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [*command, "run", str(config.absolute()), *options],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    written = sorted(runs.glob("*/environment.json"), key=lambda path: path.stat().st_mtime_ns)
    if done.returncode not in (0, 3) or not written:
        raise UsageError(f"{config.name}: the run failed: {done.stderr.strip()[-300:]}")
    found: Mapping[str, float] = json.loads(written[-1].read_text("utf-8"))["cpu_seconds"]
    return found


def worker_start() -> float:
    """Return the CPU seconds of a worker process up to its first job."""
    from tokbench.bench.run.cell_task import forget_tokenizers

    worker = WorkerProcess.start()
    try:
        worker.ask(forget_tokenizers)  # it imports what counting needs
        seconds = worker.ask(time.process_time)
    finally:
        worker.stop()
    if not isinstance(seconds, float):
        raise UsageError(f"a worker was lost while starting: {seconds}")
    return seconds


def table(samples: Sequence[OverheadSample]) -> str:
    """Return a Markdown table: median and range of each config and version."""
    groups: dict[tuple[str, str], list[OverheadSample]] = {}
    for sample in samples:
        groups.setdefault((sample.config, sample.version), []).append(sample)
    lines = ["| config | tokbench | overhead | range | load |", "|---|---|---|---|---|"]
    for (config, version), found in groups.items():
        values, loads = ([getattr(s, name) for s in found] for name in ("overhead", "load"))
        ends = f"{min(values):.3f} to {max(values):.3f}"
        middle, load = statistics.median(values), statistics.median(loads)
        lines.append(f"| {config} | {version} | {middle:.3f} | {ends} | {load:.1f} |")
    return "\n".join(lines)


@click.command()
@click.argument("configs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--beside", type=click.Path(exists=True, path_type=Path), help="Another tokbench.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1))
def main(configs: tuple[Path, ...], beside: Path | None, rounds: int) -> None:
    """Measure what runs of CONFIGS cost beside their tokenizers."""
    commands: dict[str, Sequence[str]] = {"beside": [str(beside.absolute())]} if beside else {}
    own = [sys.executable, "-c", "from tokbench.bench.cli import main; main()"]
    samples = list(measure(configs, {**commands, OWN: own}, rounds))
    if samples:
        result(table(samples))
    starts = sorted(worker_start() for _ in range(9))
    middle = statistics.median(starts)
    result(f"start of a worker: {middle:.3f} CPU s ({starts[0]:.3f} to {starts[-1]:.3f}, 9 starts)")


if __name__ == "__main__":
    main()
