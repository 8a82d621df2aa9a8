"""`tokbench train --premium`: the vocabulary from which on a language pays no more than a target.

Where merges nest, one encoding with the largest vocabulary holds all smaller ones: joining in the
order of ranks, the text after n merges is the text encoded with the first n. So each use of a
merge shortens the text by one token, and the uses follow from how the tokens were built.

A premium need not fall as the vocabulary grows, since the pivot gains from merges too. So the size
is the one from which on the target holds up to the largest; where it holds earlier and is lost
again, the first size is named as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.commands.match import evaluation_text, nested
from tokbench.bench.commands.train import Doing, train, training_text
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.console import ConsoleProgress
from tokbench.bench.corpus.alignment import why_doubtful, with_alignment
from tokbench.bench.corpus.slices import Slice, check_parallel
from tokbench.bench.count.lineage import lineages
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, number, percent, suggest
from tokbench.bench.markup import table as plain_table
from tokbench.bench.model import HasMerging, Merging, Tokenizer
from tokbench.bench.run.trained_models import SliceTexts
from tokbench.bench.workers.sources import library_failures

Curve = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LanguageTarget:
    """A language against its target; sizes are requested numbers of entries."""

    language: str
    target: float
    vocab_size: int | None
    """The size from which on the premium is at most the target; None if it is not at the largest."""
    first: int | None
    """The smallest size at which it is; None if there is none."""
    premium: float
    """At the largest size."""
    byte_premium: float
    """Bytes of the language ÷ bytes of the pivot for the same content."""
    training_share: float | None
    """Share of the bytes that training sees; None where it sees none of the language."""
    corrected_share: float | None
    """The same with each language's bytes divided by its byte premium."""


@dataclass(frozen=True, kw_only=True)
class TargetSearch:
    """Every language of a parallel corpus against its target."""

    key: str
    corpus: str
    pivot: str
    documents: int
    least: int
    limit: int
    """The largest size: `vocab_size` of the block, or where training ended."""
    trained_on_it: bool
    languages: tuple[LanguageTarget, ...]
    notes: tuple[str, ...]

    @property
    def vocab_size(self) -> int | None:
        """The smallest size from which on all targets hold, None where one is missed."""
        sizes = [one.vocab_size for one in self.languages]
        return None if None in sizes else max(size for size in sizes if size is not None)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "vocab_size": self.vocab_size}


def targets(values: Sequence[str]) -> tuple[float | None, dict[str, float]]:
    """Read ``1.5`` for all languages, and ``LANGUAGE=1.2`` for one.

    >>> targets(["1.5", "tha_Thai=2"])
    (1.5, {'tha_Thai': 2.0})
    """
    whole: float | None = None
    single: dict[str, float] = {}
    for value in values:
        language, equals, written = value.rpartition("=")
        try:
            target = float(written)
        except ValueError:
            target = 0.0
        if not 0 < target < float("inf"):
            raise UsageError(f"--premium {value}: write a ratio such as 1.5, or LANGUAGE=1.5")
        if equals:
            single[language] = target
        else:
            whole = target
    return whole, single


def search(
    config: Config,
    entry: tuple[str, TrainEntry],
    *,
    wanted: Sequence[str],
    corpus: str | None,
    progress: ConsoleProgress,
    doing: Doing,
) -> TargetSearch:
    """Find the size at which each language of a parallel corpus meets its target.

    Raises `UsageError` where the trainer's merges do not nest, or the corpus is not parallel.
    """
    key, block = entry
    trainer = nested(key, block)
    where = corpus or block.corpus
    slices = _parallel(config, where, evaluation_text(config, block, corpus))
    pivot = str(slices[next(iter(slices))].meta.pivot)
    aims = _aims(wanted, slices, pivot)
    [outcome] = train(config, {key: block}, progress=progress, doing=doing)
    doing.what = f"premiums of {key} were being counted"
    least, limit = trainer.least(), int(outcome.trained.facts["vocab_size_reached"])
    tokenizer = trainer.beginning(outcome.trained.source.folder, limit)
    curves = {}
    for language, part in slices.items():
        progress.step(f"{key}: encoding {language}")
        curves[language] = token_curve(
            _rules(tokenizer), _used(key, tokenizer, part), limit - least
        )
    if not curves[pivot][0]:
        raise UsageError(f"{pivot} has no text in {where}; name another corpus with --on")
    balance = outcome.trained.facts["facts"].get("seen", {})
    seen = _seen(training_text(config, block), balance)
    return TargetSearch(
        key=key,
        corpus=where,
        pivot=pivot,
        documents=slices[pivot].meta.documents,
        least=least,
        limit=limit,
        trained_on_it=where == block.corpus,
        languages=_judged(curves, pivot, aims, seen, least),
        notes=tuple(f"{n}: {why}" for n, one in slices.items() if (why := why_doubtful(one.meta))),
    )


def _rules(tokenizer: Tokenizer) -> Merging:
    rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
    if rules is None:
        raise UsageError("--premium requires a tokenizer that names its merges, such as byte_bpe")
    return rules


