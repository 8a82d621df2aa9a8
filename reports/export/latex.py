r"""The tables of `report.md` as LaTeX, for `\input` in a paper that uses the package booktabs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.markup import count, latex, number
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.marks import mark_of, marks_of
from tokbench.reports.mix import mix_of, order
from tokbench.reports.view import View, is_first, median_premium, summarize, view_of

_SYMBOLS = str.maketrans(
    {
        "†": r"\textdagger{}",
        "‡": r"\textdaggerdbl{}",
        "×": r"\(\times\)",
        "÷": r"\(\div\)",
        "–": r"\textendash{}",
        "\u00a0": "~",
    }
)


class Latex(ReportPlugin):
    """`tables.tex`: by tokenizer, bytes per token and premiums of each corpus, with booktabs."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `tables.tex`."""
        view = view_of(results)
        blocks = [r"% \usepackage{booktabs} in the preamble"]
        for corpus in view.ordered_corpora:
            blocks += _tables(view, corpus)
        return {"tables.tex": "\n\n".join(blocks) + "\n"}


def _tables(view: View, corpus: str) -> Iterator[str]:
    lines = {line.tokenizer: line for line in summarize(view, corpus)}
    names = [name for name in order(view) if name in lines]
    if not names:
        return
    mix = mix_of(view, corpus)
    cost = f"tokens per {mix.unit}" if mix else "tokens"
    rows = []
    for name in names:
        line, standing = lines[name], mix.of(name) if mix else None
        shown = number(standing.cost) if standing else count(line.tokens)
        ratio = number(standing.ratio if standing else None, 3)
        cells = [count(line.n_entries), shown, ratio, median_premium(line)]
        rows.append([name + marks_of(view, name, corpus), *cells])
    header = ["tokenizer", "vocabulary", cost, "× best", "median premium"]
    yield _table(f"Tokenizers on {corpus}", header, rows)
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    for key, title in (("bytes_per_token", "Bytes per token"), (metric, "Premium")):
        if any(list(view.values(key, name, corpus)) for name in names):
            body = [
                [language, *(_value(view, key, name, corpus, language) for name in names)]
                for language in view.languages(corpus)
            ]
            yield _table(f"{title} on {corpus}", ["language", *names], body)


def _value(view: View, metric: str, name: str, corpus: str, language: str) -> str:
    """Write a value; the best of a row of bytes per token between asterisks."""
    row = view.row(metric, name, corpus, language)
    if row is not None and row["status"] == "refused":
        return "refused"
    text = number(None if row is None else row["value"]) + mark_of(row)
    first = metric == "bytes_per_token" and is_first(view.row("rank", name, corpus, language))
    return f"{_BEST}{text}" if first else text


_BEST = "\ue000"
"""Before a cell in bold: a private character, which no name that is written here keeps."""


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{_written(caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
        r"\toprule",
        _row(header),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(_cell, cells))} \\\\"


def _cell(text: str) -> str:
    if text.startswith(_BEST):
        return rf"\textbf{{{_written(text[1:])}}}"
    return _written(text)


def _written(text: str) -> str:
    r"""Return text that pdfLaTeX sets; characters beyond Latin are spelled as their code points.

    >>> print(_written("a_b †"), _written("東é"))
    a\_b \textdagger{} U+6771é
    """
    shown = "".join(c if 0x20 <= ord(c) < 0x180 or c in "†‡–" else f"U+{ord(c):04X}" for c in text)
    return latex(shown).translate(_SYMBOLS)
