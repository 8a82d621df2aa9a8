"""Which tokenizers need fewer tokens for a language, by paired intervals: pairs and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

from tokbench.bench.count.stats import Interval
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Measurement, Place
from tokbench.bench.reasons import Why
from tokbench.suites.efficiency.specs import RANK, TOKEN_RATIO
from tokbench.suites.rows import pooled_ratio, row


def rankings(tallies: Tallies, *, pairs: bool) -> Iterator[Measurement]:
    """Return the rank of every cell within its language, and the matrix of pairs if asked for."""

    def place(cell: Cell) -> Place:
        return cell.key.place

    for _, group in groupby(sorted(tallies.counted(), key=place), place):
        cells = list(group)
        reasons = {cell.key: tallies.why_unranked(cell) for cell in cells}
        ranked = [cell for cell in cells if reasons[cell.key] is None]
        by_name = sorted(ranked, key=lambda cell: cell.key.tokenizer)
        ratios = {  # pairs in the order of names: the same whatever the order of the config
            (a.key, b.key): pooled_ratio(a, b, "tokens", tallies)
            for a, b in combinations(by_name, 2)
        }
        yield from _places(cells, ranked, reasons, {k: v[1] for k, v in ratios.items()}, tallies)
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
    tallies: Tallies,
) -> Iterator[Measurement]:
    """Yield the rank of each cell; the same tokenizer under several keys counts once."""
    fingerprints = {cell.key.tokenizer: _identity(cell, tallies) for cell in ranked}
    n = len(set(fingerprints.values()))
    better: dict[CellKey, set[str]] = {cell.key: set() for cell in ranked}
    for (a, b), interval in ratios.items():
        if interval.high is not None and interval.high < 1:
            better[b].add(fingerprints[a.tokenizer])
        if interval.low is not None and interval.low > 1:
            better[a].add(fingerprints[b.tokenizer])
    for cell in cells:
        params: dict[str, object] = {"by": "bytes_per_token", "of": n}
        place = len(better[cell.key]) + 1 if cell.key in better else None
        yield row(cell, RANK, place, params=params, why=reasons[cell.key])


def _identity(cell: Cell, tallies: Tallies) -> str:
    return tallies.tokenizers[cell.key.tokenizer].fingerprint
