"""The mix of languages that a report answers for, how tokenizers rank for it, and the order of every table.

The mix is the config's `focus` where a corpus has all of its languages, else all languages equally.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tokbench.bench.markup import listed, number, percent, plural
from tokbench.reports.focus import FEW, Standing, rates, standings
from tokbench.reports.view import View, has_place, summarize


class Mix(NamedTuple):
    """Standings of the tokenizers on a corpus, the best first."""

    weights: Mapping[str, float]
    """Shares of the languages; they add up to 1."""
    chosen: bool
    """Whether the config names them."""
    unit: str
    """What a cost is tokens for: ``document`` or ``1,000 bytes``."""
    standings: tuple[Standing, ...]
    fingerprints: Mapping[str, str] = {}
    """Of the tokenizers: one that stands under several keys has no rival among them."""

    @property
    def is_contested(self) -> bool:
        """Whether two different tokenizers or more have a place: one alone wins nothing."""
        placed = [s.tokenizer for s in self.standings if s.rank is not None]
        return len({self.fingerprints.get(name, name) for name in placed}) > 1

    def place(self, standing: Standing | None) -> str:
        """Write a place, or a dash where there is none to win."""
        rank = standing.rank if standing is not None and self.is_contested else None
        return str(rank or "–")

    def of(self, tokenizer: str) -> Standing | None:
        """Return how a tokenizer stands, None where nothing of it was counted."""
        return next((s for s in self.standings if s.tokenizer == tokenizer), None)


@lru_cache(maxsize=16)
def mix_of(view: View, corpus: str) -> Mix | None:
    """Return the standings of a corpus, None where `documents/` is not in this copy of the run."""
    return mix_for(view, corpus, focus_of(view, corpus))


def mix_for(view: View, corpus: str, focus: Mapping[str, float]) -> Mix | None:
    """Return the standings for a mix of languages; an empty mix is all languages equally."""
    names = [name for name in view.tokenizers if (name, corpus) in view.measured]
    if not names or not all(_is_stored(view, name, corpus) for name in names):
        return None
    # one tokenizer alone is compared with itself, whatever is drawn: a page needs as many
    found = rates(view, corpus, FEW if len(names) == 1 else None)
    weights = dict(focus) or dict.fromkeys(found.languages, 1.0)
    total = sum(weights.values())
    placed = {name: all(_has_place(view, name, corpus, k) for k in weights) for name in names}
    return Mix(
        weights={k: w / total for k, w in weights.items()},
        chosen=bool(focus),
        unit=found.unit,
        standings=tuple(standings(found, weights, placed)),
        fingerprints={name: view.run["tokenizers"][name]["fingerprint"] for name in names},
    )


def _is_stored(view: View, tokenizer: str, corpus: str) -> bool:
    return (view.results.folder / "documents" / f"{tokenizer}@{corpus}.parquet").is_file()


def _has_place(view: View, tokenizer: str, corpus: str, language: str) -> bool:
    rank = view.row("rank", tokenizer, corpus, language)
    return rank is not None and has_place(rank)


def focus_of(view: View, corpus: str) -> dict[str, float]:
    """Return the config's focus where the corpus has all of its languages, else none."""
    focus: dict[str, Any] = view.run["config"].get("focus") or {}
    known = set(view.corpora[corpus])
    return {k: float(w) for k, w in focus.items()} if focus and set(focus) <= known else {}


@lru_cache(maxsize=4)
def order(view: View) -> tuple[str, ...]:
    """Return all tokenizers in the order of every table: as they stand on the first corpus."""
    first: list[str] = []
    for corpus in view.ordered_corpora[:1]:
        mix = mix_of(view, corpus)
        stand = [s.tokenizer for s in mix.standings] if mix else []
        first = stand or [line.tokenizer for line in summarize(view, corpus)]
    return (*first, *(name for name in view.tokenizers if name not in first))


def shares_in_words(mix: Mix) -> str:
    """Write the shares of a mix.

    >>> shares_in_words(Mix({"hin": 0.6, "eng": 0.4}, True, "document", ()))
    '60 % hin and 40 % eng'
    >>> shares_in_words(Mix({"hin": 0.5, "eng": 0.5}, False, "document", ()))
    '2 languages in equal shares'
    >>> shares_in_words(Mix({"hin": 1.0}, False, "document", ()))
    'hin'
    """
    if len(mix.weights) == 1:
        return next(iter(mix.weights))
    if not mix.chosen:
        return f"{plural(len(mix.weights), 'language')} in equal shares"
    parts = [f"{_share(w)} {k}" for k, w in mix.weights.items()]
    return listed(parts)


def _share(weight: float) -> str:
    return f"{weight * 100:.4g} %"


def answer(mix: Mix) -> str | None:
    """Say which tokenizer needs the fewest tokens for a mix, and by how much; None without places.

    The second is the next that is another tokenizer. A tokenizer without a rival is only described.
    """
    placed = [s for s in mix.standings if s.rank is not None]
    if not placed or placed[0].cost is None:
        return None
    best, *others = placed
    text, cost = f"For text of {shares_in_words(mix)}", f"{number(best.cost)}"
    if not mix.is_contested:
        return f"{text}, {best.tokenizer} needs {cost} tokens per {mix.unit}."
    known = mix.fingerprints
    rival = next(
        s
        for s in others
        if known.get(s.tokenizer, s.tokenizer) != known.get(best.tokenizer, best.tokenizer)
    )
    return (
        f"{text}, {best.tokenizer} needs the fewest tokens: {cost} per {mix.unit}; {_next(rival)}."
    )


def _next(other: Standing) -> str:
    """Say how the second stands to the first.

    >>> _next(Standing(tokenizer="b", cost=3.0, ratio=1.5, low=1.4, high=1.6, rank=2))
    'next is b with 50.0 % more (95 % interval 40.0 % to 60.0 %)'
    """
    ratio = other.ratio or 1.0
    if other.low is None or other.high is None:
        ends = "no interval: a language has a single document"
    else:
        ends = f"95 % interval {signed(other.low - 1)} to {signed(other.high - 1)}"
    if other.rank == 1:
        return f"{other.tokenizer} cannot be distinguished from it ({signed(ratio - 1)}, {ends})"
    return f"next is {other.tokenizer} with {percent(ratio - 1)} more ({ends})"


def signed(share: float) -> str:
    """Write a difference in per cent, with a sign where it is below zero.

    >>> signed(0.25), signed(-0.004)
    ('25.0 %', '−0.4 %')
    """
    text = f"{abs(share) * 100:.1f} %"
    return f"−{text}" if share < 0 and text != "0.0 %" else text
