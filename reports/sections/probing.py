"""What tokenizers do with strings of known kinds, and with code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tokbench.bench.markup import escape, listed, number, percent, word_for
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import marked
from tokbench.reports.mix import order
from tokbench.reports.tables import crossed, folded, pooled
from tokbench.reports.tokens import code, shown_text
from tokbench.reports.view import Row, View

VARIANTS = {
    "lower": "house",
    "space_lower": "␣house",
    "title": "House",
    "space_title": "␣House",
    "upper": "HOUSE",
    "space_upper": "␣HOUSE",
}
LOSSY = "*"
CODE = {
    "tokens_per_line": "tokens per line",
    "whole_identifier_share": "identifiers kept whole",
    "identifier_cut_at_parts": "cut identifiers cut between parts",
    "isolated_operator_share": "operators in a token of their own",
    "tokens_per_indentation_level": "tokens per indentation level",
}


def _asked(view: View) -> list[str]:
    return [name for name in order(view) if view.rows_at("number_tokens", name, None)]


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence on how numbers are cut."""
    names = _asked(view)
    if not names:
        return
    aligned = [name for name in names if _aligned(view, name) == 1]
    alike = [name for name in names if _lowest(view, "number_consistency", name) == 1]
    who = (
        f"{listed(aligned, most=6)} {word_for(len(aligned), 'cuts', 'cut')}"
        if aligned
        else "No tokenizer cuts"
    )
    mixed = [name for name in names if name not in alike]
    also = (
        f"; numbers of one length are not always cut alike by {listed(mixed, most=6)}"
        if mixed
        else ""
    )
    yield f"{who} numbers into threes from the right, as thousands are read{also}."


def _lowest(view: View, metric: str, name: str) -> float | None:
    values = [r["value"] for r in view.rows_at(metric, name, None) if r["value"] is not None]
    return min(values, default=None)


def probe_section(view: View) -> Iterator[str]:
    """Yield the answers to probes; nothing where the suite did not run."""
    names = _asked(view)
    if not names:
        return
    yield "## How kinds of strings are cut"
    yield (
        "Strings made for the purpose and the same for all: they say what a tokenizer does with "
        "a kind of string, not how often it occurs in text."
    )
    yield from _numbers(view, names)
    yield from _words(view, names)
    yield from _indents(view, names)
    yield from _strings(view, names)


def _numbers(view: View, names: Sequence[str]) -> Iterator[str]:
    digits = sorted({r["params"]["digits"] for r in view.rows_at("number_tokens", names[0], None)})

    def mean(name: str, n: int) -> str:
        return number(view.value("number_tokens", name, None, None, digits=n))

    yield "### Numbers"
    yield (
        "Mean tokens of whole numbers by their digits, drawn from the run's seed. Cut alike: the "
        "lowest share, over all lengths, of numbers cut at the most frequent places. Threes from "
        "the right: the share of numbers of four digits or more that are cut as thousands are "
        "read, over lengths where threes from the left differ. Years are 1900 to 2050."
    )
    yield crossed("digits", names, digits, mean)
    header = ["tokenizer", "cut alike", "threes from the right", "years in one token", "example"]
    yield table(header, [_number_line(view, name) for name in names], left=1)


def _number_line(view: View, name: str) -> list[str]:
    years = view.row("year_tokens", name, None)
    return [
        escape(name),
        percent(_lowest(view, "number_consistency", name)),
        percent(_aligned(view, name)),
        percent(years["params"]["single_token_share"] if years else None),
        _example(view, name, "numbers", 6),
    ]


def _aligned(view: View, name: str) -> float | None:
    """Return the share of numbers in threes from the right, where the left would differ."""
    return pooled(
        row
        for row in view.rows_at("number_right_alignment", name, None)
        if row["params"]["digits"] % 3
    )


def _example(view: View, name: str, probe: str, place: int = 0) -> str:
    for note in _notes(view, probe):
        if note["tokenizer"] == name and len(note["data"]["pieces"]) > place:
            return _cut(note["data"]["pieces"][place])
    return "–"


def _notes(view: View, probe: str) -> list[Row]:
    wanted = f"pieces:{probe}"
    return [f for f in view.findings if f["suite"] == "probes" and f["data"].get("class") == wanted]


def _cut(pieces: Sequence[str]) -> str:
    return code(" · ".join(shown_text(piece) for piece in pieces))


