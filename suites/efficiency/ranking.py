"""Which tokenizers surely write a language in fewer tokens: pairs and places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

from tokbench.bench.count.stats import Interval
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Measurement, Place
from tokbench.suites.efficiency.specs import RANK, TOKEN_RATIO
from tokbench.suites.rows import Why, pooled_ratio, row


def rankings(tallies: Tallies, *, pairs: bool) -> Iterator[Measurement]:
    """Return the rank of every cell within its language, and the matrix of pairs if asked for."""

    def place(cell: Cell) -> Place:
        return cell.key.place

    for _, group in groupby(sorted(tallies.counted(), key=place), place):
        cells = list(group)
        reasons = {cell.key: why_unranked(cell, tallies) for cell in cells}
        ranked = [cell for cell in cells if reasons[cell.key] is None]
        by_name = sorted(ranked, key=lambda cell: cell.key.tokenizer)
        ratios = {  # pairs in the order of names: the same whatever the order of the config
            (a.key, b.key): pooled_ratio(a, b, "tokens", tallies)
            for a, b in combinations(by_name, 2)
        }
        yield from _places(cells, ranked, reasons, {k: v[1] for k, v in ratios.items()})
        if pairs:
            by_key = {cell.key: cell for cell in ranked}
            for (a, b), (value, interval, n) in ratios.items():
                params = {"other": b.tokenizer}
                yield row(by_key[a], TOKEN_RATIO, value, interval, n=n, params=params)


def _places(
    cells: Sequence[Cell],
    ranked: Sequence[Cell],
    reasons: dict[CellKey, Why | None],
    ratios: dict[tuple[CellKey, CellKey], Interval],
) -> Iterator[Measurement]:
    places = {cell.key: 1 for cell in ranked}
    for (a, b), interval in ratios.items():
        if interval.high is not None and interval.high < 1:
            places[b] += 1
        if interval.low is not None and interval.low > 1:
            places[a] += 1
    for cell in cells:
        params: dict[str, object] = {"by": "bytes_per_token", "of": len(ranked)}
        yield row(cell, RANK, places.get(cell.key), params=params, why=reasons[cell.key])


def why_unranked(cell: Cell, tallies: Tallies) -> Why | None:
    """Return why a cell must not be ranked, None when it may be."""
    if cell.status == "partial":
        return Why("documents_failed", "not ranked: some documents failed")
    if not cell.tally.total("tokens"):
        return Why("no_tokens", "not ranked: no tokens")
    lost = tallies.lost_share(cell)
    if lost is not None and lost > tallies.lost_limit:
        return Why(
            "lost_text",
            f"not ranked: {lost:.1%} of the text's bytes are lost (limit {tallies.lost_limit:.0%})",
        )
    return None
