"""Does the text survive: round trips, unknown tokens, lost bytes, pieces of characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from bench.model import Finding, Measurement, MetricSpec
from bench.plugins import CountsSuite
from bench.tally import LOSS_CAUSES, ROUND_TRIP, Cell, Tallies

ROUND_TRIP_SHARE = MetricSpec(
    name="round_trip",
    unit="share",
    direction="none",
    definition="Share of documents whose round trip is exact (decode(encode(text)) equals the "
    "text), normalized (equal after NFC and after trimming and collapsing white space) or lossy; "
    "the class is in params.",
)
UNK_RATE = MetricSpec(
    name="unk_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens that are unknown tokens.",
)
LOST_BYTE_SHARE = MetricSpec(
    name="lost_byte_share",
    unit="share",
    direction="lower",
    definition="Share of the text's bytes covered by unknown tokens or whose characters do not "
    "come back; white space and canonically equivalent forms do not count. Params with a cause "
    "give the part lost to it.",
)
BYTE_FALLBACK_RATE = MetricSpec(
    name="byte_fallback_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens that stand for one byte of a character the vocabulary lacks.",
)
PARTIAL_CHARACTER_RATE = MetricSpec(
    name="partial_character_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens whose bytes are not valid UTF-8 on their own.",
)
SPECIAL_SPELLINGS = MetricSpec(
    name="documents_spelling_special_tokens",
    unit="documents",
    direction="none",
    additive=True,
    definition="Documents that contain the spelling of a special token; it is read as ordinary "
    "text, for every tokenizer alike.",
)
BYTE_SUM_BREACHES = MetricSpec(
    name="byte_sum_breaches",
    unit="documents",
    direction="lower",
    additive=True,
    definition="Documents whose token bytes do not add up to the text's bytes, for tokenizers that "
    "are meant to be byte-exact.",
)


class Fidelity(CountsSuite):
    """Round trips and losses of every cell, and over all languages of a corpus."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        ROUND_TRIP_SHARE,
        UNK_RATE,
        LOST_BYTE_SHARE,
        BYTE_FALLBACK_RATE,
        PARTIAL_CHARACTER_RATE,
        SPECIAL_SPELLINGS,
        BYTE_SUM_BREACHES,
    )

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return fidelity metrics of every cell."""
        for cell in tallies.counted():
            yield from _round_trip(cell)
            yield from _losses(cell, tallies)
            yield from _rates(cell)
            yield _one(cell, SPECIAL_SPELLINGS, cell.tally.total("spells_special"))
            if tallies.tokenizers[cell.key.tokenizer].byte_exact:
                yield _one(cell, BYTE_SUM_BREACHES, cell.tally.total("byte_sum_breach"))


def _round_trip(cell: Cell) -> Iterator[Measurement]:
    for number, name in enumerate(ROUND_TRIP):
        count = cell.tally.round_trip_count(number)
        params = {"class": name, "documents": count}
        yield _one(cell, ROUND_TRIP_SHARE, count / cell.tally.n, params=params)


def _losses(cell: Cell, tallies: Tallies) -> Iterator[Measurement]:
    n_bytes = cell.tally.total("bytes")
    if not n_bytes:
        yield _one(cell, LOST_BYTE_SHARE, None, detail="no bytes: nothing to lose")
        return
    yield _one(cell, LOST_BYTE_SHARE, tallies.lost_share(cell))
    for cause in LOSS_CAUSES:
        lost = cell.tally.total(f"lost_{cause}")
        if lost:
            yield _one(cell, LOST_BYTE_SHARE, lost / n_bytes, params={"cause": cause})


def _rates(cell: Cell) -> Iterator[Measurement]:
    n_tokens = cell.tally.total("tokens")
    for metric, column in (
        (UNK_RATE, "unknown"),
        (BYTE_FALLBACK_RATE, "byte_fallback"),
        (PARTIAL_CHARACTER_RATE, "partial_character"),
    ):
        value = cell.tally.total(column) / n_tokens if n_tokens else None
        detail = None if n_tokens else "no tokens: nothing to divide by"
        yield _one(cell, metric, value, detail=detail)


def _one(
    cell: Cell,
    metric: MetricSpec,
    value: float | None,
    *,
    params: dict[str, object] | None = None,
    detail: str | None = None,
) -> Measurement:
    return Measurement(
        metric=metric,
        suite="fidelity",
        tokenizer=cell.key.tokenizer,
        corpus=cell.key.corpus,
        language=cell.key.language,
        value=value,
        n=cell.tally.n,
        params=params or {},
        status=cell.status,
        detail=detail or cell.detail,
    )
