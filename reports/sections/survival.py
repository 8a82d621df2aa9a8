"""Whether text survives: round trips, losses, and the smallest strings that show them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

from tokbench.bench.count.tally import LOSS_CAUSES
from tokbench.bench.markup import count, escape, listed, percent, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import marked
from tokbench.reports.mix import order
from tokbench.reports.tables import crossed, folded, pooled
from tokbench.reports.tokens import code, code_points, shown_text
from tokbench.reports.view import Row, View, meaning_of, summarize, summary_of

MOST_WITNESSES, MOST_EXCERPTS = 40, 100


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence for each corpus: under whom every document comes back."""
    for corpus in view.ordered_corpora:
        shares = {s.tokenizer: s.exact for s in summarize(view, corpus)}
        known = {n: shares[n] for n in order(view) if shares.get(n) is not None}
        whole = [name for name, share in known.items() if share == 1]
        rest = [f"{n} ({percent(share)})" for n, share in known.items() if share != 1]
        if whole and rest:
            yield (
                f"Every document of {corpus} comes back exactly from {listed(whole, most=6)}; "
                f"not from {listed(rest, most=6)}."
            )
        elif rest:
            yield f"Documents of {corpus} that come back exactly: {listed(rest, most=6)}."
        elif whole:
            counted = len(whole) == len(view.run["config"]["tokenizers"])
            who = "every tokenizer" if counted else "every tokenizer that was counted"
            yield f"Every document of {corpus} comes back exactly from {who}."


def survival_section(view: View) -> Iterator[str]:
    """Yield round trips by tokenizer and corpus, then what the suite of witnesses found."""
    rows = [
        row
        for corpus in view.corpora
        for name in order(view)
        if (row := _fidelity_row(view, name, corpus)) is not None
    ]
    if not rows:
        return
    yield "## Does the text survive?"
    yield (
        "Exact: decode(encode(text)) equals the text. Normalized: equal after NFC and after "
        "trimming and collapsing white space, with no unknown token. Lossy: all else."
    )
    header = ["tokenizer", "corpus", "exact", "normalized", "lossy", "UNK", "bytes lost"]
    header += ["lost to", "byte fallback", "partial characters"]
    yield table(header, rows, left=2)
    yield from _why(view)
    yield from _smallest(view)
    yield from _streaming(view)
    yield from _fuzz(view)
    seen = [f for f in view.findings if f["kind"] == "witness" and f["suite"] == "fidelity"]
    if seen:
        n = sum(_not_back(view, name, corpus) for name in order(view) for corpus in view.corpora)
        title = f"{plural(n, 'document')} did not come back: one example of each kind"
        yield folded(title, _excerpts(seen))


def _not_back(view: View, tokenizer: str, corpus: str) -> int:
    return sum(
        documents_of_class(view, tokenizer, corpus, name) for name in ("normalized", "lossy")
    )


def _fidelity_row(view: View, tokenizer: str, corpus: str) -> list[str] | None:
    rounds = [
        documents_of_class(view, tokenizer, corpus, name)
        for name in ("exact", "normalized", "lossy")
    ]
    if not any(rounds):
        return None
    line = summary_of(view, corpus, tokenizer)
    return [
        marked(view, tokenizer, corpus),
        escape(corpus),
        *map(count, rounds),
        percent(line.unk_rate),
        percent(line.lost_share),
        escape(causes(view, tokenizer, corpus)) or "–",
        percent(view.pooled("byte_fallback_rate", tokenizer, corpus, over="tokens")),
        percent(view.pooled("partial_character_rate", tokenizer, corpus, over="tokens")),
    ]


def documents_of_class(view: View, tokenizer: str, corpus: str, name: str) -> int:
    """Return how many documents of a corpus have a class of round trip."""
    rows = [
        view.row("round_trip", tokenizer, corpus, language, **{"class": name})
        for language in view.languages(corpus)
    ]
    return sum(row["params"]["documents"] for row in rows if row is not None)


