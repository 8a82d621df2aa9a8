"""What text costs a transformer that the user describes: FLOPs, cache, shares of parameters.

A FLOP is a multiplication or an addition, so a matrix of n values costs 2n a token. Counted are the
matrices of a decoder and attention; norms, activations, position and softmax are left out, and the
embedding is a lookup. Every document is read on its own, whole, from the first token: token i
attends to i tokens, or to the last `window` of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from tokbench.bench.model import MetricSpec
from tokbench.bench.plugins import Plugin

PALM = "Chowdhery et al. 2022 (2204.02311), appendix B, there with all tokens attending to a whole context."
FLOPS_PER_BYTE = MetricSpec(
    name="flops_per_byte",
    unit="FLOPs per byte",
    direction="lower",
    definition="FLOPs of a forward pass over a text's documents, each on its own, per UTF-8 byte: "
    "the matrices of the layers, attention, and the output layer at every token.",
    formula="Σ (tokens × 2 × (layer parameters + width × vocabulary) + 4 × layers × heads × head "
    "width × Σ attended tokens) ÷ Σ bytes",
    source=PALM,
    not_meant="Time or energy: memory traffic, batches and kernels decide those. Training is about "
    "three times as much. A prompt that is only read needs the output layer once.",
    trap="Comparing models of other sizes by it and calling the difference the tokenizer's.",
)
FLOPS_PER_DOCUMENT = MetricSpec(
    name="flops_per_document",
    unit="FLOPs",
    direction="lower",
    definition="FLOPs of a forward pass over a document, mean over the documents of a language.",
    formula="Σ FLOPs ÷ documents",
    source=PALM,
    not_meant="The cost of a typical document: attention grows with the square of the length, so "
    "long documents weigh more.",
    trap="Comparing languages by it where their documents are not the same text.",
)
OUTPUT_LAYER_SHARE = MetricSpec(
    name="output_layer_share",
    unit="share",
    direction="lower",
    definition="Share of the FLOPs of a forward pass that the output layer takes.",
    formula="2 × width × vocabulary × tokens ÷ FLOPs",
    source=PALM,
    not_meant="A reason for a small vocabulary: fewer tokens save all other FLOPs.",
    trap="Reading it off a small model for a large one, where the share is a fraction of it.",
)
KV_CACHE_PER_BYTE = MetricSpec(
    name="kv_cache_per_byte",
    unit="bytes per byte",
    direction="lower",
    definition="Bytes of keys and values that a model keeps for a byte of text.",
    formula="2 × layers × KV heads × head width × bytes per value × tokens ÷ bytes of text",
    source="Shazeer 2019 (1911.02150) on keys and values of fewer heads; a window is left out, "
    "since what is kept beyond it depends on the server.",
    not_meant="The memory of a server: weights, batches and fragments come on top.",
    trap="Quoting it per token, where a tokenizer with long tokens looks no better.",
)
EMBEDDING_SHARE = MetricSpec(
    name="embedding_share",
    unit="share",
    direction="lower",
    definition="Share of a model's parameters that embedding and output layer have.",
    formula="embedding and output parameters ÷ (those + parameters of the layers)",
    source="Tao et al. 2024 (2407.13623) on vocabulary parameters; norms and biases left out.",
    not_meant="A share of the compute: the embedding is a lookup.",
    trap="Counting a tied output layer twice.",
)
COMPUTE_METRICS = (
    FLOPS_PER_BYTE,
    FLOPS_PER_DOCUMENT,
    OUTPUT_LAYER_SHARE,
    KV_CACHE_PER_BYTE,
    EMBEDDING_SHARE,
)

Positive = Annotated[int, Field(gt=0)]
Counts = npt.NDArray[np.int64]
Flops = npt.NDArray[np.float64]


class Architecture(Plugin):
    """Sizes of a decoder; the width is the model's `width`."""

    layers: Positive = Field(description="Number of layers.")
    heads: Positive = Field(description="Attention heads of a layer.")
    kv_heads: Positive | None = Field(None, description="Heads with keys and values of their own.")
    head_width: Positive | None = Field(None, description="Width of a head.")
    feed_forward: Positive = Field(
        description="Width of the feed-forward part; of experts, the sum of those a token uses."
    )
    gated: bool = Field(True, description="Whether it has three matrices (SwiGLU) and not two.")
    window: Positive | None = Field(None, description="Tokens that a token attends to at most.")
    vocabulary: Positive | None = Field(
        None, description="Rows of embedding and output layer, where they are padded."
    )
    bytes_per_value: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None, description="Bytes of a key's or value's number in the cache."
    )

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(f"heads: {self.heads} is not a multiple of kv_heads, {self.kv_heads}")
        return self


