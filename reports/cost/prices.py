"""Prices, context and parameters: what the tokens of a text come to."""

from __future__ import annotations

from collections.abc import Sequence

from tokbench.bench.markup import count, escape, markdown_table, number, percent
from tokbench.bench.results import costs
from tokbench.bench.results.costs import ModelCost
from tokbench.reports.cost.texts import Line, PricedText
from tokbench.reports.marks import UNRANKED
from tokbench.reports.view import View


def price_line(view: View, text: PricedText) -> Line:
    """Return prices, premium and context of one text."""
    model, tokens = text.model, text.tokens
    total = int(tokens.sum())
    metric = "program_premium" if view.kind(text.corpus) == "code" else "premium"
    row = view.row(metric, model.tokenizer, text.corpus, text.language)
    premium = row["value"] if row else None
    line: Line = {
        "model": text.name,
        "tokenizer": model.tokenizer,
        "corpus": text.corpus,
        "language": text.language,
        "tokens": total,
        "premium": premium,
        "ranked": row is None or row["ranked"] or premium is None,
        "attention_ratio": costs.attention_ratio(premium),
        "longest_document_context_used": costs.context_used(int(tokens.max()), model.context),
        "documents_over_context": (
            None if model.context is None else int((tokens > model.context).sum())
        ),
        "detail": "some documents failed: counts are of the rest" if text.partial else None,
    }
    if not text.survives:
        line["detail"] = (
            f"no price: {text.lost:.1%} of the text's bytes are lost (limit {text.limit:.0%})"
        )
    for kind, rate in (("input", model.input_per_million), ("output", model.output_per_million)):
        paid = costs.price(total, rate) if text.survives else None
        line[f"{kind}_price"] = paid
        line[f"{kind}_price_per_million_characters"] = (
            None if paid is None or not text.characters else paid / text.characters * 1_000_000
        )
    return line


def size_line(view: View, name: str, model: ModelCost) -> Line:
    """Return what is known of a model before any text is read."""
    facts = view.run["tokenizers"][model.tokenizer]
    return {
        "model": name,
        "tokenizer": model.tokenizer,
        "ids": facts["n_ids"],
        "width": model.width,
        "embedding_and_output_parameters": costs.embedding_parameters(
            facts["n_ids"], model.width, tied=model.tied_embeddings
        ),
        "input_per_million": model.input_per_million,
        "output_per_million": model.output_per_million,
        "context": model.context,
    }


def sizes_table(sizes: Sequence[Line]) -> str:
    """Return the table of models."""
    header = ["model", "tokenizer", "input / 10⁶", "output / 10⁶", "context", "ids", "width",
              "embedding and output parameters"]  # fmt: skip
    rows = [
        [
            escape(x["model"]),
            escape(x["tokenizer"]),
            number(x["input_per_million"]),
            number(x["output_per_million"]),
            *(
                count(x[key])
                for key in ("context", "ids", "width", "embedding_and_output_parameters")
            ),
        ]
        for x in sizes
    ]
    return markdown_table(header, rows, left=2)


def prices_table(lines: Sequence[Line]) -> str:
    """Return the table of one model on one corpus."""
    header = ["language", "tokens", "price in", "price out", "in / 10⁶ characters", "premium",
              "attention", "longest of context", "note"]  # fmt: skip
    rows = [
        [
            escape(x["language"]) + ("" if x["ranked"] else f" {UNRANKED}"),
            count(x["tokens"]),
            number(x["input_price"], 4),
            number(x["output_price"], 4),
            number(x["input_price_per_million_characters"], 4),
            number(x["premium"]),
            number(x["attention_ratio"]),
            percent(x["longest_document_context_used"]),
            escape(x["detail"] or ""),
        ]
        for x in lines
    ]
    shown = markdown_table(header, rows)
    if all(x["ranked"] for x in lines):
        return shown
    return f"{shown}\n\n{UNRANKED} text is lost, or was trained on: not comparable with others."
