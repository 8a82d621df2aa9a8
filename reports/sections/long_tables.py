"""The longest tables of the detail page: pairs, lengths, tokens by use, witnesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokbench.bench.markup import count, escape, markdown_table, number, percent
from tokbench.reports.marks import mark_of, marked
from tokbench.reports.mix import order
from tokbench.reports.tokens import code, shown_bytes, shown_text
from tokbench.reports.view import Row, View, meaning_of

Rows = list[list[str]]
MOST_WITNESSES = 500


def long_tables(view: View, corpus: str) -> Iterator[str]:
    """Yield the blocks of every table that has rows."""
    for title, remark, table in _sections(view, corpus):
        yield from (f"### {title}", remark, table)


def _sections(view: View, corpus: str) -> Iterator[tuple[str, str, str]]:
    """Yield title, remark and table of every section that has rows."""
    for title, remark, header, rows, left in (
        (
            "Tokens per character",
            "The ratio of totals, the mean over documents (as textbook exercises compute it), and "
            "the overhead. Only the last compares languages, and only on parallel text.",
            ["language", "tokenizer", "of totals", "mean of documents", "overhead",
             "95 % interval", "of the pivot's content fits"],
            _per_character(view, corpus),
            2,
        ),
        (
            "Pairs of tokenizers",
            "In how many languages the row needs fewer tokens than the column: the paired 95 % "
            "interval of their ratio is below 1.",
            ["tokenizer", *_headings(view, corpus)],
            _pairs(view, corpus),
            1,
        ),
        (
            "Tokens that were emitted",
            "In the pivot, or the first language.",
            ["tokenizer", "graphemes/token", "of reference", "start with a space",
             "bytes, median", "90 %", "longest"],
            _emitted(view, corpus),
            1,
        ),
        (
            "Bytes of the tokens emitted",
            "Over all languages of the corpus: the share of tokens that have so many bytes.",
            ["bytes", *_headings(view, corpus)],
            _lengths(view, corpus),
            1,
        ),
        (
            "Most used tokens",
            "Over all languages of the corpus, with how often each occurred.",
            ["tokenizer", "tokens"],
            _listed(view, corpus, "most_used"),
            2,
        ),
        (
            "Never used entries",
            "The first of them by id: in BPE, those merged earliest.",
            ["tokenizer", "entries"],
            _listed(view, corpus, "never_used"),
            2,
        ),
        (
            "Witnesses",
            "Each kind of loss by language, with a smallest string that shows it.",
            ["tokenizer", "language", "document", "what happens", "text", "comes back as",
             "documents with the kind"],
            _witnesses(view, corpus),
            6,
        ),
    ):  # fmt: skip
        if rows:
            yield title, remark, markdown_table(header, rows, left=left)


def _headings(view: View, corpus: str) -> list[str]:
    return [marked(view, name, corpus) for name in order(view)]


def _interval(row: Row | None, digits: int = 2, scale: float = 1.0) -> str:
    if row is None or row["ci_low"] is None or row["ci_high"] is None:
        return "–"
    return f"{row['ci_low'] * scale:.{digits}f} to {row['ci_high'] * scale:.{digits}f}"


def _per_character(view: View, corpus: str) -> Rows:
    lines = []
    for language in view.languages(corpus):
        for name in order(view):
            value = view.value("tokens_per_character", name, corpus, language)
            if value is None:
                continue
            overhead = view.row("overhead", name, corpus, language)
            lines.append(
                [
                    escape(language),
                    escape(name)
                    + mark_of(view.row("tokens_per_character", name, corpus, language)),
                    number(value, 3),
                    number(view.value("mean_tokens_per_character", name, corpus, language), 3),
                    percent(overhead["value"] if overhead else None),
                    _interval(overhead, 1, scale=100),
                    percent(view.value("context_share", name, corpus, language)),
                ]
            )
    return lines


def _pairs(view: View, corpus: str) -> Rows:
    fewer: dict[tuple[str, str], int] = {}
    compared = False
    for name in order(view):
        for language in view.languages(corpus):
            for row in view.rows_at("token_ratio", name, corpus, language):
                if row["value"] is None:  # nothing to compare with: the row names no other
                    continue
                compared, other = True, row["params"]["other"]
                if row["ci_high"] is not None and row["ci_high"] < 1:
                    fewer[name, other] = fewer.get((name, other), 0) + 1
                if row["ci_low"] is not None and row["ci_low"] > 1:
                    fewer[other, name] = fewer.get((other, name), 0) + 1
    if not compared:
        return []
    return [
        [
            marked(view, a, corpus),
            *("" if a == b else str(fewer.get((a, b), 0)) for b in order(view)),
        ]
        for a in order(view)
    ]


def _emitted(view: View, corpus: str) -> Rows:
    first = view.languages(corpus)[0]
    lines = []
    for name in order(view):
        if view.value("graphemes_per_token", name, corpus, first) is None:
            continue
        lengths = [
            view.value("token_length", name, corpus, first, quantile=q) for q in (0.5, 0.9, 1.0)
        ]
        lines.append(
            [
                marked(view, name, corpus),
                number(view.value("graphemes_per_token", name, corpus, first)),
                number(view.value("normalized_sequence_length", name, corpus, first)),
                percent(view.value("space_initial_share", name, corpus, first)),
                *(count(length) for length in lengths),
            ]
        )
    return lines


def _listed(view: View, corpus: str, what: str) -> Rows:
    found = {
        row["tokenizer"]: row["data"]["tokens"]
        for row in view.findings
        if row["suite"] == "information"
        and row["corpus"] == corpus
        and row["data"].get("class") == what
    }
    return [
        [marked(view, name, corpus), _tokens(found[name])]
        for name in order(view)
        if found.get(name)
    ]


def _tokens(tokens: Sequence[Row]) -> str:
    return " · ".join(
        code(_shown(token)) + (f" {token['count']:,}" if "count" in token else "")
        for token in tokens
    )


def _shown(token: Row) -> str:
    if token["bytes"] is None:
        return f"(id {token['id']})"
    return shown_bytes(bytes.fromhex(token["bytes"]))


def _lengths(view: View, corpus: str) -> Rows:
    shares: dict[tuple[str, int], float] = {}
    titles: dict[int, str] = {}
    for name in order(view):
        for row in view.rows_at("token_length_share", name, corpus):
            params = row["params"]
            longer = params.get("bytes_above")
            place = params["bytes"] if longer is None else longer + 1
            titles[place] = str(place) if longer is None else f"more than {longer}"
            shares[name, place] = row["value"]
    return [
        [titles[place], *(percent(shares.get((name, place))) for name in order(view))]
        for place in sorted(titles)
    ]


def _witnesses(view: View, corpus: str) -> Rows:
    found = [f for f in view.findings if f["suite"] == "witnesses" and f["corpus"] == corpus]
    return [
        [
            escape(w["tokenizer"]),
            escape(w["language"]),
            escape(w["document_id"] or "–"),
            escape(meaning_of(w)),
            code(shown_text(w["data"]["text"])),
            code(shown_text(w["data"]["back"])),
            count(w["data"]["texts"]),
        ]
        for w in found[:MOST_WITNESSES]
    ]
