"""`tokbench train --match`: the smallest vocabulary that compresses nearly as well as a reference.

Close enough means at least a given share of the reference's bytes per token, on the same text.
Where merges nest, every size is the beginning of one training, and a further merge never makes a
text longer (applying all merges in order gives the same tokens as always joining the lowest rank,
and each merge can only join). So bisection finds the smallest size exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.bench.commands.one_text import load_tokenizer
from tokbench.bench.commands.train import Doing, train, training_text
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.console import ConsoleProgress
from tokbench.bench.corpus.slices import Slice, materialise
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import suggest
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import NestedTrainer
from tokbench.bench.run import trained_models
from tokbench.bench.workers.sources import library_failures


@dataclass(frozen=True, kw_only=True)
class Match:
    """Result of a search: sizes are requested numbers of entries; ratios are bytes per token."""

    key: str
    reference: str
    corpus: str
    within: float
    reference_ratio: float
    vocab_size: int | None
    """The smallest size that is close enough; None if no size up to the limit is."""
    ratio: float
    """Ratio at that size, or else at the largest available one."""
    below: float | None
    """Ratio at the next smaller size; None if there is none."""
    limit: int
    """The largest size examined: `vocab_size` of the block, or where training ended."""
    exhausted: bool
    """Whether training ended at the limit because no pair was frequent enough."""
    trained_on_it: bool

    @property
    def wanted(self) -> float:
        """Bytes per token that a vocabulary must reach to be close enough."""
        return (1 - self.within) * self.reference_ratio

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**self.__dict__, "wanted": self.wanted}


def share(text: str) -> float:
    """Read ``10%`` or ``0.1`` as a share.

    >>> share("10%"), share("0.1"), share("0")
    (0.1, 0.1, 0.0)
    """
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise UsageError(f"--within {text}: is not a share below 100%; write 10% or 0.1")
    return value


def largest(entries: Mapping[str, TrainEntry]) -> tuple[str, TrainEntry]:
    """Return the one block to search in; of a sweep, that of the largest size.

    Raises `UsageError` where there are several.
    """
    groups = trained_models.shared(entries)
    if len(groups) > 1:
        raise UsageError(
            f"--match searches one `train:` block, but there are {len(groups)}; choose one with "
            f"--tokenizer, such as {next(iter(groups[0]))}"
        )
    [group] = groups
    return max(group.items(), key=lambda item: int(item[1].options["vocab_size"]))


def entry_of(entry: tuple[str, TrainEntry], vocab_size: int) -> dict[str, TrainEntry]:
    """Return a block with another size, below a key that names it."""
    key, block = entry
    options = {**block.options, "vocab_size": vocab_size}
    base = key.removesuffix(f"-{block.options['vocab_size']}")
    return {f"{base}-{vocab_size}": block.model_copy(update={"options": options})}


def match(
    config: Config,
    entry: tuple[str, TrainEntry],
    *,
    reference: str,
    within: float,
    corpus: str | None,
    progress: ConsoleProgress,
    doing: Doing,
) -> Match:
    """Find the smallest vocabulary of a `train:` block that comes near a reference.

    Sizes up to the block's `vocab_size` are examined; the text is `corpus`, by default the training
    corpus. Raises `UsageError` where the trainer's merges do not nest.
    """
    key, block = entry
    trainer = nested(key, block)
    if reference not in config.tokenizers:
        known = suggest(reference, config.tokenizers)
        raise UsageError(f"--match {reference}: {config.path} has no such tokenizer{known}")
    slices = evaluation_text(config, block, corpus)
    progress.step(f"{reference}: encoding {corpus or block.corpus}")
    reference_ratio = bytes_per_token(load_tokenizer(config, reference), reference, slices)
    [outcome] = train(config, {key: block}, progress=progress, doing=doing)
    trained = outcome.trained
    doing.what = f"the size of {key} was being searched for"
    search = _Search(key, trainer, trained, slices, progress)
    limit = int(trained.facts["vocab_size_reached"])
    size = search.smallest((1 - within) * reference_ratio, trainer.least(), limit)
    at = limit if size is None else size
    return Match(
        key=key,
        reference=reference,
        corpus=corpus or block.corpus,
        within=within,
        reference_ratio=reference_ratio,
        vocab_size=size,
        ratio=search.ratio(at),
        below=search.ratio(at - 1) if size is not None and at > trainer.least() else None,
        limit=limit,
        exhausted=limit < trainer.vocab_size,
        trained_on_it=corpus in (None, block.corpus),
    )


def nested(key: str, block: TrainEntry) -> NestedTrainer:
    """Return the trainer of a block; raise `UsageError` where its vocabularies do not nest."""
    trainer = trained_models.trainer_of(block)
    if isinstance(trainer, NestedTrainer):
        return trainer
    raise UsageError(
        f"{key} is trained by {block.trainer}, whose smaller vocabularies are not "
        "prefixes of its larger ones; use byte_bpe, or sweep the sizes and read the report"
    )


class _Search:
    """Bytes per token by size, each counted once."""

    def __init__(
        self,
        key: str,
        trainer: NestedTrainer,
        trained: trained_models.Trained,
        slices: Sequence[Slice],
        progress: ConsoleProgress,
    ) -> None:
        self._key, self._trainer, self._trained = key, trainer, trained
        self._slices, self._progress = slices, progress
        self._known: dict[int, float] = {}

    def ratio(self, size: int) -> float:
        """Return bytes per token at a size."""
        if size not in self._known:
            self._progress.step(f"{self._key}: encoding with {size:,} entries")
            tokenizer = self._trainer.beginning(self._trained.source.folder, size)
            self._known[size] = bytes_per_token(tokenizer, self._key, self._slices)
        return self._known[size]

    def smallest(self, wanted: float, low: int, high: int) -> int | None:
        """Return the smallest size from low to high with that ratio; None if there is none."""
        if self.ratio(high) < wanted:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.ratio(middle) >= wanted:
                high = middle
            else:
                low = middle + 1
        return low


def bytes_per_token(tokenizer: Tokenizer, key: str, slices: Sequence[Slice]) -> float:
    """Return UTF-8 bytes per token over the whole text of some slices.

    Raises `TokenizerError` if the library fails on the text, `UsageError` if the text has no
    tokens.
    """
    n_bytes = n_tokens = 0
    for part in slices:
        for batch in part.batches():
            with library_failures(key, "encode the text"):
                n_tokens += sum(map(len, tokenizer.encode_batch(batch.texts)))
            n_bytes += sum(len(text.encode()) for text in batch.texts)
    if not n_tokens:
        raise UsageError(f"{key} produces no tokens for this text; name another corpus with --on")
    return n_bytes / n_tokens


def evaluation_text(config: Config, block: TrainEntry, corpus: str | None) -> list[Slice]:
    """Return the slices of a corpus, by default of the training text."""
    if corpus is None:
        return training_text(config, block)
    if corpus not in config.run.corpora:
        known = suggest(corpus, config.run.corpora)
        raise UsageError(f"--on {corpus}: {config.path} has no such corpus{known}")
    entry = config.run.corpora[corpus]
    return [materialise(corpus, entry, name, config.folder) for name in entry.options()]


def render(found: Match) -> str:
    """Return the result in a few lines."""
    near = f"{1 - found.within:.4g} × {found.reference_ratio:.4f} = {found.wanted:.4f}"
    lines = [
        f"{found.reference} on {found.corpus}: {found.reference_ratio:.4f} bytes per token; close "
        f"enough is {near} or more",
    ]
    if found.vocab_size is None:
        what = "train on more text" if found.exhausted else "raise its vocab_size (--set)"
        off = 1 - found.ratio / found.reference_ratio
        lines.append(
            f"{found.key}: no vocabulary up to {found.limit:,} is close enough; with "
            f"{found.limit:,} it reaches {found.ratio:.4f}, {off:.1%} below; {what}"
        )
    else:
        before = "" if found.below is None else f" ({found.below:.4f} with one less)"
        lines.append(
            f"{found.key}: {found.vocab_size:,} is the smallest vocabulary that is close enough, "
            "with "
            f"{found.ratio:.4f}{before}"
        )
    if found.trained_on_it:
        lines.append(
            "This is the training text, so the result is biased in its favour; evaluate on another "
            "corpus with --on."
        )
    return "\n".join(lines)
