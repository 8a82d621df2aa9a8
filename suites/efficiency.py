"""How compactly a tokenizer writes text, within one language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import ClassVar

from bench.model import Finding, Measurement, MetricSpec
from bench.plugins import CountsSuite
from bench.stats import NO_INTERVAL, Interval
from bench.tally import Cell, Tallies

BYTES_PER_TOKEN = MetricSpec(
    name="bytes_per_token",
    unit="bytes/token",
    direction="higher",
    definition="UTF-8 bytes of the text ÷ tokens, totals over all documents. Compares tokenizers "
    "within a language, never languages.",
)
CHARACTERS_PER_TOKEN = MetricSpec(
    name="characters_per_token",
    unit="characters/token",
    direction="higher",
    definition="Code points of the text ÷ tokens, totals over all documents.",
)
TOKENS = MetricSpec(
    name="tokens",
    unit="tokens",
    direction="lower",
    additive=True,
    definition="Tokens of all documents, special tokens never added.",
)
FERTILITY = MetricSpec(
    name="fertility",
    unit="tokens/word",
    direction="lower",
    definition="Mean number of tokens that overlap a word (at least 1); words by UAX #29. Does not "
    "compare languages: what a word is differs.",
)
TOKENS_PER_WORD = MetricSpec(
    name="tokens_per_word",
    unit="tokens/word",
    direction="lower",
    definition="All tokens ÷ words; unlike fertility it counts punctuation and spaces too.",
)
CONTINUED_WORDS = MetricSpec(
    name="proportion_of_continued_words",
    unit="share",
    direction="lower",
    definition="Share of words cut into two or more tokens.",
)
SINGLE_TOKEN_WORDS = MetricSpec(
    name="single_token_word_share",
    unit="share",
    direction="higher",
    definition="Share of words covered by one token that holds nothing else but white space "
    "before the word.",
)
RANK = MetricSpec(
    name="rank",
    unit="place",
    direction="lower",
    definition="1 + number of tokenizers whose paired 95 % interval shows more bytes per token in "
    "this language. Lossy and partial rows are never ranked.",
)

_WORD_METRICS = (FERTILITY, TOKENS_PER_WORD, CONTINUED_WORDS, SINGLE_TOKEN_WORDS)


class Efficiency(CountsSuite):
    """Bytes and characters per token, words and their pieces, ranks by bytes per token."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        BYTES_PER_TOKEN,
        CHARACTERS_PER_TOKEN,
        TOKENS,
        *_WORD_METRICS,
        RANK,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return size and word metrics of every cell, then ranks within each language."""
        for cell in tallies.counted():
            yield from _sizes(cell, tallies)
            yield from _words(cell, tallies)
        yield from _ranks(tallies)


def bytes_per_token(n_bytes: int, n_tokens: int) -> float | None:
    """Return UTF-8 bytes per token, or None for an empty sample.

    >>> bytes_per_token(n_bytes=12, n_tokens=3)
    4.0
    """
    return n_bytes / n_tokens if n_tokens else None


def _measurement(
    cell: Cell,
    metric: MetricSpec,
    value: float | None,
    interval: Interval = NO_INTERVAL,
    *,
    n: int | None = None,
    detail: str | None = None,
    params: dict[str, object] | None = None,
) -> Measurement:
    return Measurement(
        metric=metric,
        suite="efficiency",
        tokenizer=cell.key.tokenizer,
        corpus=cell.key.corpus,
        language=cell.key.language,
        value=value,
        ci_low=interval.low,
        ci_high=interval.high,
        n=cell.tally.n if n is None else n,
        params=params or {},
        status=cell.status,
        detail=detail or cell.detail,
    )


def _sizes(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    tally, resampling = cell.tally, tallies.resampling
    n_tokens = tally.total("tokens")
    units = resampling.units(cell.key.corpus, cell.key.language)
    empty = None if n_tokens else "no tokens: nothing to divide by"
    for metric, column in ((BYTES_PER_TOKEN, "bytes"), (CHARACTERS_PER_TOKEN, "characters")):
        interval = resampling.ratio(cell, column, cell, "tokens") if n_tokens else NO_INTERVAL
        value = bytes_per_token(tally.total(column), n_tokens)
        params: dict[str, object] = {"resampled": units.name, "units": units.n}
        yield _measurement(cell, metric, value, interval, detail=empty, params=params)
    yield _measurement(cell, TOKENS, n_tokens)


def _words(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    tally = cell.tally
    n_words = tally.total("words")
    reason = tallies.facts(cell.key).words_reason
    if reason is None and not n_words:
        reason = "no words whose token boundaries are known"
    values = {
        FERTILITY: tally.total("word_tokens"),
        TOKENS_PER_WORD: tally.total("tokens"),
        CONTINUED_WORDS: tally.total("continued_words"),
        SINGLE_TOKEN_WORDS: tally.total("single_token_words"),
    }
    for metric in _WORD_METRICS:
        value = None if reason else values[metric] / n_words
        n = None if reason else n_words
        params: dict[str, object] = {"unit_of_n": "words"}
        yield _measurement(cell, metric, value, n=n, detail=reason, params=params)


def _ranks(tallies: Tallies) -> Iterator[Measurement]:
    def place(cell: Cell) -> tuple[str, str]:
        return cell.key.corpus, cell.key.language

    for _, group in groupby(sorted(tallies.counted(), key=place), place):
        cells = list(group)
        reasons = [why_unranked(cell, tallies) for cell in cells]
        ranked = [c for c, reason in zip(cells, reasons, strict=True) if reason is None]
        for cell, reason in zip(cells, reasons, strict=True):
            better = None if reason else 1 + sum(_beats(o, cell, tallies) for o in ranked)
            params: dict[str, object] = {"by": "bytes_per_token", "of": len(ranked)}
            yield _measurement(cell, RANK, better, detail=reason, params=params)


def why_unranked(cell: Cell, tallies: Tallies) -> str | None:
    """Return why a cell must not be ranked, None when it may be."""
    if cell.status == "partial":
        return "not ranked: some documents failed"
    if not cell.tally.total("tokens"):
        return "not ranked: no tokens"
    lost = tallies.lost_share(cell)
    if lost is not None and lost > tallies.lost_limit:
        return (
            f"not ranked: {lost:.1%} of the text's bytes are lost (limit {tallies.lost_limit:.0%})"
        )
    return None


def _beats(other: Cell, cell: Cell, tallies: Tallies) -> bool:
    """Tell whether the same text surely takes fewer tokens with another tokenizer."""
    if other is cell:
        return False
    ratio = tallies.resampling.ratio(other, "tokens", cell, "tokens")
    return ratio.high is not None and ratio.high < 1
