"""What the vocabularies of a run hold: kinds and scripts of entries, dead weight, overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokbench.bench.markup import count, escape, listed, percent, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.tables import crossed, folded, share_of
from tokbench.reports.tokens import code, code_points, shown_bytes
from tokbench.reports.view import Row, View

MOST_SCRIPTS = 15
EXAMPLES = 5
CATEGORIES = {
    "word_start": "letters behind a space",
    "word_part": "letters without one",
    "digits": "digits",
    "white_space": "white space",
    "punctuation": "punctuation, symbols",
    "mixed": "mixed",
    "partial_utf8": "pieces of characters",
    "byte_fallback": "byte fallback",
    "special": "special",
    "empty": "empty",
}


def _known(view: View) -> list[str]:
    return [n for n in order(view) if _entries(view, n, "all") is not None]


def _entries(view: View, name: str, kind: str) -> float | None:
    return view.value("vocabulary_entries", name, None, None, kind=kind)


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence on entries that merging does not reach, and one on those never found."""
    names = _known(view)
    unmerged = [
        f"{name} has {count(row['value'])} of {count(row['params']['of'])}"
        for name in names
        if (row := view.row("unmerged_entries", name, None)) is not None and row["value"]
    ]
    if unmerged:
        yield f"Entries that merging does not reach: {listed(unmerged, most=6)}."
    found = [
        (int(row["value"] - row["params"]["in_no_utf8"]), name)
        for name in names
        if (row := view.row("unreached_entries", name, None)) is not None
        and row["value"] is not None
    ]
    told = [f"{name} {n:,}" for n, name in sorted(found, reverse=True) if n > 0]
    if told:
        yield (
            "Entries that no text was found for (candidates for glitch tokens; bytes that occur "
            f"in no UTF-8 aside): {listed(told, most=6)}."
        )


def vocabulary_section(view: View) -> Iterator[str]:
    """Yield the facts of every vocabulary; nothing where the suite did not run."""
    names = _known(view)
    if not names:
        return
    yield "## What the vocabularies hold"
    yield from _kinds(view, names)
    yield "### Entries by category"
    yield "Shares of all entries, determined from their bytes. Each entry is in one category."
    yield crossed("category", names, CATEGORIES, _category_of(view), CATEGORIES.__getitem__)
    yield from _scripts(view, names)
    yield from _dead_weight(view, names)
    yield from _overlap(view, names)


def _kinds(view: View, names: list[str]) -> Iterator[str]:
    widths = sorted(
        {r["params"]["width"] for n in names for r in view.rows_at("embedding_parameters", n, None)}
    )
    yield (
        "Ids are the highest id + 1, the rows that an embedding needs; holes are ids no entry "
        "has; added entries match before the model. Parameters are ids × width, and as many "
        "again for an output layer that is not tied."
    )
    kinds = ("all", "ids", "special", "added", "byte_fallback", "holes")
    header = ["tokenizer", "entries", "ids", "special", "added", "byte fallback", "holes"]
    header += [f"parameters at width {width:,}" for width in widths]
    rows = [
        [
            escape(name),
            *(count(_entries(view, name, kind)) for kind in kinds),
            *(_millions(view.value("embedding_parameters", name, None, width=w)) for w in widths),
        ]
        for name in names
    ]
    yield table(header, rows)
    explained = [
        f"{escape(name)}: {escape(note)}"
        for name in names
        for note in view.run["tokenizers"][name]["notes"]
        if "entries:" in note
    ]
    if explained:
        yield "  \n".join(explained)


def _millions(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.1f} M"


def _category_of(view: View) -> Any:
    return lambda name, key: percent(
        view.value("vocabulary_category_share", name, None, None, category=key)
    )


