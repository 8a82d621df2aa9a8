"""Where tokens end: words that end inside one, tokens over several words, split characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from tokbench.bench.count.stats import NO_INTERVAL
from tokbench.bench.count.suite import CountsSuite
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, Need
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.suites.boundaries.specs import (
    INSIDE_CHARACTER,
    MULTI_WORD_TOKENS,
    SPLIT_CHARACTERS,
    SPLIT_GRAPHEMES,
    WORD_ENDS_INSIDE,
    WORDS_PER_TOKEN,
)
from tokbench.suites.rows import row, why_not_its_price

NO_PLACES = Why("places_unknown", "the places of tokens in the text are unknown")


class BoundariesSuite(CountsSuite):
    """Word ends inside tokens, tokens over several words, characters and clusters split."""

    needs: ClassVar[frozenset[Need]] = frozenset({"cuts"})

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        WORD_ENDS_INSIDE,
        MULTI_WORD_TOKENS,
        WORDS_PER_TOKEN,
        INSIDE_CHARACTER,
        SPLIT_CHARACTERS,
        SPLIT_GRAPHEMES,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return the values of every cell."""
        for cell in tallies.counted():
            yield from _of_words(cell, tallies)
            for metric, column, of in (
                (INSIDE_CHARACTER, "tokens_inside_character", "tokens"),
                (SPLIT_CHARACTERS, "split_characters", "characters"),
                (SPLIT_GRAPHEMES, "split_graphemes", "graphemes"),
            ):
                yield _share(cell, metric, column, of)


def _share(cell: Cell, metric: MetricSpec, column: str, of: str) -> Measurement:
    n = _in_placed(cell, of)
    value = cell.tally.total(column) / n if n else None
    return row(cell, metric, value, n=n, unit=of, why=None if n else _why_none(cell))


def _in_placed(cell: Cell, column: str) -> int:
    """Sum a column over the documents whose tokens have places."""
    placed = cell.tally.total("placed")
    if placed == cell.tally.n:
        return cell.tally.total(column)
    documents = cell.tally.documents
    return int((documents[column] * documents["placed"]).sum()) if placed else 0


def _why_none(cell: Cell) -> Why:
    return Why("no_tokens", "no text in tokens") if cell.tally.total("placed") else NO_PLACES


def _of_words(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    """Yield what depends on words; refused where text is lost, as lost words have no tokens."""
    n_words, n_tokens = cell.tally.total("words"), _in_placed(cell, "tokens")
    why = _why_no_words(cell, tallies)
    refused = None
    if why is None and (why := why_not_its_price((cell,), tallies)):
        refused = why
    values: tuple[float | None, ...] = (None, None, None)
    interval = NO_INTERVAL
    if why is None:
        ends, several = (cell.tally.total(c) for c in ("word_ends_inside", "multi_word_tokens"))
        values = (ends / n_words, several / n_tokens, n_words / n_tokens)
        interval = tallies.resampling.ratio(cell, "word_ends_inside", cell, "words")
    for metric, value, n, unit in zip(
        (WORD_ENDS_INSIDE, MULTI_WORD_TOKENS, WORDS_PER_TOKEN),
        values,
        (n_words, n_tokens, n_tokens),
        ("words", "tokens", "tokens"),
        strict=True,
    ):
        yield row(
            cell,
            metric,
            value,
            interval if metric is WORD_ENDS_INSIDE else NO_INTERVAL,
            n=None if why else n,
            unit=unit,
            status="refused" if refused else None,
            why=why,
        )


def _why_no_words(cell: Cell, tallies: Tallies) -> Why | None:
    if undefined := tallies.facts(cell.key).words_reason:
        return Why("words_undefined", undefined)
    if not cell.tally.total("placed"):
        return NO_PLACES
    if not cell.tally.total("words"):
        return Why("no_words", "no words whose token boundaries are known")
    return None
