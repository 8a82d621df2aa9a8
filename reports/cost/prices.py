"""What a run's text would cost under a cost model of the user's: money, context, parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, escape, markdown_table, number, percent, strict_json
from tokbench.bench.results import costs
from tokbench.bench.results.costs import ModelCost
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.marks import UNRANKED
from tokbench.reports.view import View, view_of

Line = dict[str, Any]


class Cost(ReportPlugin):
    """Prices, context, attention and embedding sizes, by a cost model that the user writes."""

    currency: str = Field(description="Currency of the prices.")
    models: Mapping[str, ModelCost] = Field(
        min_length=1, description="Models by name, with their prices and sizes."
    )

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `cost.md` and `cost.json`; `UsageError` for a model of another tokenizer."""
        view = view_of(results)
        for name, model in self.models.items():
            if model.tokenizer not in view.tokenizers:
                raise UsageError(
                    f"cost model {name}: {results.name} has no tokenizer {model.tokenizer!r}; "
                    f"there are: {', '.join(view.tokenizers)}"
                )
        lines = [line for name in self.models for line in self._lines(view, name)]
        sizes = [_sizes(view, name, model) for name, model in self.models.items()]
        data = {"currency": self.currency, "models": sizes, "texts": lines}
        return {
            "cost.md": self._markdown(view, sizes, lines),
            "cost.json": strict_json(data) + "\n",
        }

    def _lines(self, view: View, name: str) -> Iterator[Line]:
        model = self.models[name]
        for corpus in view.corpora:
            counts = _counts(view, model.tokenizer, corpus)
            for language in view.languages(corpus):
                if language in counts:
                    yield _line(view, name, model, corpus, language, counts[language])

    def _markdown(self, view: View, sizes: list[Line], lines: list[Line]) -> str:
        parts = [
            f"# Cost: {escape(view.results.name)}",
            f"Prices are the user's, in {escape(self.currency or '')}. Counts are the text's own "
            "tokens: templates and special tokens come on top.",
            _sizes_table(sizes),
        ]
        for corpus in view.corpora:
            for name in self.models:
                mine = [x for x in lines if (x["model"], x["corpus"]) == (name, corpus)]
                if mine:
                    parts += [f"## {escape(name)} on {escape(corpus)}", _lines_table(mine)]
        return "\n\n".join(parts) + "\n"


class _LanguageCounts(NamedTuple):
    """The stored counts of one language: tokens of each document, characters of all."""

    tokens: np.ndarray[Any, Any]
    characters: int
    partial: bool


def _counts(view: View, tokenizer: str, corpus: str) -> dict[str, _LanguageCounts]:
    cells = {
        cell["language"]: cell
        for cell in view.run["cells"]
        if (cell["tokenizer"], cell["corpus"]) == (tokenizer, corpus) and cell["n"]
    }
    if not cells:
        return {}
    table = view.results.documents(tokenizer, corpus)
    languages = np.array(table["language"].to_pylist())
    tokens, characters = table["tokens"].to_numpy(), table["characters"].to_numpy()
    return {
        language: _LanguageCounts(
            tokens=tokens[languages == language],
            characters=int(characters[languages == language].sum()),
            partial=cell["status"] == "partial",
        )
        for language, cell in cells.items()
    }


def _line(
    view: View,
    name: str,
    model: ModelCost,
    corpus: str,
    language: str,
    counts: _LanguageCounts,
) -> Line:
    total, tokens = int(counts.tokens.sum()), counts.tokens
    lost = view.value("lost_byte_share", model.tokenizer, corpus, language)
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    row = view.row(metric, model.tokenizer, corpus, language)
    premium = row["value"] if row else None
    line: Line = {
        "model": name,
        "tokenizer": model.tokenizer,
        "corpus": corpus,
        "language": language,
        "tokens": total,
        "premium": premium,
        "ranked": row is None or row["ranked"] or premium is None,
        "attention_ratio": costs.attention_ratio(premium),
        "longest_document_context_used": costs.context_used(int(tokens.max()), model.context),
        "documents_over_context": (
            None if model.context is None else int((tokens > model.context).sum())
        ),
        "detail": "some documents failed: counts are of the rest" if counts.partial else None,
    }
    limit = view.run["policy"]["lost_limit"]
    survives = lost is None or lost <= limit
    if not survives:
        line["detail"] = f"no price: {lost:.1%} of the text's bytes are lost (limit {limit:.0%})"
    for kind, rate in (("input", model.input_per_million), ("output", model.output_per_million)):
        paid = costs.price(total, rate) if survives else None
        line[f"{kind}_price"] = paid
        line[f"{kind}_price_per_million_characters"] = (
            None if paid is None or not counts.characters else paid / counts.characters * 1_000_000
        )
    return line


def _sizes(view: View, name: str, model: ModelCost) -> Line:
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


def _sizes_table(sizes: list[Line]) -> str:
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


def _lines_table(lines: list[Line]) -> str:
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
