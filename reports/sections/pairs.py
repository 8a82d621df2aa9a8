"""Tokenizers declared to be one vocabulary: whether they give the same ids."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, percent
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.tokens import code, shown_text
from tokbench.reports.view import Row, View, meaning_of

PLACES = 3
"""Where ids differ: so many languages are named."""
Pair = tuple[str, str]


def _agreements(view: View) -> dict[Pair, list[Row]]:
    found: dict[Pair, list[Row]] = {}
    for row in view.rows:
        if row["metric"] == "id_agreement" and row["value"] is not None:
            pair = row["params"]["first"], row["params"]["second"]
            found.setdefault(pair, []).append(row)
    return found


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence for each pair."""
    for (first, second), rows in _agreements(view).items():
        documents = sum(row["n"] for row in rows if row["corpus"] is not None)
        differing = sum(row["params"]["differing"] for row in rows if row["corpus"] is not None)
        unexpected = sum(
            row["value"]
            for row in view.rows
            if row["metric"] == "unexpected_id_differences"
            and row["value"]
            and (row["params"]["first"], row["params"]["second"]) == (first, second)
        )
        if not documents:
            continue
        result = "the same ids for every document"
        if differing:
            result = f"other ids for {differing:,} of {documents:,} documents"
        hard = sum(row["params"]["differing"] for row in rows if row["corpus"] is None)
        also = f" and for {hard:,} hard strings" if hard else ""
        why = (
            ""
            if not differing + hard
            else (
                f"; {count(unexpected)} for a reason that was not expected"
                if unexpected
                else ", all for reasons that were expected"
            )
        )
        yield f"{first} and {second} give {result}{also}{why}."


def pairs_section(view: View) -> Iterator[str]:
    """Yield where the pairs differ, and the smallest text of each kind of difference."""
    found = _agreements(view)
    if not found:
        return
    yield "## One vocabulary, two tokenizers"
    yield (
        "Compared id by id, over every document and over seeded hard strings. A kind of "
        "difference is the change of the text that makes both agree: the side named makes it, "
        "and the other does not."
    )
    header = ["first", "second", "text", "of", "same ids", "differ", "why", "most in"]
    yield table(header, [_row(*at) for at in _groups(found)], left=3)
    witnesses = [f for f in view.findings if f["suite"] == "differential" and "text" in f["data"]]
    if witnesses:
        yield "### Smallest texts on which ids differ"
        shown = ["first", "second", "why", "text", "ids of first", "ids of second", "expected"]
        yield table(shown, [_witness(w) for w in _one_each(witnesses)], left=len(shown))


def _groups(found: dict[Pair, list[Row]]) -> Iterator[tuple[Pair, str, list[Row]]]:
    for pair, rows in found.items():
        by_corpus: dict[str, list[Row]] = {}
        for row in rows:
            by_corpus.setdefault(row["corpus"] or "hard strings", []).append(row)
        for corpus, group in by_corpus.items():
            yield pair, corpus, group


def _row(pair: Pair, corpus: str, rows: list[Row]) -> list[str]:
    n = sum(row["n"] for row in rows)
    differing = sum(row["params"]["differing"] for row in rows)
    reasons: dict[str, int] = {}
    for row in rows:
        for reason, times in row["params"]["reasons"].items():
            reasons[reason] = reasons.get(reason, 0) + times
    ordered = sorted(reasons, key=lambda reason: -reasons[reason])
    worst = sorted(rows, key=lambda row: -row["params"]["differing"])[:PLACES]
    places = [
        f"{row['language']} {row['params']['differing']:,}"
        for row in worst
        if row["params"]["differing"] and row["language"]
    ]
    return [
        *map(escape, pair),
        escape(corpus),
        count(n),
        percent(1 - differing / n if n else None, 2),
        count(differing),
        escape(", ".join(f"{reason} {reasons[reason]:,}" for reason in ordered)) or "–",
        escape(", ".join(places)) or "–",
    ]


def _one_each(witnesses: list[Row]) -> list[Row]:
    """Return the shortest text of each pair and kind."""
    best: dict[tuple[str, str, str], Row] = {}
    for w in witnesses:
        key = w["data"]["first"], w["data"]["second"], w["data"]["class"]
        if key not in best or len(w["data"]["text"]) < len(best[key]["data"]["text"]):
            best[key] = w
    return list(best.values())


def _witness(w: Row) -> list[str]:
    data = w["data"]
    return [
        escape(data["first"]),
        escape(data["second"]),
        escape(meaning_of(w)),
        code(shown_text(data["text"])),
        escape(_ids(data["first_ids"])),
        escape(_ids(data["second_ids"])),
        "yes" if data["expected"] else "no",
    ]


def _ids(ids: list[int] | str) -> str:
    if isinstance(ids, str):
        return ids[:80]
    return " ".join(map(str, ids[:8])) + (" …" if len(ids) > 8 else "")
