"""The report's section on variants: how ids follow typos, look-alikes, normal forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean

from tokbench.bench.markup import count, escape, number, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.tables import by_language, crossed, folded, value_of
from tokbench.reports.tokens import code, shown_text
from tokbench.reports.view import Row, View

Writer = Callable[[float | None], str]
_METRICS = (
    ("variant_consistency", "Consistency of ids: 1 − edit distance ÷ the longer", percent),
    ("variant_token_growth", "Tokens of variants ÷ tokens of the same texts", number),
    (
        "tokens_touched_beyond_edit",
        "Tokens touched beyond the edit: those that overlap none and are gone",
        percent,
    ),
)
_CONSISTENCY = _METRICS[0][0]
_NOTE = "robustness:"


def robustness_section(view: View) -> Iterator[str]:
    """Yield the means by class, all languages by class, and examples; nothing where not measured."""
    for corpus in view.ordered_corpora:
        names = [name for name in order(view) if any(_rows(view, name, corpus))]
        if names:
            yield from _of_corpus(view, corpus, names)


def _of_corpus(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    rows = [row for name in names for row in _rows(view, name, corpus)]
    classes = list(dict.fromkeys(row["params"]["class"] for row in rows))
    yield f"## How ids follow variants of {escape(corpus)}"
    yield (
        f"Variants of {count(rows[0]['params']['documents_asked'])} documents of each language, by "
        "class, from the run's seed. A class is asked where the script has it, and a language "
        "without a place for it has no value. Consistency says how much of the ids stays, not "
        "whether a model minds: it is 1 where the tokenizer drops the difference (lowercasing, "
        "normal forms) or makes both the same unknown token, and it is higher for bytes, of which "
        "one edit is a smaller part. Means over languages:"
    )
    for metric, title, write in _METRICS:
        yield f"{title}."
        yield crossed("class", names, classes, partial(_mean, view, corpus, metric, write))
    for kind in classes:
        body = by_language(view, corpus, names, value_of(_CONSISTENCY, percent, **{"class": kind}))
        yield folded(f"Consistency by language: {escape(kind)}", body)
    yield from _examples(view, corpus)


def _rows(view: View, name: str, corpus: str) -> Iterator[Row]:
    for language in view.languages(corpus):
        yield from view.rows_at(_CONSISTENCY, name, corpus, language)


def _mean(view: View, corpus: str, metric: str, write: Writer, name: str, kind: str) -> str:
    """Write the mean over the languages that have a value."""
    values = [
        row["value"]
        for language in view.languages(corpus)
        for row in view.rows_at(metric, name, corpus, language)
        if row["params"]["class"] == kind and row["value"] is not None
    ]
    return write(fmean(values) if values else None)


def _examples(view: View, corpus: str) -> Iterator[str]:
    lines = [
        [
            escape(note["tokenizer"]),
            escape(note["data"]["class"].removeprefix(_NOTE)),
            escape(note["language"]),
            _pieces(note["data"]["before"]),
            _pieces(note["data"]["after"]),
        ]
        for note in view.findings
        if note["corpus"] == corpus and str(note["data"].get("class", "")).startswith(_NOTE)
    ]
    if lines:
        header = ["tokenizer", "class", "language", "tokens", "tokens of the variant"]
        title = "The shortest example of tokens touched beyond an edit, by class"
        yield folded(title, table(header, lines, left=len(header)))


def _pieces(pieces: Sequence[str]) -> str:
    return " ".join(code(shown_text(piece)) for piece in pieces)