def _words(view: View, names: Sequence[str]) -> Iterator[str]:
    def variant(name: str, key: str) -> str:
        row = view.row("variant_tokens", name, None, None, variant=key)
        if row is None:
            return "–"
        return f"{number(row['value'])} ({percent(row['params']['single_token_share'], 0)})"

    def hidden(name: str, language: str) -> str:
        return number(view.value("hidden_characters", name, None, None, words_of=language))

    yield "### Casing and spaces"
    yield "Mean tokens of 20 English words; in brackets the share that is one token."
    yield crossed("written like", names, VARIANTS, variant, VARIANTS.__getitem__)
    languages = [r["params"]["words_of"] for r in view.rows_at("hidden_characters", names[0], None)]
    yield "### Spelling"
    yield (
        "Characters per token beyond the first, over ordinary words: letters that a model is not "
        "shown one by one. What it has learned about them is another matter."
    )
    yield crossed("words of", names, sorted(languages), hidden)


def _indents(view: View, names: Sequence[str]) -> Iterator[str]:
    indents = [r["params"]["indent"] for r in view.rows_at("indentation_tokens", names[0], None)]

    def cell(name: str, indent: str) -> str:
        row = view.row("indentation_tokens", name, None, None, indent=indent)
        if row is not None and row["value"] is None:
            return "lost"
        return number(row["value"] if row else None, 0)

    yield "### Indentation"
    yield (
        "Tokens that an indent adds to <code>x = 1</code>; 0 where the last space joins the "
        "first token. Lost: the ids are those of the bare statement."
    )
    yield crossed("indent", names, sorted(indents, key=_indent_order), cell)


def _indent_order(name: str) -> tuple[bool, bool, int]:
    return " and " in name, "tab" in name, int("".join(c for c in name if c.isdigit())[:2] or 0)


def _strings(view: View, names: Sequence[str]) -> Iterator[str]:
    probes = sorted(r["params"]["probe"] for r in view.rows_at("probe_tokens", names[0], None))
    lossy = False

    def cell(name: str, probe: str) -> str:
        nonlocal lossy
        row = view.row("probe_tokens", name, None, None, probe=probe)
        if row is None:
            return "–"
        lost = row["params"]["exact"] < 1
        lossy = lossy or lost
        return number(row["value"], 1) + (f" {LOSSY}" if lost else "")

    body = crossed("strings", names, probes, cell, lambda probe: probe.replace("_", " "))
    yield "### Other strings"
    yield "Mean tokens of a few strings of each kind; read along a row." + (
        f" {escape(LOSSY)} not all of them come back." if lossy else ""
    )
    yield body
    examples = [
        [
            escape(probe.replace("_", " ")),
            code(shown_text(notes[0]["data"]["texts"][0])),
            *(_example(view, name, probe) for name in names),
        ]
        for probe in probes
        if (notes := _notes(view, probe))
    ]
    header = ["strings", "one of them", *map(escape, names)]
    yield folded("How one of each is cut", table(header, examples, left=len(header)))


def code_section(view: View, corpus: str) -> Iterator[str]:
    """Yield how code is cut, of a code corpus that was lexed."""
    names = [name for name in order(view) if _code_rows(view, name, corpus, "tokens_per_line")]
    if not names:
        return
    yield "### How code is cut"
    yield (
        "By the lexers of Pygments, over all languages of the corpus. Parts are those of "
        "camelCase and snake_case names; a level of indentation is a tab, or as many spaces as "
        "the document's least indented line has."
    )

    def over_all(name: str, metric: str) -> str:
        return _written(metric, pooled(_code_rows(view, name, corpus, metric)))

    yield crossed("", names, CODE, over_all, CODE.__getitem__)
    if len(view.languages(corpus)) > 1:
        bodies = [
            f"**{title}**\n\n{_code_by_language(view, corpus, names, metric)}"
            for metric, title in CODE.items()
        ]
        yield folded("By language", "\n\n".join(bodies))


def _code_rows(view: View, name: str, corpus: str, metric: str) -> list[Row]:
    rows = (view.row(metric, name, corpus, language) for language in view.languages(corpus))
    return [row for row in rows if row is not None and row["value"] is not None]


def _written(metric: str, value: float | None) -> str:
    return number(value) if metric.startswith("tokens_") else percent(value)


def _code_by_language(view: View, corpus: str, names: Sequence[str], metric: str) -> str:
    def cell(name: str, language: str) -> Any:
        return _written(metric, view.value(metric, name, corpus, language))

    named = partial(marked, view, corpus=corpus)
    return crossed("language", names, view.languages(corpus), cell, heading=named)
