"""FLOPs, cache and shares of a model on the text of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tokbench.bench.markup import count, escape, markdown_table, number, percent
from tokbench.bench.results.compute import Decoder
from tokbench.reports.cost.texts import Line, PricedText

HOW = (
    "FLOPs are of a forward pass, each document on its own and whole, the output layer at every "
    "token; norms and softmax are left out. Training takes about three times as many."
)


def compute_line(text: PricedText, decoder: Decoder) -> Line:
    """Return what a model computes and keeps for one text; nothing where too much of it is lost."""
    empty = dict.fromkeys(
        ("flops_per_byte", "flops_per_document", "attention_share", "output_layer_share",
         "kv_cache_per_byte")
    )  # fmt: skip
    n_bytes = int(text.bytes.sum())
    if not text.survives or not n_bytes:
        return empty
    flops = decoder.flops(text.tokens)
    total, cache = float(flops.total.sum()), decoder.cache_per_token
    return {
        "flops_per_byte": total / n_bytes,
        "flops_per_document": total / len(text.tokens),
        "attention_share": float(flops.attention.sum()) / total,
        "output_layer_share": float(flops.output.sum()) / total,
        "kv_cache_per_byte": None if cache is None else cache * int(text.tokens.sum()) / n_bytes,
    }


def decoder_line(decoder: Decoder) -> Line:
    """Return what does not depend on the text."""
    return {
        "vocabulary": decoder.vocabulary,
        "layer_parameters": decoder.layer_parameters,
        "embedding_share": decoder.embedding_share,
        "kv_cache_per_token": decoder.cache_per_token,
    }


def decoders_table(lines: Sequence[Line]) -> str:
    """Return the table of the models whose architecture was given."""
    header = ["model", "vocabulary", "layer parameters", "embedding share", "cache per token"]
    rows = [
        [
            escape(x["model"]),
            count(x["vocabulary"]),
            count(x["layer_parameters"]),
            percent(x["embedding_share"]),
            "–" if x["kv_cache_per_token"] is None else f"{x['kv_cache_per_token']:,.0f} B",
        ]
        for x in lines
    ]
    return markdown_table(header, rows)


def compute_table(lines: Sequence[Line]) -> str:
    """Return the table of one model on one corpus."""
    header = ["language", "FLOPs / byte", "FLOPs / document", "attention", "output layer",
              "cache, bytes / byte", "note"]  # fmt: skip
    rows = [
        [
            escape(x["language"]),
            flops(x["flops_per_byte"]),
            flops(x["flops_per_document"]),
            percent(x["attention_share"]),
            percent(x["output_layer_share"]),
            number(x["kv_cache_per_byte"], 1),
            escape(x["detail"] or ""),
        ]
        for x in lines
    ]
    return markdown_table(header, rows)


def flops(value: float | None) -> str:
    """Return a number of FLOPs with its power of ten.

    >>> flops(1.2345e9), flops(None)
    ('1.23 × 10⁹', '–')
    """
    if value is None:
        return "–"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{digits} × 10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
