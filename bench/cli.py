"""The command line: parse, call, render. What happens is elsewhere.

Only click is imported at the top, so that `tokbench --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.compare import Comparison
    from bench.config import Config

CONFIG = click.argument("config")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY.KEY=VALUE",
    help="Change one value of the config.",
)
OFFLINE = click.option(
    "--offline", is_flag=True, help="Never ask the Hub; use only what was downloaded before."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class _Group(click.Group):
    """Turns tokbench's errors into one message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        from bench.console import make_safe, message

        make_safe()
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except KeyboardInterrupt as exc:
            message("interrupted; run the same command again to go on from the finished cells")
            ctx.exit(getattr(exc, "exit_code", 130))
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone: nothing is left to say
            ctx.exit(0)
        except OSError as exc:
            place = f"{exc.filename}: " if exc.filename else ""
            message(f"error: {place}{exc.strerror or exc}")
            ctx.exit(3)
        except Exception as exc:
            from bench.errors import TokbenchError

            if not isinstance(exc, TokbenchError):
                raise
            message(f"error: {exc}")
            ctx.exit(exc.exit_code)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokbench", prog_name="tokbench")
def main() -> None:
    """Measure tokenizers: size, what each language pays, fidelity and speed.

    Exit codes: 0 fine; 1 a gate failed; 2 wrong usage or config; 3 some cells failed.
    """


@main.command()
@CONFIG
@SET
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder that gets the run folder.",
)
@click.option("--new", is_flag=True, help="Start a new run, even if an unfinished one is there.")
@click.option(
    "--rerun",
    type=click.Choice(["missing", "failed", "all"]),
    help="Take up the last run of the same plan again, and count this of it anew.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=0),
    help="Worker processes; 0 counts in this one, unguarded.  [default: one per CPU, at most 4]",
)
@OFFLINE
@click.option("--quiet", is_flag=True, help="Print the result only.")
def run(
    config: str,
    overrides: tuple[str, ...],
    output: Path,
    new: bool,
    rerun: Literal["missing", "failed", "all"] | None,
    jobs: int | None,
    offline: bool,
    quiet: bool,
) -> None:
    """Measure what CONFIG (a file, or the name of a ready config) asks for."""
    # Threads that wait for work burn CPU time, and no product here is large enough to need them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from bench.environment import Stopwatch
    from bench.hub import set_up_hub

    set_up_hub(offline=offline)
    watch = Stopwatch()
    watch.start_of_process()
    with watch.section("imports"):
        import pandas  # noqa: F401 - pyarrow imports it at its first array

        from bench import runner
        from bench.console import Progress, message, result
        from bench.executors import executor, interruptible

        loaded = _load(config, overrides)
    with interruptible(), Progress(quiet=quiet) as progress, executor(jobs, progress) as workers:
        outcome = runner.run(
            loaded,
            output=output,
            progress=progress,
            watch=watch,
            new=new,
            rerun=rerun,
            executor=workers,
        )
    for text in runner.render_reports(["summary"], outcome.results).values():
        result(text)
    for problem in outcome.problems:
        message(problem)
    sys.exit(outcome.exit_code)


