"""The report's section on morphemes: how token boundaries go with theirs."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.tables import folded
from tokbench.reports.view import Row, View

_COLUMNS = (
    ("morpheme_boundary_precision", "precision"),
    ("morpheme_boundary_recall", "recall"),
    ("morpheme_boundary_f1", "F1"),
    ("morphscore", "MorphScore"),
    ("morpheme_consistency", "consistency"),
)


def morphology_section(view: View) -> Iterator[str]:
    """Yield one table for each language with segmented words; nothing where there are none."""
    rows: dict[tuple[str, str, str], Row] = {}
    for row in view.rows:
        if row["metric"] in dict(_COLUMNS) and row["params"].get("weights") != "frequency":
            rows[row["language"], row["tokenizer"], row["metric"]] = row
    if not rows:
        return
    yield "## Morphemes"
    yield (
        "Token boundaries inside words, against those of segmented words. MorphScore leaves words of "
        "one token out: `judged` is how many are left, and tokenizers are judged on different words. "
        "Alignment with morphemes explains little of how well models do (Arnett, Hudspeth and "
        "O'Connor 2025, arXiv 2507.06378): it describes a tokenizer, and ranks none."
    )
    for language in dict.fromkeys(key[0] for key in rows):
        names = [n for n in order(view) if (language, n, "morphscore") in rows]
        about = rows[language, names[0], "morphscore"]["params"]
        title = f"{escape(language)}: {count(about['words'])} words"
        left = about["left_out"]
        if left:
            title += f" ({count(left)} more left out, whose parts do not make up their letters)"
        header = ["tokenizer", *(title for _, title in _COLUMNS), "judged"]
        cells = [
            [
                escape(name),
                *(percent(rows[language, name, metric]["value"]) for metric, _ in _COLUMNS),
                count(rows[language, name, "morphscore"]["n"]),
            ]
            for name in names
        ]
        yield folded(title, table(header, cells))