def _used(key: str, tokenizer: Tokenizer, part: Slice) -> Curve:
    """Return how often each id occurs in a text."""
    used = np.zeros(0, np.int64)
    for batch in part.batches():
        with library_failures(key, "encode the text"):
            ids = [np.array(found, np.int64) for found in tokenizer.encode_batch(batch.texts)]
        more = np.bincount(np.concatenate(ids), minlength=len(used))
        more[: len(used)] += used
        used = more
    return used


def _parallel(config: Config, corpus: str, parts: Sequence[Slice]) -> dict[str, Slice]:
    """Return the slices of a parallel corpus row for row, with how their lengths go together."""
    entry = config.run.corpora[corpus]
    languages = [part.meta.language for part in parts]
    if not entry.parallel or entry.pivot not in languages:
        raise UsageError(
            f"--premium requires a parallel corpus with its pivot, which {corpus} is not; name "
            "one with --on"
        )
    return with_alignment(check_parallel(parts))


def _aims(wanted: Sequence[str], slices: Mapping[str, Slice], pivot: str) -> dict[str, float]:
    """Return the target of each language that has one."""
    whole, single = targets(wanted)
    for language in single:
        if language not in slices or language == pivot:
            raise UsageError(
                f"--premium {language}: is not a language of the corpus beside its pivot, {pivot}"
                f"{suggest(language, slices)}"
            )
    aims = {} if whole is None else {one: whole for one in slices if one != pivot}
    return {**aims, **single}


def token_curve(rules: Merging, used: Curve, n_merges: int) -> Curve:
    """Return the tokens of a text after 0, 1, ..., n merges, from the ids of its last encoding.

    `used[i]` is how often id i occurs. A merge's rank is its place in the order of learning.

    >>> joins = {(0, 1): (0, 3), (3, 2): (1, 4)}
    >>> rules = Merging(entries=lambda: [(4, (0, 1, 2)), (3, (0, 1)), (0, (0,))],
    ...                 join=lambda a, b: joins.get((a, b)))
    >>> token_curve(rules, np.array([5, 0, 0, 10, 1]), 2).tolist()
    [28, 17, 16]
    """
    symbols = {id: len(parts) for id, parts in rules.entries() if id < len(used) and used[id]}
    uses: Counter[int] = Counter()
    for id, steps in lineages(rules, symbols).items():
        for step in steps:
            uses[step.rank] += int(used[id])
    saved = np.zeros(n_merges + 1, np.int64)
    for rank, n in uses.items():
        saved[rank + 1] = n
    start = sum(int(used[id]) * n for id, n in symbols.items())
    return start - np.cumsum(saved)


def _seen(parts: Sequence[Slice], factors: Mapping[str, float]) -> dict[str, float]:
    """Return the bytes of each language that training sees, with weights and balance."""
    seen: Counter[str] = Counter()
    for text, weight, language in SliceTexts(parts).labelled():
        seen[language] += weight * len(text.encode())
    return {language: n * factors.get(language, 1.0) for language, n in seen.items()}


def _judged(
    curves: Mapping[str, Curve],
    pivot: str,
    aims: Mapping[str, float],
    seen: Mapping[str, float],
    least: int,
) -> tuple[LanguageTarget, ...]:
    byte_premiums = {name: float(curve[0] / curves[pivot][0]) for name, curve in curves.items()}
    content = {name: n / byte_premiums[name] for name, n in seen.items() if name in byte_premiums}
    total = sum(seen[name] for name in content)
    whole = sum(content.values())
    found = []
    for language, target in aims.items():
        premiums = curves[language] / curves[pivot]
        met = np.flatnonzero(premiums <= target)
        missed = np.flatnonzero(premiums > target)
        after = int(missed[-1]) + 1 if len(missed) else 0
        found.append(
            LanguageTarget(
                language=language,
                target=target,
                vocab_size=least + after if after < len(premiums) else None,
                first=least + int(met[0]) if len(met) else None,
                premium=float(premiums[-1]),
                byte_premium=byte_premiums[language],
                training_share=seen[language] / total if language in content else None,
                corrected_share=content[language] / whole if language in content else None,
            )
        )
    return tuple(found)


def render(found: TargetSearch) -> str:
    """Return the result as a table and what follows from it."""
    header = ["language", "target", "reached from", "first", f"premium at {found.limit:,}",
              "byte premium", "training bytes", "corrected"]  # fmt: skip
    rows = [
        [
            one.language,
            number(one.target),
            count(one.vocab_size),
            count(one.first),
            number(one.premium, 3),
            number(one.byte_premium, 3),
            percent(one.training_share),
            percent(one.corrected_share),
        ]
        for one in sorted(found.languages, key=lambda one: -one.premium)
    ]
    missed = [one.language for one in found.languages if one.vocab_size is None]
    lines = [
        plain_table(header, rows, right=[1, 2, 3, 4, 5, 6, 7]),
        f"Premiums are against {found.pivot} over {found.documents:,} documents of {found.corpus}, "
        "both sides under the same vocabulary.",
        f"{found.key}: all targets hold from {found.vocab_size:,} entries on"
        if found.vocab_size is not None
        else f"{found.key}: {len(missed)} of {len(found.languages)} targets are missed up to "
        f"{found.limit:,} entries",
        *found.notes,
    ]
    if found.trained_on_it:
        lines.append(
            "This is the training text, so the result is biased in its favour; evaluate on another "
            "corpus with --on."
        )
    return "\n".join(lines)
