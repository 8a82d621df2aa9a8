"""A run in one screen of plain text: what `tokbench run` prints."""

from __future__ import annotations

from collections.abc import Mapping

from bench.console import table
from bench.markup import count, number, percent
from bench.plugins import ReportPlugin
from bench.results import Results
from reports.conformance import WRONG, mark_explained, not_right
from reports.view import TokenizerSummary, View, median_premium, summarize, verdicts


class Summary(ReportPlugin):
    """Verdict sentences and a table by tokenizer for every corpus."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `summary.txt`."""
        view = View(results)
        parts = ["\n".join(verdicts(view))]
        parts += [_corpus(view, corpus) for corpus in view.ordered_corpora]
        parts += mark_explained(view)
        parts.append(f"report: {results.folder / 'report.md'}")
        return {"summary.txt": "\n\n".join(parts) + "\n"}


def _corpus(view: View, corpus: str) -> str:
    languages = view.languages(corpus)
    pivot = view.pivot(corpus)
    unit = "language" if len(languages) == 1 else "languages"
    head = f"{corpus}: {len(languages)} {unit}, {view.documents(corpus)} documents each"
    lines = summarize(view, corpus)
    header = ["tokenizer", "entries", "tokens", f"bytes/token {pivot or languages[0]}"]
    if pivot:
        header += ["median premium", "highest premium"]
    header += ["first in", "exact", "lost"]
    timed = any(line.encode is not None for line in lines)
    header += ["encode MB/s"] if timed else []
    marks = dict.fromkeys(not_right(view), f" {WRONG}")
    rows = [_row(line, bool(pivot), timed, marks.get(line.tokenizer, "")) for line in lines]
    return f"{head}\n{table(header, rows, right=range(1, len(header)))}"


def _row(line: TokenizerSummary, parallel: bool, timed: bool, mark: str) -> list[str]:
    row = [
        line.tokenizer,
        count(line.n_entries),
        count(line.tokens),
        number(line.pivot_bytes_per_token),
    ]
    if parallel:
        highest = line.highest_premium
        row.append(median_premium(line))
        row.append(f"{highest[0]} {number(highest[1])}" if highest else "–")
    row += [
        f"{line.first_in} of {line.ranked_in}" if line.ranked_in else "not ranked",
        percent(line.exact),
        percent(line.lost_share),
    ]
    return row + ([f"{number(line.encode, 1)}{mark}"] if timed else [])