def _scripts(view: View, names: list[str]) -> Iterator[str]:
    most: dict[str, float] = {}
    for name in names:
        for row in view.rows_at("vocabulary_script_share", name, None):
            script = row["params"]["script"]
            most[script] = max(most.get(script, 0.0), row["value"])
    ordered = sorted(most, key=lambda script: (-most[script], script))
    if not ordered:
        return

    def cell(name: str, script: str) -> str:
        return percent(view.value("vocabulary_script_share", name, None, None, script=script))

    yield "### Entries by script"
    yield (
        "Shares of the entries that are valid UTF-8 on their own. They say what a vocabulary has, "
        "not how well a language is served."
    )
    titles = {"None": "no letters", "Mixed": "several scripts", "Other": "other scripts"}

    def title(script: str) -> str:
        return titles.get(script, script.replace("_", " "))

    yield crossed("script", names, ordered[:MOST_SCRIPTS], cell, title)
    rest = ordered[MOST_SCRIPTS:]
    if rest:
        body = crossed("script", names, rest, cell, title)
        yield folded(f"{plural(len(rest), 'more script')}", body)


def _dead_weight(view: View, names: list[str]) -> Iterator[str]:
    yield "### Entries that may be dead weight"
    yield (
        "Duplicates are entries beyond the first with equal text, or with one normal form. Not "
        "merged: BPE does not build them from their own content; a dash where the model is not "
        "BPE. Not found: neither the corpora "
        "nor texts made of the entry in many contexts gave them; in brackets, bytes that occur in "
        "no UTF-8. All are static candidates: only the weights of a model "
        "show whether it knows an entry."
    )
    header = ["tokenizer", "duplicates", "by NFC", "by NFKC", "not merged", "not found"]
    header += ["share of entries", "added that swallow space"]
    yield table(header, [_dead_line(view, name) for name in names])
    examples = [
        [escape(note["tokenizer"]), escape(_class(note)), _examples(note)]
        for note in view.findings
        if note["suite"] == "vocabulary" and note["kind"] == "note"
    ]
    if examples:
        yield folded("Examples", table(["tokenizer", "what", "entries"], examples, left=3))


def _dead_line(view: View, name: str) -> list[str]:
    def of(metric: str, **params: Any) -> str:
        return count(view.value(metric, name, None, None, **params))

    unreached = view.row("unreached_entries", name, None)
    found = shares = "–"
    if unreached is not None and unreached["value"] is not None:
        no_text = unreached["params"]["in_no_utf8"]
        found = count(unreached["value"]) + (f" ({no_text:,})" if no_text else "")
        shares = share_of(unreached["value"], unreached["params"]["of"])
    return [
        escape(name),
        *(of("duplicate_entries", by=by) for by in ("decoded", "NFC", "NFKC")),
        of("unmerged_entries"),
        found,
        shares,
        of("swallowing_added_tokens"),
    ]


def _class(note: Row) -> str:
    what: str = note["data"]["class"]
    names = {"unmerged": "not merged", "unreached": "not found", "swallowing": "swallow space"}
    return names.get(what, what.replace("duplicates:", "duplicates by "))


def _examples(note: Row) -> str:
    data = note["data"]
    contents = [bytes.fromhex(content) for content in data["bytes"][:EXAMPLES]]
    shown = [code(shown_bytes(content)) for content in contents]
    if data["class"] in ("duplicates:NFC", "duplicates:NFKC"):  # they may look the same
        points = [code_points(content.decode("utf-8", "replace")) for content in contents]
        shown = [f"{one} {which}" for one, which in zip(shown, points, strict=True)]
    more = data["total"] - len(shown)
    return " ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _overlap(view: View, names: list[str]) -> Iterator[str]:
    rows = [row for name in names for row in view.rows_at("vocabulary_overlap", name, None)]
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        pair = row["params"]["first"], row["params"]["second"]
        found[pair] = found[pair[::-1]] = row
    if not found:
        return

    def cell(name: str, other: str) -> str:
        row = found.get((other, name))
        return "" if name == other else percent(row["value"] if row else None)

    yield "### Entries in common"
    yield (
        "Common entries ÷ entries of either, by bytes. Common entries do not mean that texts are "
        "cut alike."
    )
    yield crossed("", names, names, cell)
    header = ["first", "second", "in common", "under another id", "only in first", "only in second"]
    keys = ("first", "second", "common", "moved", "only_first", "only_second")
    counts = [[row["params"][key] for key in keys] for row in rows]
    lines = [[*map(escape, line[:2]), *map(count, line[2:])] for line in counts]
    yield folded("Pairs in numbers", table(header, lines, left=2))
