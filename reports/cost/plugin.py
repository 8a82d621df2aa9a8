"""What a run's text would cost under a cost model of the user's: `cost.md` and `cost.json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import escape, strict_json
from tokbench.bench.results.costs import ModelCost
from tokbench.bench.results.losses import FlopEquivalent
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.cost.compute import (
    HOW,
    compute_line,
    compute_table,
    decoder_line,
    decoders_table,
)
from tokbench.reports.cost.losses import (
    PRESUPPOSED,
    equal_compute,
    equal_table,
    loss_lines,
    losses_table,
)
from tokbench.reports.cost.prices import price_line, prices_table, size_line, sizes_table
from tokbench.reports.cost.texts import Line, PricedText, decoder_of, texts_of
from tokbench.reports.view import View, view_of


class Cost(ReportPlugin):
    """Prices, context, compute and losses, by a cost model that the user writes."""

    currency: str = Field(description="Currency of the prices.")
    models: Mapping[str, ModelCost] = Field(
        min_length=1, description="Models by name, with their prices and sizes."
    )
    flop_equivalent: FlopEquivalent | None = Field(
        None, description="How models with a ladder are compared at equal compute."
    )

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `cost.md` and `cost.json`; `UsageError` for a model of another tokenizer."""
        view = view_of(results)
        self._check(view)
        texts = {name: list(texts_of(view, name, model)) for name, model in self.models.items()}
        every = [text for found in texts.values() for text in found]
        lines = [self._line(view, text) for text in every]
        sizes = [self._size(view, name) for name in self.models]
        losses = [
            line
            for name, model in self.models.items()
            for line in loss_lines(view, name, model, texts[name])
        ]
        equal = (
            []
            if self.flop_equivalent is None
            else list(equal_compute(self.models, self.flop_equivalent, lines, every))
        )
        data = {
            "currency": self.currency,
            "models": sizes,
            "texts": lines,
            "losses": losses,
            "equal_compute": equal,
        }
        return {
            "cost.md": "\n\n".join(self._blocks(view, sizes, lines, losses, equal)) + "\n",
            "cost.json": strict_json(data) + "\n",
        }

    def _check(self, view: View) -> None:
        for name, model in self.models.items():
            if model.tokenizer not in view.tokenizers:
                raise UsageError(
                    f"cost model {name}: {view.results.name} has no tokenizer {model.tokenizer!r}; "
                    f"there are: {', '.join(view.tokenizers)}"
                )

    def _line(self, view: View, text: PricedText) -> Line:
        decoder = decoder_of(view, text.model)
        line = price_line(view, text)
        return line if decoder is None else line | compute_line(text, decoder)

    def _size(self, view: View, name: str) -> Line:
        decoder = decoder_of(view, self.models[name])
        line = size_line(view, name, self.models[name])
        return line if decoder is None else line | decoder_line(decoder)

    def _blocks(
        self,
        view: View,
        sizes: Sequence[Line],
        lines: Sequence[Line],
        losses: Sequence[Line],
        equal: Sequence[Line],
    ) -> Iterator[str]:
        yield f"# Cost: {escape(view.results.name)}"
        yield (
            f"Prices are the user's, in {escape(self.currency or '')}. Counts are the text's own "
            "tokens: templates and special tokens come on top."
        )
        yield sizes_table(sizes)
        if shaped := [x for x in sizes if "layer_parameters" in x]:
            yield decoders_table(shaped)
            yield HOW
        for corpus in view.corpora:
            for name in self.models:
                mine = [x for x in lines if (x["model"], x["corpus"]) == (name, corpus)]
                if mine:
                    yield f"## {escape(name)} on {escape(corpus)}"
                    yield prices_table(mine)
                if computed := [x for x in mine if "flops_per_byte" in x]:
                    yield compute_table(computed)
        if losses:
            yield "## Bits per byte"
            yield losses_table(losses)
            yield "Compare models within a language: scripts differ in bytes for the same content."
        if equal and self.flop_equivalent is not None:
            yield "## At equal compute"
            yield equal_table(equal, self.flop_equivalent.reference)
            yield PRESUPPOSED