def causes(view: View, tokenizer: str, corpus: str) -> str:
    """Return the causes of loss over all languages, the largest first."""
    lost: dict[str, float] = {}
    for language, meta in view.corpora[corpus].items():
        for cause in LOSS_CAUSES:
            share = view.value("lost_byte_share", tokenizer, corpus, language, cause=cause)
            lost[cause] = lost.get(cause, 0) + (share or 0) * meta["bytes"]
    total = sum(lost.values())
    ordered = sorted(((n, cause) for cause, n in lost.items() if n), reverse=True)
    return ", ".join(f"{_plain(cause)} {percent(n / total, 0)}" for n, cause in ordered)


def _asked(view: View) -> list[str]:
    """Return the tokenizers whose failures were looked at one by one."""
    return [
        name
        for name in order(view)
        if any(_rows(view, "id_stability", name, corpus) for corpus in view.corpora)
    ]


def _rows(view: View, metric: str, name: str, corpus: str) -> list[Row]:
    rows = (view.rows_at(metric, name, corpus, language) for language in view.languages(corpus))
    return [row for part in rows for row in part]


def _why(view: View) -> Iterator[str]:
    names = _asked(view)
    meanings = _meanings(view)
    for corpus in view.ordered_corpora if names else ():
        counts: dict[tuple[str, str], int] = {}
        for name in names:
            for row in _rows(view, "round_trip_failures", name, corpus):
                if class_ := row["params"].get("class"):
                    counts[name, class_] = counts.get((name, class_), 0) + round(row["value"] or 0)
        failing = [name for name in names if any(n == name for n, _ in counts)]
        classes = sorted(
            {class_ for _, class_ in counts},
            key=lambda c: -sum(n for (_, other), n in counts.items() if other == c),
        )
        if not failing:
            continue
        yield f"### Why documents of {escape(corpus)} do not come back"
        yield "Documents with at least one spot of the kind; one document can count in several."

        def cell(name: str, class_: str, counts: dict[tuple[str, str], int] = counts) -> str:
            return count(counts[name, class_]) if (name, class_) in counts else "–"

        yield crossed(
            "what happened",
            failing,
            classes,
            cell,
            lambda c: meanings.get(c, _plain(c)),
            partial(marked, view, corpus=corpus),
        )


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _meanings(view: View) -> dict[str, str]:
    """Return what each class means, as the witnesses say."""
    return {w["data"]["class"]: meaning_of(w) for w in _witnesses(view)}


def _witnesses(view: View) -> list[Row]:
    return [f for f in view.findings if f["suite"] == "witnesses" and "class" in f["data"]]