@main.command()
@CONFIG
@SET
@click.option("--tokenizer", "wanted", multiple=True, help="Only these; may be given again.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write the files of each model to OUTPUT/KEY."
)
@click.option("--trace", is_flag=True, help="Print each merge as it happens, with count and bytes.")
@click.option(
    "--match", metavar="KEY", help="Find the smallest vocabulary that comes near this tokenizer."
)
@click.option("--within", default="10%", show_default=True, help="How near, in bytes per token.")
@click.option("--on", "corpus", help="On this corpus.  [default: what is trained on]")
@click.option("--differences", is_flag=True, help="Tell how the vocabularies of two differ.")
@click.option(
    "--segmentation",
    type=click.Path(path_type=Path),
    help="With --differences: words in parts, such as `un happi ness`, one a line.",
)
@OFFLINE
@click.option("--quiet", is_flag=True, help="Print the result only.")
@AS_JSON
def train(
    config: str,
    overrides: tuple[str, ...],
    wanted: tuple[str, ...],
    output: Path | None,
    trace: bool,
    match: str | None,
    within: str,
    corpus: str | None,
    differences: bool,
    segmentation: Path | None,
    offline: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train the tokenizers that CONFIG has a `train:` block for, and tell what came out.

    With --match, sizes up to the block's own are searched for the smallest that is near enough;
    exit code 1 where none is.
    """
    from bench import training_command as command
    from bench.console import Progress, result, result_json
    from bench.executors import interruptible
    from bench.hub import set_up_hub

    if trace + as_json > 1 or (match is not None) + differences + trace > 1:
        raise click.UsageError(
            "give one of --trace, --json; and of --match, --differences, --trace"
        )
    if segmentation is not None and not differences:
        raise click.UsageError("--segmentation is for --differences")
    set_up_hub(offline=offline)
    loaded = _load(config, overrides)
    if match is not None:
        _match(loaded, wanted, match, within, corpus, output, quiet=quiet, as_json=as_json)
        return
    if differences:
        _differences(loaded, wanted, segmentation, output, quiet=quiet, as_json=as_json)
        return
    outcomes: list[command.Outcome] = []
    say = result if trace else None  # and no bar, which would be drawn over the merges
    try:
        with interruptible(), Progress(quiet=quiet or trace) as progress:
            for outcome in command.run(loaded, wanted, progress=progress, output=output, say=say):
                outcomes.append(outcome)
    finally:
        if as_json:
            result_json([outcome.to_json() for outcome in outcomes])
        elif outcomes:
            result("\n\n".join(map(command.render, outcomes)))


def _differences(
    config: Config,
    wanted: tuple[str, ...],
    segmentation: Path | None,
    output: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train two tokenizers and print how their vocabularies differ."""
    from bench import differences as differing
    from bench import training_command as command
    from bench.console import Progress, result, result_json
    from bench.executors import interruptible

    words = None if segmentation is None else differing.read_segmentation(segmentation)
    differing.check_two(command.chosen(config, wanted))
    with interruptible(), Progress(quiet=quiet) as progress:
        outcomes = list(command.run(config, wanted, progress=progress, output=output))
    loaded = {outcome.key: outcome.trained.source.load() for outcome in outcomes}
    sides = differing.differences(loaded, words)
    if as_json:
        result_json([side.to_json() for side in sides])
    else:
        result(differing.render(sides))


def _match(
    config: Config,
    wanted: tuple[str, ...],
    reference: str,
    within: str,
    corpus: str | None,
    output: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Search for the vocabulary that comes near a reference, and train it where it is wanted."""
    from bench import matching
    from bench import training_command as command
    from bench.console import Progress, result, result_json
    from bench.executors import interruptible

    share = matching.share(within)
    with interruptible(), Progress(quiet=quiet) as progress:
        entry = matching.largest(command.chosen(config, wanted))
        doing = command.Doing()
        with command.telling(doing):
            found = matching.match(
                config,
                entry,
                reference=reference,
                within=share,
                corpus=corpus,
                progress=progress,
                doing=doing,
            )
        model = None
        if found.vocab_size is not None and output is not None:
            made = matching.entry_of(entry, found.vocab_size)
            [model] = command.run(config, [], progress=progress, output=output, entries=made)
    if as_json:
        result_json({**found.to_json(), "model": None if model is None else model.to_json()})
    else:
        result(matching.render(found))
        if model is not None:
            result(f"\n{command.render(model)}")
    sys.exit(1 if found.vocab_size is None else 0)


@main.command()
@CONFIG
@SET
@AS_JSON
def plan(config: str, overrides: tuple[str, ...], as_json: bool) -> None:
    """Show the cells that CONFIG asks for, and do nothing."""
    from bench.console import result, result_json
    from bench.plan import make_plan

    made = make_plan(_load(config, overrides))
    if as_json:
        result_json(
            {"name": made.name, "plan": made.sha256, "cells": [c._asdict() for c in made.cells]}
        )
        return
    result(made.describe())


@main.command()
@CONFIG
@SET
@OFFLINE
def validate(config: str, overrides: tuple[str, ...], offline: bool) -> None:
    """Check CONFIG without reading a corpus or loading a tokenizer.

    The Hub is asked whether it would give what CONFIG names. Exit codes: 2 for a data set that no
    run can load; 3 for one that the Hub refuses now.
    """
    from bench.console import message, result
    from bench.hub import set_up_hub
    from bench.pinning import unpinned
    from bench.validating import problems

    set_up_hub(offline=offline)
    loaded = _load(config, overrides)
    for one in unpinned(loaded):
        message(f"warning: {one}")
    found = list(problems(loaded))
    for problem in found:
        message(f"{'warning' if problem.kind == 'unknown' else 'error'}: {problem.text}")
    kinds = {problem.kind for problem in found}
    if kinds <= {"unknown"}:
        result(f"{loaded.path}: fine")
    sys.exit(2 if "script" in kinds else 3 if "refused" in kinds else 0)


@main.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def pin(config: Path) -> None:
    """Write the commits that Hub revisions are today into CONFIG, keeping its comments."""
    from bench.console import message, result
    from bench.hub import set_up_hub
    from bench.pinning import pin as pin_config

    set_up_hub()
    pinned = pin_config(_load(str(config), ()), config)
    for place, commit in pinned.commits.items():
        result(f"{place}: {commit}")
    for problem in pinned.problems:
        message(problem)
    if not pinned.commits and not pinned.problems:
        message("nothing to pin: every revision is a commit")
    sys.exit(3 if pinned.problems else 0)


@main.command()
@OFFLINE
@AS_JSON
def doctor(offline: bool, as_json: bool) -> None:
    """Look at versions, extras, plug-ins, caches, the Hub and shadowed packages."""
    from dataclasses import asdict

    from bench.console import result, result_json, table
    from bench.doctor import examine

    found = examine(offline=offline)
    if as_json:
        result_json([asdict(one) for one in found])
    else:
        rows = [[one.verdict, one.topic, one.text] for one in found]
        result(table(["verdict", "topic", "what was found"], rows))
    sys.exit(3 if any(one.verdict == "problem" for one in found) else 0)


@main.command(name="list")
@click.argument(
    "what",
    type=click.Choice(
        ["tokenizers", "trainers", "corpora", "suites", "metrics", "reports", "configs"]
    ),
)
@AS_JSON
def list_(what: str, as_json: bool) -> None:
    """List what a config can name, and the ready configs."""
    from bench.console import result, result_json
    from bench.listing import entries, render

    found = entries(what)
    if as_json:
        result_json(found)
    else:
        result(render(found))


@main.command()
def schema() -> None:
    """Print the JSON schema of configs, for editors."""
    from bench.console import result_json
    from bench.listing import config_schema

    result_json(config_schema())


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "name", default="markdown", show_default=True, help="Kind of report.")
@click.option("--metric", "metrics", multiple=True, help="For several runs: only these metrics.")
@click.option("--output", type=click.Path(path_type=Path), help="For several runs: write there.")
@click.option(
    "--options",
    type=click.Path(path_type=Path),
    help="YAML file with the report's options, such as the prices of a cost report.",
)
def report(
    runs: tuple[Path, ...],
    name: str,
    metrics: tuple[str, ...],
    output: Path | None,
    options: Path | None,
) -> None:
    """Write the report of a run again, from its Parquet alone; of several, print their history."""
    from bench import plugins
    from bench.config import load_options
    from bench.console import result
    from bench.results import load_results, write_whole

    if len(runs) > 1:
        history = plugins.find(plugins.HistoryPlugin, name)()
        _deliver(history.render([load_results(folder) for folder in runs], metrics), output)
        return
    kind = plugins.find(plugins.ReportPlugin, name)
    plugin = kind() if options is None else load_options(options, kind)
    for file, text in plugin.render(load_results(runs[0])).items():
        write_whole(runs[0] / file, text)
        result(str(runs[0] / file))


@main.command()
@click.argument("sides", nargs=-1, required=True, metavar="[BASE] CANDIDATE")
@click.option("--config", help="Take the gate from this config, and BASE where it is not given.")
@click.option("--base-python", type=click.Path(path_type=Path), help="Interpreter of the base.")
@click.option("--candidate-python", type=click.Path(path_type=Path), help="And of the candidate.")
@click.option(
    "--runs", type=click.Path(path_type=Path), default=Path("runs"), help="Where A/B runs go."
)
@click.option("--output", type=click.Path(path_type=Path), help="Write all reports there.")
@SET
@AS_JSON
def compare(
    sides: tuple[str, ...],
    config: str | None,
    base_python: Path | None,
    candidate_python: Path | None,
    runs: Path,
    output: Path | None,
    overrides: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare two sides exactly; say what moved and why.

    A side is a run folder, a baseline file, or a baseline at a git revision (REVISION:FILE). With
    --base-python and --candidate-python the only argument is a config, which runs in both
    environments. Exit codes: 0 the same or better; 1 worse or changed; 3 not comparable.
    """
    from bench import ab
    from bench import sides as side
    from bench.console import message

    loaded = _load(config, ()) if config else None
    if base_python or candidate_python:
        if not (base_python and candidate_python and len(sides) == 1):
            raise click.UsageError("an A/B needs CONFIG, --base-python and --candidate-python")
        _load(sides[0], overrides)
        pair = ab.run_both(sides[0], base_python, candidate_python, runs, overrides, say=message)
    else:
        if overrides:
            raise click.UsageError("--set is for an A/B; two finished sides stay as they are")
        pair = side.load_pair(sides, loaded)
    gate = loaded.run.gate if loaded else side.gate_of(pair[1])
    comparison = side.compare_sides(*pair, gate)
    _show(comparison, output, as_json=as_json)
    sys.exit(comparison.exit_code)


@main.command(name="import-benchmark")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def import_benchmark(run: Path, file: Path) -> None:
    """Take FILE, a JSON of `pytest suites/perf --tokbench-config`, into the run folder RUN."""
    from bench.benchmark_json import import_json
    from bench.console import message, result

    n = import_json(run, file)
    message(f"{n} tests taken in")
    result(str(run / "throughput.parquet"))


@main.command()
@click.argument("base")
@click.argument("candidate", required=False)
@click.option("--base-python", type=click.Path(path_type=Path), help="Interpreter of the base.")
@click.option("--candidate-python", type=click.Path(path_type=Path), help="And of the candidate.")
@click.option(
    "--inconclusive",
    type=click.IntRange(0, 255),
    metavar="CODE",
    help="Exit code where nobody can tell.  [default: as in the config, 0]",
)
@click.option("--seed", default=0, help="Order of turns.")
@click.option("--output", type=click.Path(path_type=Path), help="Write report and laps there.")
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
    """Time two sides against each other, now, and say whether the candidate is slower.

    BASE and CANDIDATE are configs: tokenizers with the same key are timed in one process. With
    --base-python and --candidate-python one config is timed in two environments, which need the
    tokenizers' libraries and no tokbench. Exit codes: 0 not slower; 1 slower, and again in fresh
    processes; 3 not comparable; nobody can tell: as you choose.
    """
    from bench import speed as timing
    from bench import speed_text
    from bench.console import Progress, result, result_json
    from bench.executors import executor, interruptible
    from bench.hub import set_up_hub

    pythons = base_python is not None and candidate_python is not None
    if pythons == (candidate is not None) or (base_python is None) != (candidate_python is None):
        raise click.UsageError("give two configs, or one with --base-python and --candidate-python")
    set_up_hub(offline=offline)
    if inconclusive is not None:
        overrides = (*overrides, f"gate.speed.inconclusive={inconclusive}")
    loaded = _load(base, overrides)
    with interruptible(), Progress() as progress, executor(1, progress) as workers:
        if candidate is not None:
            found = timing.compare_configs(
                loaded, _load(candidate, ()), progress=progress, executor=workers, seed=seed
            )
        else:
            assert base_python is not None
            assert candidate_python is not None
            sides = timing.Pythons(base=base_python, candidate=candidate_python)
            found = timing.compare_pythons(
                loaded, sides, progress=progress, executor=workers, seed=seed
            )
    if output is not None:
        timing.write(found, output)
    if as_json:
        result_json(speed_text.to_json(found))
    else:
        result(speed_text.render(found))
    sys.exit(found.exit_code)


def _show(comparison: Comparison, output: Path | None, *, as_json: bool) -> None:
    """Print a comparison, and write every report of it where asked to."""
    from bench import plugins
    from bench.console import result
    from bench.results import write_whole

    def rendered(name: str) -> Mapping[str, str]:
        return plugins.find(plugins.ComparisonPlugin, name)().render(comparison)

    if output is not None:
        for name in plugins.names(plugins.ComparisonPlugin):
            for file, text in rendered(name).items():
                write_whole(output / file, text)
    for text in rendered("json" if as_json else "text").values():
        result(text)


def _deliver(files: Mapping[str, str], output: Path | None) -> None:
    """Print files, or write them into a folder and print where they are."""
    from bench.console import result
    from bench.results import write_whole

    for file, text in files.items():
        if output is None:
            result(text)
        else:
            write_whole(output / file, text)
            result(str(output / file))


@main.group()
def baseline() -> None:
    """Keep a run as a small file that can be committed and compared with."""


@baseline.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def save(run: Path, file: Path) -> None:
    """Write the baseline of the run folder RUN to FILE (name it *.baseline.json)."""
    from bench.baseline import describe, save
    from bench.console import message, result
    from bench.results import load_results

    snapshot = save(load_results(run), file)
    message(describe(snapshot))
    result(str(file))


@baseline.command()
@click.argument("file")
def show(file: str) -> None:
    """Say what a baseline guards; FILE may be REVISION:FILE."""
    from bench.baseline import describe
    from bench.console import result
    from bench.sides import load_side

    result(describe(load_side(file).snapshot))


@baseline.command(name="list")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
def list_baselines(folder: Path) -> None:
    """List the baseline files below FOLDER."""
    from bench.baseline import found_below
    from bench.console import result

    result("\n".join(str(path) for path in found_below(folder)) or "none")


@main.command()
@click.argument("text", required=False)
@click.option("--config", default="quick", show_default=True, help="Where the tokenizers are from.")
@click.option("--tokenizer", "wanted", multiple=True, help="Only these; may be given again.")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Read the text from a file.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How to print it.",
)
@SET
def inspect(
    text: str | None,
    config: str,
    wanted: tuple[str, ...],
    file: Path | None,
    shape: str,
    overrides: tuple[str, ...],
) -> None:
    """Show how tokenizers cut TEXT: pieces, ids and bytes, side by side."""
    from bench import inspecting
    from bench.console import Progress, message, result, result_json
    from bench.executors import executor

    content = inspecting.read_text(text, file)
    loaded = _load(config, overrides)
    with executor(1, Progress(quiet=True)) as worker:
        views, problems = inspecting.inspect(loaded, content, wanted, executor=worker)
    if shape == "json":
        result_json([view.to_json() for view in views])
    else:
        result(inspecting.render(content, views, markdown=shape == "markdown"))
    for problem in problems:
        message(problem)
    sys.exit(3 if problems else 0)


@main.command()
@click.argument("text")
@click.option("--config", default="quick", show_default=True, help="Where the tokenizers are from.")
@click.option("--tokenizer", "wanted", multiple=True, help="Only these; may be given again.")
@click.option("--translation", help="The same text in the pivot language (a text or a file).")
@click.option("--costs", type=click.Path(path_type=Path), help="YAML file with prices, contexts.")
@click.option("--prompt", "as_prompt", is_flag=True, help="Print a prompt for a language model.")
@AS_JSON
@SET
def which(
    text: str,
    config: str,
    wanted: tuple[str, ...],
    translation: str | None,
    costs: Path | None,
    as_prompt: bool,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Tell which tokenizer handles TEXT best, and why. TEXT may name a file; - is stdin."""
    from bench import which as finding
    from bench.config import load_options
    from bench.console import Progress, message, result, result_json
    from bench.costing import CostModel
    from bench.executors import executor

    if as_json and as_prompt:
        raise click.UsageError("give either --json or --prompt")
    content, file = finding.text_or_file(text)
    if file is not None:
        message(f"reading the file {file}")
    with executor(1, Progress(quiet=True)) as worker:
        analysis = finding.analyse(
            _load(config, overrides),
            content,
            translation=None if translation is None else finding.text_or_file(translation)[0],
            costs=None if costs is None else load_options(costs, CostModel),
            wanted=wanted,
            executor=worker,
        )
    if as_json:
        result_json(analysis.to_json())
    elif as_prompt:
        result(finding.prompt(analysis, content))
    else:
        result(finding.render(analysis))
    for problem in analysis.problems:
        message(problem)
    sys.exit(3 if analysis.problems else 0)


@main.command()
@CONFIG
@SET
@click.option(
    "--engine", "engines", multiple=True, help="A tokenizer to check; may be given again."
)
@click.option("--reference", help="The tokenizer whose ids are right.  [default: the config's]")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Keep the run folder, with all witnesses, there.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.")
@OFFLINE
@click.option("--quiet", is_flag=True, help="Print the result only.")
@AS_JSON
def conform(
    config: str,
    overrides: tuple[str, ...],
    engines: tuple[str, ...],
    reference: str | None,
    output: Path | None,
    jobs: int | None,
    offline: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare engines of CONFIG with a reference, id by id, before their speed is believed.

    On the config's corpora and on adversarial strings. Exit codes: 0 exact, or exact except where
    the config allows it; 1 wrong; 3 not compared, such as a vocabulary of another size.
    """
    from tempfile import TemporaryDirectory

    from bench import conforming, runner
    from bench.console import Progress, message, result, result_json
    from bench.environment import Stopwatch
    from bench.executors import executor, interruptible
    from bench.hub import set_up_hub

    set_up_hub(offline=offline)
    asked = conforming.narrowed(_load(config, overrides), engines, reference)
    with (
        TemporaryDirectory(prefix="tokbench-conform-") as folder,
        interruptible(),
        Progress(quiet=quiet) as progress,
        executor(jobs, progress) as workers,
    ):
        outcome = runner.run(
            asked,
            output=output or Path(folder),
            progress=progress,
            watch=Stopwatch(),
            executor=workers,
        )
        found = conforming.verdicts(outcome.results)
    if as_json:
        result_json(conforming.to_json(found))
    else:
        result(conforming.render(found))
    for problem in outcome.problems:
        message(problem)
    sys.exit(conforming.exit_code(found))


@main.command()
@click.argument("names", nargs=-1)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Folder with the corpora, tokenizers and tables that the figures come from.",
)
@AS_JSON
def anchors(names: tuple[str, ...], data: Path, as_json: bool) -> None:
    """Derive published figures (all, or NAMES) from a data folder; exit code 1 if one moved."""
    from bench import anchoring
    from bench.console import message, result, result_json

    outcomes = anchoring.run(names, data, progress=message)
    if as_json:
        result_json([outcome.to_json() for outcome in outcomes])
    else:
        result(anchoring.render(outcomes))
    sys.exit(anchoring.exit_code(outcomes))


def _load(config: str, overrides: tuple[str, ...]) -> Config:
    """Read a config file, or a ready config by its name."""
    from bench.bundled import config_path
    from bench.config import load_config

    path = Path(config)
    if not path.exists() and not path.suffix and path.name == config:
        path = config_path(config)
    return load_config(path, overrides=overrides, shown=config)


if __name__ == "__main__":
    main()