@dataclass(frozen=True, kw_only=True)
class DocumentFlops:
    """FLOPs of each document by part, shape (documents,)."""

    layers: Flops
    attention: Flops
    output: Flops

    @cached_property
    def total(self) -> Flops:
        """Return all of them."""
        return self.layers + self.attention + self.output


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """An architecture at a width, with a vocabulary of a number of rows.

    The layers of Llama 2 7B have 6.48 thousand million parameters:

    >>> llama2 = Decoder(
    ...     architecture=Architecture(layers=32, heads=32, feed_forward=11008),
    ...     width=4096,
    ...     vocabulary=32_000,
    ... )
    >>> llama2.layer_parameters
    6476005376
    """

    architecture: Architecture
    width: int
    vocabulary: int
    tied: bool = False

    @property
    def head_width(self) -> int:
        """Width of a head; by default the model's width by heads."""
        return self.architecture.head_width or self.width // self.architecture.heads

    @property
    def kv_width(self) -> int:
        """Width of the keys of a token in one layer, and of its values."""
        return (self.architecture.kv_heads or self.architecture.heads) * self.head_width

    @property
    def layer_parameters(self) -> int:
        """Parameters of all layers: queries, keys, values, output of attention, feed-forward."""
        shape = self.architecture
        attention = self.width * (2 * shape.heads * self.head_width + 2 * self.kv_width)
        feed_forward = self.width * shape.feed_forward * (3 if shape.gated else 2)
        return shape.layers * (attention + feed_forward)

    @property
    def vocabulary_parameters(self) -> int:
        """Parameters of embedding and output layer; once where they are tied."""
        return self.vocabulary * self.width * (1 if self.tied else 2)

    @property
    def embedding_share(self) -> float:
        """Share of the parameters in embedding and output layer."""
        return self.vocabulary_parameters / (self.vocabulary_parameters + self.layer_parameters)

    @property
    def cache_per_token(self) -> float | None:
        """Bytes of keys and values of a token; None where no size of a value was given."""
        size = self.architecture.bytes_per_value
        return None if size is None else 2 * self.architecture.layers * self.kv_width * size

    def flops(self, tokens: Counts) -> DocumentFlops:
        """Return the FLOPs of documents with these numbers of tokens."""
        shape = self.architecture
        each = 4.0 * shape.layers * shape.heads * self.head_width
        many: Flops = tokens.astype(np.float64)
        return DocumentFlops(
            layers=many * (2.0 * self.layer_parameters),
            attention=attended(tokens, shape.window) * each,
            output=many * (2.0 * self.width * self.vocabulary),
        )


def attended(tokens: Counts, window: int | None = None) -> Flops:
    """Return how many pairs of a token and one it attends to (itself too) documents have.

    >>> attended(np.array([1, 4])), attended(np.array([4]), window=2)
    (array([ 1., 10.]), array([7.]))
    """
    within: npt.NDArray[Any] = tokens if window is None else np.minimum(tokens, window)
    whole = within.astype(np.float64)
    beyond: Flops = (tokens - within) * whole
    return whole * (whole + 1) / 2 + beyond
