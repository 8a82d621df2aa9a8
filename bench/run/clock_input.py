"""What a clock suite gets: the tokenizers and texts of a config."""

from __future__ import annotations

from collections.abc import Mapping

from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.progress import Progress
from tokbench.bench.timing.contest import Contest, Training
from tokbench.bench.workers.sources import TokenizerSource


def contest_of(
    config: Config,
    slices: Mapping[tuple[str, str], Slice],
    tokenizers: Mapping[str, TokenizerSource],
    progress: Progress,
) -> Contest:
    """Return the contest of a config's tokenizers over its text."""
    from tokbench.bench.run.trained_models import SliceTexts, trainer_of

    training = {}
    for key, entry in config.tokenizers.items():
        if isinstance(entry, TrainEntry) and key in tokenizers:
            languages = entry.languages or tuple(config.run.corpora[entry.corpus].options())
            training[key] = Training(
                trainer=trainer_of(entry), corpus=entry.corpus, languages=languages
            )
    return Contest(
        tokenizers=tokenizers,
        texts={place: SliceTexts([part]) for place, part in slices.items()},
        seed=config.run.seed,
        progress=progress.step,
        training=training,
        limits=config.run.limits,
    )
