"""Commands of the regression gate: sides, baselines, speed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from tokbench.bench.cli.shared import AS_JSON, OFFLINE, SET, load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.bench.compare.comparison import Comparison


@click.command()
@click.argument("sides", nargs=-1, required=True, metavar="[BASE] CANDIDATE")
@click.option(
    "--config",
    help="Config with the candidate's rules, and with the baseline if BASE is not given.",
)
@click.option(
    "--rules",
    type=click.Choice(["base", "candidate"]),
    default="base",
    show_default=True,
    help="Side whose rules decide if the base has rules.",
)
@click.option(
    "--base-python", type=click.Path(path_type=Path), help="Python interpreter for the base."
)
@click.option(
    "--candidate-python",
    type=click.Path(path_type=Path),
    help="Python interpreter for the candidate.",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    help="Folder for the two runs of --base-python and --candidate-python.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Folder to write all reports to.")
@SET
@AS_JSON
def compare(
    sides: tuple[str, ...],
    config: str | None,
    rules: Literal["base", "candidate"],
    base_python: Path | None,
    candidate_python: Path | None,
    runs: Path,
    output: Path | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare two runs or baselines: what moved, and why.

    A side is a run folder, a baseline file, or a baseline at a git revision (REVISION:FILE). With
    --base-python and --candidate-python the only argument is a config, which runs in both
    environments. Exit codes: 0 the same or better; 1 worse or changed; 3 not comparable, or a side
    is missing or damaged, or both sides are the same file.
    """
    from tokbench.bench.compare import sides as side
    from tokbench.bench.compare import two_environments
    from tokbench.bench.console import message

    loaded = load(config, ()) if config else None
    if base_python or candidate_python:
        if not (base_python and candidate_python and len(sides) == 1):
            raise click.UsageError(
                "comparing two environments requires CONFIG, --base-python and --candidate-python"
            )
        load(sides[0], overrides)
        pair = two_environments.run_both(
            sides[0], base_python, candidate_python, runs, overrides, say=message
        )
    else:
        if overrides:
            raise click.UsageError(
                "--set requires --base-python and --candidate-python; finished "
                "runs cannot be changed"
            )
        pair = side.load_pair(sides, loaded)
    gate = loaded.run.gate if loaded else side.gate_of(pair[1])
    comparison = side.compare_sides(*pair, gate, rules=rules)
    _show(comparison, output, as_json=as_json)
    sys.exit(comparison.exit_code)


def _show(comparison: Comparison, output: Path | None, *, as_json: bool) -> None:
    """Print a comparison, and write its reports to a folder if there is one."""
    from tokbench.bench import plugins
    from tokbench.bench.compare.report import ComparisonPlugin
    from tokbench.bench.console import result
    from tokbench.bench.files import write_whole

    def rendered(name: str) -> Mapping[str, str]:
        return plugins.find(ComparisonPlugin, name)().render(comparison)

    if output is not None:
        for name in plugins.names(ComparisonPlugin):
            for file, text in rendered(name).items():
                write_whole(output / file, text)
    for text in rendered("json" if as_json else "text").values():
        result(text)


@click.command()
@click.argument("base")
@click.argument("candidate", required=False)
@click.option(
    "--base-python", type=click.Path(path_type=Path), help="Python interpreter for the base."
)
@click.option(
    "--candidate-python",
    type=click.Path(path_type=Path),
    help="Python interpreter for the candidate.",
)
@click.option(
    "--inconclusive",
    type=click.IntRange(0, 255),
    metavar="CODE",
    help="Exit code when the result is inconclusive.  [default: as in the config, 0]",
)
@click.option("--seed", default=0, help="Order of turns.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="Folder to write the report and the laps to."
)
@OFFLINE
@SET
@AS_JSON
def speed(
    base: str,
    candidate: str | None,
    base_python: Path | None,
    candidate_python: Path | None,
    inconclusive: int | None,
    seed: int,
    output: Path | None,
    offline: bool,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Time two sides in the same job and compare their speed.

    BASE and CANDIDATE are configs: tokenizers with the same key are timed in one process. With
    --base-python and --candidate-python one config is timed in two environments, which need the
    tokenizers' libraries but not tokbench. Exit codes: 0 not slower; 1 slower, confirmed in fresh
    processes; 3 not comparable; inconclusive: see --inconclusive.
    """
    from tokbench.bench.console import ConsoleProgress, result, result_json
    from tokbench.bench.speed import comparison as timing
    from tokbench.bench.speed import text
    from tokbench.bench.workers.executors import executor, interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    pythons = base_python is not None and candidate_python is not None
    if pythons == (candidate is not None) or (base_python is None) != (candidate_python is None):
        raise click.UsageError("give two configs, or one with --base-python and --candidate-python")
    set_up_hub(offline=offline)
    if inconclusive is not None:
        overrides = (*overrides, f"gate.speed.inconclusive={inconclusive}")
    loaded = load(base, overrides)
    with interruptible(), ConsoleProgress() as progress, executor(1, progress) as workers:
        if candidate is not None:
            found = timing.compare_configs(
                loaded, load(candidate, ()), progress=progress, executor=workers, seed=seed
            )
        else:
            assert base_python is not None
            assert candidate_python is not None
            sides = timing.Pythons(base=base_python, candidate=candidate_python)
            found = timing.compare_pythons(
                loaded, sides, progress=progress, executor=workers, seed=seed
            )
    if output is not None:
        text.write(found, output)
    if as_json:
        result_json(text.to_json(found))
    else:
        result(text.render(found))
    sys.exit(found.exit_code)


@click.command(name="import-benchmark")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def import_benchmark(run: Path, file: Path) -> None:
    """Import timings of pytest-benchmark into a run.

    FILE is the JSON that `pytest suites/perf --tokbench-config ... --benchmark-json FILE` writes.
    """
    from tokbench.bench.console import message, result
    from tokbench.bench.markup import plural
    from tokbench.bench.speed.benchmark_json import import_json

    n = import_json(run, file)
    message(f"imported {plural(n, 'test')}")
    result(str(run / "throughput.parquet"))


@click.group()
def baseline() -> None:
    """Save a run as a small file that can be committed."""


@baseline.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def save(run: Path, file: Path) -> None:
    """Write the baseline of the run folder RUN to FILE (name it *.baseline.json)."""
    from tokbench.bench.compare.baseline import describe, save
    from tokbench.bench.console import message, result
    from tokbench.bench.markup import one_line
    from tokbench.bench.results.run_folder import load_results

    snapshot = save(load_results(run), file)
    message(describe(snapshot))
    result(one_line(str(file)))


@baseline.command()
@click.argument("file")
def show(file: str) -> None:
    """Show what a baseline guards; FILE may be REVISION:FILE."""
    from tokbench.bench.compare.baseline import describe
    from tokbench.bench.compare.sides import load_side
    from tokbench.bench.console import result

    result(describe(load_side(file).snapshot))


@baseline.command(name="list")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
def list_baselines(folder: Path) -> None:
    """List the baseline files below FOLDER."""
    from tokbench.bench.compare.baseline import found_below
    from tokbench.bench.console import result
    from tokbench.bench.markup import one_line

    result("\n".join(one_line(str(path)) for path in found_below(folder)) or "none")
