"""How texts use the vocabularies of a run: residues of merging, entries of one word, glitches."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, number, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.tokens import code, shown_text
from tokbench.reports.view import Row, View

MOST = 8
"""Entries of a list that are shown."""


def entry_usage_section(view: View) -> Iterator[str]:
    """Yield the values of the suite `usage` and the first entries of its lists."""
    names = [n for n in order(view) if view.row("glitch_candidates", n, None) is not None]
    if not names:
        return
    yield "## How the texts use the vocabularies"
    for corpus in view.ordered_corpora:
        yield f"### Entries on {escape(corpus)}"
        yield (
            "Residues: entries that tokens are built through and that seldom are the token in the "
            "end; in brackets their share of the entries used. One word: always inside one longer "
            "pre-token of a sample. Ranks and languages are of the entries that occur."
        )
        header = [
            "tokenizer",
            "residues",
            "never final",
            "one word",
            "languages/entry",
            "variation",
        ]
        yield table(header, [_row(view, name, corpus) for name in names])
    yield "### Entries in no text of the run"
    yield (
        "Candidates for glitch tokens: encoding their text gives them, and no text of the run "
        "holds them. Longest first; with an embedding, smallest norm first."
    )
    yield table(["tokenizer", "entries", "the first"], _glitches(view, names), left=3)
    residues = list(_residues(view, names))
    if residues:
        yield "### The most used residues"
        header = ["tokenizer", "corpus", "entry", "intermediate", "final"]
        yield table(header, residues, left=3)


def _row(view: View, name: str, corpus: str) -> list[str]:
    residues = view.row("merge_residues", name, corpus)
    shown, never = "–", "–"
    if residues is not None and residues["value"] is not None:
        shown = f"{count(residues['value'])} ({percent(residues['params']['share_of_used'])})"
        never = count(residues["params"]["never_final"])
    return [
        escape(name),
        shown,
        never,
        count(view.value("one_word_entries", name, corpus)),
        number(view.value("languages_per_entry", name, corpus)),
        number(view.value("use_variation", name, corpus)),
    ]


def _notes(view: View, class_: str) -> Iterator[Row]:
    for finding in view.findings:
        if finding["suite"] == "usage" and finding["data"].get("class") == class_:
            yield finding


def _glitches(view: View, names: list[str]) -> list[list[str]]:
    first = {note["tokenizer"]: note["data"]["texts"][:MOST] for note in _notes(view, "glitch")}
    return [
        [
            escape(name),
            count(view.value("glitch_candidates", name, None)),
            " ".join(code(shown_text(text)) for text in first.get(name, [])) or "–",
        ]
        for name in names
    ]


def _residues(view: View, names: list[str]) -> Iterator[list[str]]:
    for note in _notes(view, "residue"):
        data = note["data"]
        if note["tokenizer"] in names:
            for at in range(min(MOST, len(data["ids"]))):
                yield [
                    escape(note["tokenizer"]),
                    escape(note["corpus"]),
                    code(shown_text(data["texts"][at])),
                    count(data["intermediate"][at]),
                    count(data["final"][at]),
                ]
