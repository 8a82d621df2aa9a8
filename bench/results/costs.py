"""What tokens cost: prices, context and parameters, from numbers that the user gives.

tokbench knows no price. A cost model is a YAML file of the user's, applied to counts when a
report is written, so that a change of price needs no new run:

    currency: USD
    models:
      large:
        tokenizer: cl100k_base        # its key in the run's config
        input_per_million: 2.5        # price of a million tokens sent
        output_per_million: 10        # price of a million tokens written
        context: 128000               # tokens
        width: 4096                   # of the embedding
        tied_embeddings: false        # whether the output layer shares the embedding

What a model computes for a text is in `compute`, what its losses say in `losses`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from tokbench.bench.model import MetricSpec
from tokbench.bench.plugins import Plugin
from tokbench.bench.results.compute import COMPUTE_METRICS, Architecture
from tokbench.bench.results.losses import LOSS_METRICS, FlopEquivalent, LadderPoint, LossTable

PRICE = MetricSpec(
    name="price",
    unit="currency",
    direction="lower",
    definition="Price of a text's tokens at a price per million tokens that the user gave.",
    formula="tokens × price per million ÷ 10⁶",
    source="The user's cost model.",
    not_meant="A bill: templates, special tokens, cached and batched requests are priced apart.",
    trap="Building prices into a tool, where they go stale unseen.",
)
CONTEXT_USED = MetricSpec(
    name="context_used",
    unit="share",
    direction="lower",
    definition="Share of a context length that a text's tokens take up.",
    formula="tokens ÷ context",
    source="The user's cost model.",
    not_meant="How well a model uses what it is given.",
    trap="Using one vocabulary's count for the context of another's model.",
)
ATTENTION_RATIO = MetricSpec(
    name="attention_ratio",
    unit="ratio",
    direction="lower",
    definition="Relative cost of full attention over a text against the same text in the pivot: "
    "the square of the premium.",
    formula="(Σ tokens(language) ÷ Σ tokens(pivot))²",
    source="Attention compares every token with every other: Vaswani et al. 2017.",
    not_meant="The cost of a forward pass: most of it grows with the number of tokens only, and "
    "many models attend to a window.",
    trap="Applying it to short prompts, where attention is a small part.",
)
EMBEDDING_AND_OUTPUT_PARAMETERS = MetricSpec(
    name="embedding_and_output_parameters",
    unit="parameters",
    direction="lower",
    definition="Parameters of the embedding and of the output layer at a width that the user gave.",
    formula="ids × width, twice unless the two are tied",
    source="tokbench; ids is the highest id + 1.",
    not_meant="A model's size on disk: frameworks pad the ids to a multiple.",
    trap="Counting entries instead of ids, which leaves holes and special tokens out.",
)
COST_METRICS = (
    PRICE,
    CONTEXT_USED,
    ATTENTION_RATIO,
    EMBEDDING_AND_OUTPUT_PARAMETERS,
    *COMPUTE_METRICS,
    *LOSS_METRICS,
)

NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[int, Field(gt=0)]


class ModelCost(Plugin):
    """Prices and sizes of one language model; what is omitted is not computed."""

    tokenizer: str = Field(description="Key of the model's tokenizer in the run.")
    input_per_million: NotNegative | None = Field(
        None, description="Price of a million input tokens."
    )
    output_per_million: NotNegative | None = Field(
        None, description="Price of a million output tokens."
    )
    context: Positive | None = Field(None, description="Context length in tokens.")
    width: Positive | None = Field(None, description="Width of the embedding.")
    tied_embeddings: bool = Field(
        False, description="Whether the output layer shares the embedding's parameters."
    )
    architecture: Architecture | None = Field(None, description="Sizes of the model's layers.")
    losses: LossTable | None = Field(None, description="Losses of the model on the run's text.")
    ladder: tuple[LadderPoint, ...] = Field(
        (), description="What the model reached with several training budgets."
    )

    @model_validator(mode="after")
    def _has_a_width(self) -> Self:
        shape = self.architecture
        if shape is not None and self.width is None:
            raise ValueError("architecture: requires the model's width")
        if shape is not None and shape.head_width is None and (self.width or 0) % shape.heads:
            raise ValueError(f"width: {self.width} is not a multiple of heads; give head_width")
        return self


class CostModel(Plugin):
    """Prices and sizes of models, written by the user."""

    currency: str = Field(description="Currency of the prices.")
    models: Mapping[str, ModelCost] = Field(min_length=1, description="Models by name.")
    flop_equivalent: FlopEquivalent | None = Field(
        None, description="How models with a ladder are compared; not used on a single text."
    )


def price(tokens: int, per_million: float | None) -> float | None:
    """Return the price of a number of tokens; None if no price was given.

    >>> price(2_000_000, 2.5), price(10, None)
    (5.0, None)
    """
    return None if per_million is None else tokens * per_million / 1_000_000


def context_used(tokens: float, context: int | None) -> float | None:
    """Return the share of a context length that tokens take up; None if no length was given.

    >>> context_used(2048, 8192)
    0.25
    """
    return None if context is None else tokens / context


def attention_ratio(premium: float | None) -> float | None:
    """Return the relative cost of full attention, None where there is no premium.

    >>> attention_ratio(1.5)
    2.25
    """
    return None if premium is None else premium**2


def embedding_parameters(n_ids: int, width: int | None, *, tied: bool) -> int | None:
    """Return the parameters of embedding and output layer, None where no width was given.

    >>> embedding_parameters(100_277, 4096, tied=False)
    821469184
    """
    return None if width is None else n_ids * width * (1 if tied else 2)
