"""Bits per byte of the models whose losses were given, and models at equal compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tokbench.bench.count.resampling import Resampling
from tokbench.bench.errors import InputError, Refusal, UsageError
from tokbench.bench.markup import escape, markdown_table, number, one_line, signed_percent
from tokbench.bench.results.costs import ModelCost
from tokbench.bench.results.losses import (
    DocumentLoss,
    FlopEquivalent,
    Key,
    budget_left,
    check_coverage,
    fit_power_law,
    middle_budget,
    points_of,
    read_losses,
)
from tokbench.reports.cost.compute import flops
from tokbench.reports.cost.texts import Line, PricedText
from tokbench.reports.view import View

PRESUPPOSED = (
    "This presupposes that all points were evaluated on the same bytes, that the models differ in "
    "nothing but the tokenizer, that bits per byte follow a power law between the given points, "
    "that what is served looks like this run's text, and that the ratio of serving to training is "
    "right. Memory, kernels and the quality of answers are not in it."
)


def loss_lines(view: View, name: str, model: ModelCost, texts: Sequence[PricedText]) -> list[Line]:
    """Return bits per byte of the texts that a model's losses are for.

    Raises `InputError` for a document that the run does not have.
    """
    if model.losses is None:
        return []
    losses = read_losses(model.losses)
    known = _by_document(texts, losses, model.losses.file)
    lines = []
    for text in texts:
        found = known.get((text.corpus, text.language))
        if found:
            lines.append(_loss_line(view, name, text, found))
    return lines


def _by_document(
    texts: Sequence[PricedText], losses: Mapping[Key, DocumentLoss], file: str
) -> dict[tuple[str, str], dict[str, DocumentLoss]]:
    """Return the losses by corpus and language; names the table omits must be the only ones."""
    places = {(text.corpus, text.language): set(text.document_ids) for text in texts}
    found: dict[tuple[str, str], dict[str, DocumentLoss]] = {}
    for (corpus, language, document), loss in losses.items():
        fitting = [
            place for place in places if corpus in (None, place[0]) and language in (None, place[1])
        ]
        if len(fitting) > 1:
            missing = (
                "corpus" if corpus is None and len({c for c, _ in fitting}) > 1 else "language"
            )
            raise InputError(f"{file}: requires a column {missing}: the run has several")
        if not fitting or document not in places[fitting[0]]:
            where = " ".join(part for part in (corpus, language) if part)
            raise InputError(
                f"{file}: the run has no document {one_line(f'{where} {document}'.strip())}"
            )
        found.setdefault(fitting[0], {})[document] = loss
    return found


def _loss_line(view: View, name: str, text: PricedText, found: Mapping[str, DocumentLoss]) -> Line:
    kept = [i for i, document in enumerate(text.document_ids) if document in found]
    losses = [found[text.document_ids[i]] for i in kept]
    line: Line = {
        "model": name,
        "tokenizer": text.model.tokenizer,
        "corpus": text.corpus,
        "language": text.language,
        "n": len(kept),
        "documents": len(text.document_ids),
        **dict.fromkeys(("bits_per_byte", "ci_low", "ci_high", "detail")),
    }
    try:
        if not text.survives:
            raise Refusal(f"{text.lost:.1%} of the text's bytes are lost")
        line["detail"] = check_coverage(losses, [int(text.tokens[i]) for i in kept])
    except Refusal as exc:
        return line | {"detail": f"refused: {exc}"}
    value, interval = _resampling(view).paired_ratio(
        text.corpus,
        np.array([one.bits for one in losses]),
        text.bytes[kept].astype(np.float64),
    )
    return line | {"bits_per_byte": value, "ci_low": interval[0], "ci_high": interval[1]}


def _resampling(view: View) -> Resampling:
    drawn = view.run["intervals"]
    return Resampling(cells=(), corpora={}, seed=drawn["seed"], resamples=drawn["resamples"])


def equal_compute(
    models: Mapping[str, ModelCost],
    wanted: FlopEquivalent,
    lines: Sequence[Line],
    texts: Sequence[PricedText],
) -> Iterator[Line]:
    """Yield, for every corpus, what each model with a ladder gives at one budget for all it does.

    Raises `UsageError` where the reference has no ladder or no architecture.
    """
    reference = models.get(wanted.reference)
    if reference is None or not reference.ladder or reference.architecture is None:
        raise UsageError(
            f"flop_equivalent.reference: {wanted.reference} must be a model with a ladder and an "
            "architecture"
        )
    budget = wanted.training_flops or middle_budget(reference.ladder)
    for corpus in dict.fromkeys(text.corpus for text in texts):
        costs = _flops_per_byte(corpus, models, lines, texts)
        for name, model in models.items():
            if model.ladder:
                yield _equal_line(name, model, corpus, costs, budget, wanted)


def _flops_per_byte(
    corpus: str, models: Mapping[str, ModelCost], lines: Sequence[Line], texts: Sequence[PricedText]
) -> dict[str, float]:
    """Return FLOPs per byte over the languages for which every model with a ladder has them."""
    known = {
        (text.name, text.language): (line["flops_per_byte"], int(text.bytes.sum()))
        for text, line in zip(texts, lines, strict=True)
        if text.corpus == corpus and line.get("flops_per_byte") is not None
    }
    names = [name for name, model in models.items() if model.ladder and model.architecture]
    languages = {language for _, language in known}
    shared = [one for one in languages if all((name, one) in known for name in names)]
    found = {}
    for name in names:
        pairs = [known[name, language] for language in sorted(shared)]
        if n := sum(size for _, size in pairs):
            found[name] = sum(each * size for each, size in pairs) / n
    return found


def _equal_line(
    name: str,
    model: ModelCost,
    corpus: str,
    costs: Mapping[str, float],
    budget: float,
    wanted: FlopEquivalent,
) -> Line:
    line: Line = {
        "model": name,
        "corpus": corpus,
        **dict.fromkeys(
            ("relative_cost", "training_flops", "flop_equivalent_bits_per_byte", "detail")
        ),
    }
    if name not in costs or wanted.reference not in costs:
        return line | {"detail": "refused: no FLOPs per byte: an architecture, or text, is missing"}
    relative = costs[name] / costs[wanted.reference]
    left = budget_left(budget, relative, wanted.serving_ratio)
    line |= {"relative_cost": relative, "training_flops": left}
    try:
        return line | {
            "flop_equivalent_bits_per_byte": fit_power_law(points_of(model.ladder)).at(left)
        }
    except Refusal as exc:
        return line | {"detail": f"refused: {exc}"}


def losses_table(lines: Sequence[Line]) -> str:
    """Return the table of bits per byte."""
    header = ["model", "corpus", "language", "bits per byte", "95 %", "documents", "note"]
    rows = [
        [
            escape(x["model"]),
            escape(x["corpus"]),
            escape(x["language"]),
            number(x["bits_per_byte"], 4),
            "–" if x["ci_low"] is None else f"{x['ci_low']:.4f}–{x['ci_high']:.4f}",
            f"{x['n']:,} of {x['documents']:,}",
            escape(x["detail"] or ""),
        ]
        for x in lines
    ]
    return markdown_table(header, rows, left=3)


def equal_table(lines: Sequence[Line], reference: str) -> str:
    """Return the table of models at equal compute."""
    base = {
        x["corpus"]: x["flop_equivalent_bits_per_byte"] for x in lines if x["model"] == reference
    }
    header = ["model", "corpus", "cost to serve", "training FLOPs left", "bits per byte",
              f"against {escape(reference)}", "note"]  # fmt: skip
    rows = [
        [
            escape(x["model"]),
            escape(x["corpus"]),
            number(x["relative_cost"], 3),
            flops(x["training_flops"]),
            number(x["flop_equivalent_bits_per_byte"], 4),
            _against(x["flop_equivalent_bits_per_byte"], base[x["corpus"]]),
            escape(x["detail"] or ""),
        ]
        for x in lines
    ]
    return markdown_table(header, rows, left=2)


def _against(value: float | None, base: float | None) -> str:
    return "–" if value is None or base is None else signed_percent(value / base - 1)
