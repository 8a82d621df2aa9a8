"""`tokbench train`: models from a config, without a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from tokbench.bench.cli.shared import AS_JSON, CONFIG, OFFLINE, SET, load

if TYPE_CHECKING:
    from tokbench.bench.config.schema import Config


@click.command()
@CONFIG
@SET
@click.option(
    "--tokenizer", "wanted", multiple=True, help="Train only this tokenizer (repeatable)."
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write the files of each model to OUTPUT/KEY."
)
@click.option(
    "--trace", is_flag=True, help="Print each merge as it is learned, with its count and bytes."
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    help="With --trace: the best pairs of each step, this many, with their counts.",
)
@click.option(
    "--show", "words", multiple=True, metavar="WORD", help="With --trace: a word after each step."
)
@click.option(
    "--match",
    metavar="KEY",
    help="Find the smallest vocabulary that compresses nearly as well as this tokenizer.",
)
@click.option(
    "--within", default="10%", show_default=True, help="Allowed shortfall in bytes per token."
)
@click.option(
    "--premium",
    "premiums",
    multiple=True,
    metavar="[LANGUAGE=]RATIO",
    help="Find the vocabulary from which on languages pay at most this premium (repeatable).",
)
@click.option("--on", "corpus", help="Corpus to evaluate on.  [default: the training corpus]")
@click.option(
    "--differences", is_flag=True, help="Compare the vocabularies of two trained tokenizers."
)
@click.option(
    "--segmentation",
    type=click.Path(path_type=Path),
    help="With --differences: file of segmented words, such as `un happi ness`, one per line.",
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
    pairs: int | None,
    words: tuple[str, ...],
    match: str | None,
    within: str,
    premiums: tuple[str, ...],
    corpus: str | None,
    differences: bool,
    segmentation: Path | None,
    offline: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train the tokenizers of CONFIG that have `train:`.

    With --match, sizes up to the block's own are searched for the smallest that is close enough;
    exit code 1 if there is none. --premium searches likewise, language by language of a parallel
    corpus.
    """
    from tokbench.bench.commands import train as command
    from tokbench.bench.console import ConsoleProgress, result, result_json
    from tokbench.bench.workers.executors import interruptible
    from tokbench.bench.workers.hub_access import set_up_hub

    if trace + as_json > 1 or (match is not None) + bool(premiums) + differences + trace > 1:
        raise click.UsageError(
            "--trace excludes --json, and only one of --match, --premium, --differences and "
            "--trace is allowed"
        )
    if (pairs or words) and not trace:
        raise click.UsageError("--pairs and --show are for --trace")
    if segmentation is not None and not differences:
        raise click.UsageError("--segmentation requires --differences")
    set_up_hub(offline=offline)
    loaded = load(config, overrides)
    if match is not None:
        _match(loaded, wanted, match, within, corpus, output, quiet=quiet, as_json=as_json)
        return
    if premiums:
        _premium(loaded, wanted, premiums, corpus, output, quiet=quiet, as_json=as_json)
        return
    if differences:
        _differences(loaded, wanted, segmentation, output, quiet=quiet, as_json=as_json)
        return
    outcomes: list[command.TrainingOutcome] = []
    # no bar, which would be drawn over the merges
    telling = command.Telling(say=result, pairs=pairs or 0, words=words) if trace else None
    try:
        with interruptible(), ConsoleProgress(quiet=quiet or trace) as progress:
            for outcome in command.run(
                loaded, wanted, progress=progress, output=output, telling=telling
            ):
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
    from tokbench.bench.commands import differences as differing
    from tokbench.bench.commands import train as command
    from tokbench.bench.console import ConsoleProgress, result, result_json
    from tokbench.bench.workers.executors import interruptible

    words = None if segmentation is None else differing.read_segmentation(segmentation)
    differing.check_two(command.chosen(config, wanted))
    with interruptible(), ConsoleProgress(quiet=quiet) as progress:
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
    """Search for the smallest vocabulary close to a reference; train it if wanted."""
    from tokbench.bench.commands import match

    share = match.share(within)
    search = partial(match.match, config, reference=reference, within=share, corpus=corpus)
    _search(config, wanted, search, match.render, output, quiet=quiet, as_json=as_json)


def _premium(
    config: Config,
    wanted: tuple[str, ...],
    premiums: tuple[str, ...],
    corpus: str | None,
    output: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Search for the vocabulary from which on all languages meet their targets; train it if wanted."""
    from tokbench.bench.commands import targets

    targets.targets(premiums)
    search = partial(targets.search, config, wanted=premiums, corpus=corpus)
    _search(config, wanted, search, targets.render, output, quiet=quiet, as_json=as_json)


class SizeFound(Protocol):
    """What a search for a vocabulary found."""

    @property
    def vocab_size(self) -> int | None:
        """Entries; None where no size will do."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""


S = TypeVar("S", bound=SizeFound)


def _search(
    config: Config,
    wanted: tuple[str, ...],
    search: Callable[..., S],
    render: Callable[[S], str],
    output: Path | None,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Search for a vocabulary, train it into `output` if that is given, and print both.

    `search` takes the largest entry, `progress` and `doing`.
    """
    from tokbench.bench.commands import match
    from tokbench.bench.commands import train as command
    from tokbench.bench.console import ConsoleProgress, result, result_json
    from tokbench.bench.workers.executors import interruptible

    with interruptible(), ConsoleProgress(quiet=quiet) as progress:
        entry = match.largest(command.chosen(config, wanted))
        doing = command.Doing()
        with command.interrupting(doing):
            found = search(entry, progress=progress, doing=doing)
        model = None
        if found.vocab_size is not None and output is not None:
            made = match.entry_of(entry, found.vocab_size)
            [model] = command.run(config, [], progress=progress, output=output, entries=made)
    if as_json:
        result_json({**found.to_json(), "model": None if model is None else model.to_json()})
    else:
        result(render(found))
        if model is not None:
            result(f"\n{command.render(model)}")
    sys.exit(1 if found.vocab_size is None else 0)
