"""A run in one screen of plain text: what `tokbench run` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.markup import count, number, percent, plural, table
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.marks import explained, marks_of
from tokbench.reports.sections.conformance import WRONG, mark_explained, not_right
from tokbench.reports.view import (
    ONE_BATCH,
    TokenizerSummary,
    View,
    median_premium,
    summarize,
    verdicts,
    view_of,
)


class Summary(ReportPlugin):
    """Verdict sentences and a table by tokenizer for every corpus."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `summary.txt`."""
        view = view_of(results)
        parts = ["\n".join(verdicts(view))]
        parts += [_corpus(view, corpus) for corpus in view.ordered_corpora]
        parts += mark_explained(view)
        parts.append(f"report: {results.folder / 'report.md'}")
        return {"summary.txt": "\n\n".join(parts) + "\n"}


def _corpus(view: View, corpus: str) -> str:
    languages = view.languages(corpus)
    pivot = view.pivot(corpus)
    head = f"{corpus}: {plural(len(languages), 'language')}, {view.documents(corpus)} each"
    lines = summarize(view, corpus)
    header = ["tokenizer", "entries", "tokens", f"bytes/token {pivot or languages[0]}"]
    if pivot:
        header += ["median premium", "highest premium"]
    header += ["first in", "exact", "lost"]
    pinned = _pinned(lines)
    header += [f"encode × {pinned}"] if pinned else []
    marks = dict.fromkeys(not_right(view), f" {WRONG}")
    rows = [
        _row(
            line,
            line.tokenizer + marks_of(view, line.tokenizer, corpus),
            bool(pivot),
            pinned,
            marks.get(line.tokenizer, ""),
        )
        for line in lines
    ]
    shown = table(header, rows, right=range(1, len(header)))
    return "\n".join([head, shown, *explained(view, corpus), *_floor(view, corpus, pinned)])


def _pinned(lines: Sequence[TokenizerSummary]) -> str | None:
    """Return the tokenizer that the others' speed is relative to."""
    ratios = [line.encode_ratio for line in lines if line.encode_ratio is not None]
    return next((r["params"]["reference"] for r in ratios if r["value"] is not None), None)


def _floor(view: View, corpus: str, pinned: str | None) -> Iterator[str]:
    """Yield what differences in speed mean nothing."""
    row = view.row("timing_floor", pinned, corpus, phase="encode", **ONE_BATCH)
    if pinned and row is not None:
        yield (
            f"Speed: ≈ is not resolvable; {pinned} against itself came to {row['value']:.3f}, and "
            "smaller differences mean nothing."
        )


def _row(
    line: TokenizerSummary, name: str, parallel: bool, pinned: str | None, mark: str
) -> list[str]:
    row = [
        name,
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
    return row + ([f"{_speed(line, pinned)}{mark}"] if pinned else [])


def _speed(line: TokenizerSummary, pinned: str) -> str:
    """Write how often as fast as the pinned tokenizer this one is."""
    ratio = line.encode_ratio
    if ratio is None or ratio["value"] is None or ratio["params"]["reference"] != pinned:
        return "1" if line.tokenizer == pinned else "–"
    unsure = "≈ " if ratio["params"]["verdict"] == "not resolvable" else ""
    return f"{unsure}{number(ratio['value'])}"