def _smallest(view: View) -> Iterator[str]:
    """Yield the shortest witness of each tokenizer and class."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for witness in _witnesses(view):
        groups.setdefault((witness["tokenizer"], witness["data"]["class"]), []).append(witness)
    if not groups:
        return
    ordered = [groups[key] for key in sorted(groups, key=lambda key: _order(view, key))]
    rows = [_smallest_row(view, group) for group in ordered]
    yield "### Smallest strings that do not come back"
    yield (
        "One for each tokenizer and kind, shrunk from a document or from a seeded hard string, "
        "and asked again alone: it failed again unless the row says otherwise."
    )
    header = ["tokenizer", "what happens", "text", "comes back as", "code points", "seen in"]
    yield table(header, rows[:MOST_WITNESSES], left=len(header))
    if len(rows) > MOST_WITNESSES:
        yield folded(
            f"{len(rows) - MOST_WITNESSES} more",
            table(header, rows[MOST_WITNESSES:], left=len(header)),
        )


def _order(view: View, key: tuple[str, str]) -> tuple[int, str]:
    return order(view).index(key[0]), key[1]


def _smallest_row(view: View, group: Sequence[Row]) -> list[str]:
    best = min(group, key=_worth)
    data = best["data"]
    meaning = _meanings(view).get(data["class"], _plain(data["class"]))
    back = code(shown_text(data["back"]))
    if data["failure"] is not None:
        back = escape(data["failure"][:80])
    elif not data["repeats"]:
        back = "itself, when asked alone"
    return [
        escape(best["tokenizer"]),
        escape(meaning),
        code(shown_text(data["text"])),
        back,
        code_points(data["text"]),
        escape(_places(group)),
    ]


def _worth(witness: Row) -> tuple[bool, bool, int]:
    """Order witnesses: those that fail again, from the corpus, the shortest."""
    data = witness["data"]
    return not data["repeats"], witness["language"] is None, len(data["text"])


def _places(group: Sequence[Row]) -> str:
    places = [w["language"] for w in group if w["language"] is not None]
    if any(w["language"] is None for w in group):
        places.append("hard strings")
    return listed(places, most=3)


def _streaming(view: View) -> Iterator[str]:
    names = _asked(view)
    if not names:
        return
    rows = []
    for corpus in view.ordered_corpora:
        for name in names:
            cells = [
                pooled(_rows(view, metric, name, corpus))
                for metric in (
                    "id_stability",
                    "incremental_decode",
                    "held_back_token_rate",
                    "single_token_decode",
                )
            ]
            rows.append([marked(view, name, corpus), escape(corpus), *map(percent, cells)])
    yield "### Ids and streams"
    yield (
        "Stable: documents whose ids come back from encode(decode(ids)). As bytes arrive: "
        "documents that decode rightly token by token with unfinished characters held back, and "
        "the share of tokens that must wait; a dash where token bytes are not meant to add up to "
        "the text. Alone: documents for which decoding each token alone and joining is right. "
        "Streams are asked of the first documents of each language."
    )
    header = ["tokenizer", "corpus", "stable", "as bytes arrive", "tokens that wait", "alone"]
    yield table(header, rows, left=2)


def _fuzz(view: View) -> Iterator[str]:
    names = [name for name in order(view) if view.rows_at("fuzz_round_trip", name, None)]
    if not names:
        return
    rows = view.rows_at("fuzz_round_trip", names[0], None)
    categories = [row["params"]["category"] for row in rows]

    def cell(name: str, category: str) -> str:
        return percent(view.value("fuzz_round_trip", name, None, None, category=category), 0)

    yield "### Hard strings"
    yield (
        f"Share of {rows[0]['n']:,} seeded strings of each kind that come back exactly. It says "
        "what can happen, not how often it does in text."
    )
    yield crossed("strings", names, categories, cell, _plain)


def _varied(witnesses: Sequence[Row]) -> list[Row]:
    """Return one witness of each kind, the tokenizers taking turns.

    A kind is what happened to a tokenizer's text on a corpus: its class, and what it lost.
    """
    kinds: dict[tuple[str, str, str], Row] = {}
    for witness in witnesses:
        what = ", ".join(witness["data"].get("lost", [])) or witness["data"]["class"]
        kinds.setdefault((witness["tokenizer"], witness["corpus"], what), witness)
    waiting: dict[str, list[Row]] = {}
    for (tokenizer, _, _), witness in kinds.items():
        waiting.setdefault(tokenizer, []).append(witness)
    turns = itertools.zip_longest(*waiting.values())
    chosen = [witness for turn in turns for witness in turn if witness is not None]
    return chosen[:MOST_EXCERPTS]


def _excerpts(witnesses: Sequence[Row]) -> str:
    header = ["tokenizer", "corpus", "language", "document", "what happened", "before", "after"]
    rows = [
        [
            escape(w["tokenizer"] or ""),
            escape(w["corpus"] or ""),
            escape(w["language"] or ""),
            escape(w["document_id"] or ""),
            escape(w["message"]),
            escape(shown_text(str(w["data"].get("expected_excerpt", "")))),
            escape(shown_text(str(w["data"].get("got_excerpt", "")))),
        ]
        for w in _varied(witnesses)
    ]
    return table(header, rows, left=len(header))
