"""Bits per byte from losses that the user brings, and what they are worth at equal compute.

A loss per token cannot be compared across tokenizers: who cuts a text into fewer tokens has a
larger loss for each. The sum over a text, per byte of it, can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tokbench.bench.errors import InputError, Refusal
from tokbench.bench.files import read_bounded
from tokbench.bench.markup import one_line, plural
from tokbench.bench.model import MetricSpec
from tokbench.bench.plugins import Plugin

BITS_PER_BYTE = MetricSpec(
    name="bits_per_byte",
    unit="bits per byte",
    direction="lower",
    definition="Bits that a model needs for a text, per UTF-8 byte: its losses added up over the "
    "tokens, by the number of bytes they spell.",
    formula="Σ loss in nats ÷ ln 2 ÷ Σ bytes",
    source="Gao et al. 2020 (2101.00027), section 3.1.",
    not_meant="A comparison of languages: scripts differ in bytes for the same content. Quality of "
    "answers.",
    trap="Leaving out the loss of a first token, or dividing by the bytes of decoded tokens where "
    "the tokenizer changed the text.",
)
FLOP_EQUIVALENT = MetricSpec(
    name="flop_equivalent_bits_per_byte",
    unit="bits per byte",
    direction="lower",
    definition="Bits per byte that a model's own curve gives at the training compute that is left "
    "to it: a model that is cheaper to serve than the reference has more, within one budget for "
    "training and serving.",
    formula="a × C^−b + c at C = C_ref × (1 + ρ × (1 − s)); s = FLOPs per byte ÷ those of the "
    "reference; ρ = serving ÷ training of the reference",
    source="The tokenizer harness of marin (marin-community/marin#6916), feBPB.",
    not_meant="A measurement: it presupposes one recipe, one text and one shape of all models, the "
    "power law between the given points, and the user's guess of ρ.",
    trap="Taking the shares of a small model for those of the one that is served; reading the curve "
    "outside its points.",
)
LOSS_METRICS = (BITS_PER_BYTE, FLOP_EQUIVALENT)

MOST_BYTES = 2_000_000_000
FORMATS = (".csv", ".tsv", ".parquet")
NAMES = ("corpus", "language", "document")
FiniteFlops = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class LossTable(Plugin):
    """A table of losses: rows with `document` and `loss`; `corpus`, `language` where there are several."""

    file: str = Field(description="CSV, TSV or Parquet, from the working folder.")
    unit: Literal["nats", "bits"] = Field(description="Unit of a loss.")
    loss: Literal["token", "sum", "mean"] = Field(
        description="What a row's loss is: of one token, or of a document the sum or the mean over "
        "its tokens (column `tokens`)."
    )


class LadderPoint(Plugin):
    """Bits per byte that training with some compute reached, on the same bytes for all models."""

    training_flops: FiniteFlops = Field(description="FLOPs of the training.")
    bits_per_byte: FiniteFlops = Field(description="Bits per byte on the evaluation text.")


class FlopEquivalent(Plugin):
    """How models are compared at one budget for training and serving."""

    reference: str = Field(description="Model whose training budget is the measure.")
    serving_ratio: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        1.0, description="FLOPs that the reference spends on serving, by those of its training."
    )
    training_flops: FiniteFlops | None = Field(
        None, description="Training budget of the reference; by default its middle point's."
    )


class DocumentLoss(NamedTuple):
    """The loss of a document, and over how many tokens; None where the table does not say."""

    bits: float
    tokens: int | None


Key = tuple[str | None, str | None, str]
"""Corpus, language and document; None where the table has no such column."""


def read_losses(table: LossTable) -> dict[Key, DocumentLoss]:
    """Return the loss of every document of a table; raise `InputError` for one that is not right."""
    found = _table(table)
    names = [name for name in NAMES if name in found.column_names]
    needed = ["document", "loss", *(["tokens"] if table.loss == "mean" else [])]
    if missing := [name for name in needed if name not in found.column_names]:
        raise InputError(f"{table.file}: lacks the column {missing[0]}")
    _check_numbers(table, found)
    keys = zip(*(found[name].to_pylist() if name in names else [None] * found.num_rows
                 for name in NAMES), strict=True)  # fmt: skip
    counts = found["tokens"].to_pylist() if "tokens" in found.column_names else None
    scale = 1 / math.log(2) if table.unit == "nats" else 1.0
    losses: dict[Key, list[float]] = {}
    tokens: dict[Key, int] = {}
    for row, (key, loss) in enumerate(zip(keys, found["loss"].to_pylist(), strict=True)):
        n = counts[row] if counts is not None else 1 if table.loss == "token" else None
        losses.setdefault(key, []).append(loss * scale * (n if table.loss == "mean" else 1))
        if n is not None:
            tokens[key] = tokens.get(key, 0) + n
    if table.loss != "token" and (twice := [key for key, one in losses.items() if len(one) > 1]):
        raise InputError(f"{table.file}: document {one_line(twice[0][2])} occurs twice")
    return {key: DocumentLoss(math.fsum(one), tokens.get(key)) for key, one in losses.items()}


def _table(table: LossTable) -> Any:
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    path = Path(table.file)
    if path.suffix not in FORMATS:
        raise InputError(f"{table.file}: is not one of {', '.join(FORMATS)}")
    data = io.BytesIO(read_bounded(path, MOST_BYTES))
    types = {"loss": pa.float64(), "tokens": pa.int64(), **dict.fromkeys(NAMES, pa.string())}
    try:
        if path.suffix == ".parquet":
            found = pa.parquet.read_table(data)
            kept = [name for name in found.column_names if name in types]
            return found.select(kept).cast(pa.schema([(name, types[name]) for name in kept]))
        return pa.csv.read_csv(
            data,
            parse_options=pa.csv.ParseOptions(delimiter="\t" if path.suffix == ".tsv" else ","),
            convert_options=pa.csv.ConvertOptions(column_types=types),
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as exc:
        raise InputError(f"{table.file}: cannot be read: {exc}") from exc


def _check_numbers(table: LossTable, found: Any) -> None:
    """Raise `InputError` with the row of the first loss or number of tokens that cannot be one."""
    for row, loss in enumerate(found["loss"].to_pylist(), start=1):
        if loss is None or not math.isfinite(loss) or loss < 0:
            raise InputError(
                f"{table.file}: row {row}: the loss ({loss}) must be a number from 0 up"
            )
    if "tokens" in found.column_names:
        for row, n in enumerate(found["tokens"].to_pylist(), start=1):
            if n is None or n < 1:
                raise InputError(f"{table.file}: row {row}: the number of tokens is {n}")


def check_coverage(losses: Sequence[DocumentLoss], tokens: Sequence[int]) -> str | None:
    """Return what a reader should know of the tokens that losses are for; None if all is well.

    Raises `Refusal` where bits per byte would mislead: tokens without a loss have bytes all the
    same, and more than one token beyond the text's own (an end) is another tokenizer.
    """
    pairs = [(one.tokens, n) for one, n in zip(losses, tokens, strict=True) if one.tokens]
    if short := [(got, n) for got, n in pairs if got < n]:
        got, n = short[0]
        raise Refusal(
            f"{plural(len(short), 'document')} with fewer losses than tokens, such as {got} of {n}: "
            "a first token has none unless a start token precedes it"
        )
    if other := [(got, n) for got, n in pairs if got > n + 1]:
        got, n = other[0]
        raise Refusal(
            f"{plural(len(other), 'document')} with more losses than tokens, such as {got} for {n}: "
            "another tokenizer, or a template"
        )
    if ended := sum(got == n + 1 for got, n in pairs):
        return f"{plural(ended, 'document')} with the loss of an end token"
    return None if pairs else "the table does not say how many tokens its losses are for"


@dataclass(frozen=True, kw_only=True)
class PowerLaw:
    """Bits per byte by training FLOPs: ``a × (flops ÷ unit) ** −b + c``, between its points."""

    a: float
    b: float
    c: float
    unit: float
    low: float
    high: float

    def at(self, flops: float) -> float:
        """Return bits per byte at a budget; raise `Refusal` outside the points."""
        if flops <= 0:
            raise Refusal("serving alone takes more than the budget")
        if not self.low <= flops <= self.high:
            raise Refusal(f"{flops:.3g} FLOPs lie outside the model's points, which is a guess")
        return float(self.a * (flops / self.unit) ** -self.b + self.c)


def fit_power_law(points: Sequence[tuple[float, float]]) -> PowerLaw:
    """Fit a power law to at least three points of FLOPs and bits per byte by least squares.

    Raises `Refusal` for fewer, and where bits per byte do not fall with compute.

    >>> law = fit_power_law([(1, 2.0), (4, 1.5), (16, 1.25)])
    >>> round(law.b, 6), round(law.c, 6), round(law.at(8), 6)
    (0.5, 1.0, 1.353553)
    """
    from scipy.optimize import minimize_scalar

    flops, bits = (np.array(side, float) for side in zip(*sorted(points), strict=True))
    if len(np.unique(flops)) < 3:
        raise Refusal(f"a curve requires 3 budgets; there are {len(np.unique(flops))}")
    unit = float(flops[len(flops) // 2])

    def solved(b: float) -> tuple[np.ndarray[Any, Any], float]:
        columns = np.stack([(flops / unit) ** -b, np.ones_like(flops)], axis=1)
        found, *_ = np.linalg.lstsq(columns, bits, rcond=None)
        return found, float(((columns @ found - bits) ** 2).sum())

    step = 0.005
    start = min(np.arange(step, 2, step), key=lambda b: solved(float(b))[1])
    best = minimize_scalar(
        lambda b: solved(b)[1],
        bounds=(max(start - step, 1e-6), start + step),
        method="bounded",
        options={"xatol": 1e-12},
    )
    a, c = solved(float(best.x))[0]
    if a <= 0:
        raise Refusal("bits per byte do not fall with compute")
    return PowerLaw(
        a=float(a), b=float(best.x), c=float(c), unit=unit, low=flops[0], high=flops[-1]
    )


def budget_left(reference_flops: float, relative_cost: float, serving_ratio: float) -> float:
    """Return the FLOPs that are left for training a model that costs so much more to serve.

    >>> budget_left(1e18, 0.8, 1.0), budget_left(1e18, 3.0, 1.0)
    (1.2e+18, -1e+18)
    """
    return reference_flops * (1 + serving_ratio * (1 - relative_cost))


def middle_budget(ladder: Sequence[LadderPoint]) -> float:
    """Return the training FLOPs of the middle point."""
    return sorted(point.training_flops for point in ladder)[len(ladder) // 2]


def points_of(ladder: Sequence[LadderPoint]) -> list[tuple[float, float]]:
    """Return a ladder as pairs."""
    return [(point.training_flops, point.bits_per_byte) for point in ladder]
