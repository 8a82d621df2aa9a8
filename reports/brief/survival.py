"""What `report.md` says about lost text: by tokenizer, and by language where there is any."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import marked
from tokbench.reports.mix import order
from tokbench.reports.sections.survival import causes, documents_of_class
from tokbench.reports.tables import unbroken
from tokbench.reports.view import View, summary_of


def survival_section(view: View) -> Iterator[str]:
    """Yield the tables of what does not come back; nothing where all does."""
    losing = [
        (name, corpus)
        for corpus in view.ordered_corpora
        for name in order(view)
        if altered(view, name, corpus)
    ]
    if not losing:
        return
    yield "## Does the text survive?"
    yield (
        "Documents that `decode(encode(text))` does not give back: lossy, or equal only after NFC "
        "and after white space is collapsed. Tokenizers that give all text back are left out."
    )
    header = ["tokenizer", "corpus", "lossy", "normalized", "bytes lost", "lost to"]
    yield table(list(map(unbroken, header)), [_row(view, *one) for one in losing], left=2)
    for corpus in view.ordered_corpora:
        yield from _by_language(view, corpus, [n for n, of in losing if of == corpus])


def altered(view: View, tokenizer: str, corpus: str) -> int:
    """Return how many documents of a corpus do not come back exactly."""
    kinds = ("normalized", "lossy")
    return sum(documents_of_class(view, tokenizer, corpus, kind) for kind in kinds)


def _row(view: View, tokenizer: str, corpus: str) -> list[str]:
    line = summary_of(view, corpus, tokenizer)
    lossy = documents_of_class(view, tokenizer, corpus, "lossy")
    normalized = documents_of_class(view, tokenizer, corpus, "normalized")
    return [
        marked(view, tokenizer, corpus),
        escape(corpus),
        count(lossy),
        count(normalized),
        unbroken(percent(line.lost_share)),
        unbroken(escape(causes(view, tokenizer, corpus)) or "–"),
    ]


def _by_language(view: View, corpus: str, names: list[str]) -> Iterator[str]:
    """Yield lossy documents by language, for the tokenizers and languages that have any."""
    counts = {
        (name, language): row["params"]["documents"]
        for name in names
        for language in view.languages(corpus)
        for row in view.rows_at("round_trip", name, corpus, language)
        if row["params"]["class"] == "lossy" and row["params"]["documents"]
    }
    lossy = [name for name in names if any(n == name for n, _ in counts)]
    languages = [k for k in view.languages(corpus) if any(of == k for _, of in counts)]
    if len(view.languages(corpus)) > 1 and lossy:
        yield f"Lossy documents of {escape(corpus)}, of {view.documents(corpus)} in each language:"
        rows = [
            [escape(k), *(count(counts[n, k]) if (n, k) in counts else "–" for n in lossy)]
            for k in languages
        ]
        yield table(["language", *(marked(view, name, corpus) for name in lossy)], rows)
