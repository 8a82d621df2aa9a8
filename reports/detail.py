"""Everything that has no place in the report of a run: spread, context, lengths, information."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.markup import count, escape, markdown_table, number, percent, visible
from bench.plugins import ReportPlugin
from bench.results import Results
from reports.view import Row, View

Rows = list[list[str]]


class Detail(ReportPlugin):
    """`detail.md`: languages and scripts, pairs of tokenizers, entropies, tokens by use."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `detail.md`."""
        view = View(results)
        blocks = [f"# {escape(results.name)}, in detail"]
        for corpus in view.corpora:
            blocks.append(f"## {escape(corpus)}")
            for title, remark, table in _sections(view, corpus):
                blocks += [f"### {title}", remark, table]
        return {"detail.md": "\n\n".join(blocks) + "\n"}


def _sections(view: View, corpus: str) -> Iterator[tuple[str, str, str]]:
    """Yield title, remark and table of every section that has rows."""
    for title, remark, header, rows, left in (
        (
            "How unequal languages are",
            "Premiums over all languages of the corpus, the pivot among them, then over the "
            "languages of each script with two or more. Every language counts once.",
            ["tokenizer", "script", "languages", "mean", "Gini", "95 % interval", "highest ÷ lowest",
             "deviation", "above 1.5", "above 2"],
            _spread(view, corpus),
            2,
        ),
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
            "In how many languages the row surely needs fewer tokens than the column: the paired "
            "95 % interval of their ratio is below 1.",
            ["", *map(escape, view.tokenizers)],
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
            "Information",
            "Over all languages of the corpus. Efficiency is entropy ÷ log₂ of the ids seen "
            "(observed) or of all entries (nominal).",
            ["tokenizer", "Shannon, bits", "Rényi, bits", "observed", "nominal", "Zipf exponent",
             "vocabulary seen", "new ids in as much text again"],
            _information(view, corpus),
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
    ):  # fmt: skip
        if rows:
            yield title, remark, markdown_table(header, rows, left=left)


def _spread(view: View, corpus: str) -> Rows:
    return [
        _spread_line(view, corpus, name, row)
        for name in view.tokenizers
        for row in sorted(view.rows_at("gini", name, corpus), key=_script)
        if row["value"] is not None
    ]


def _script(row: Row) -> str:
    return row["params"].get("script") or ""


def _spread_line(view: View, corpus: str, name: str, gini: Row) -> list[str]:
    script = gini["params"]["script"]

    def of(metric: str, **params: Any) -> float | None:
        return view.value(metric, name, corpus, None, script=script, **params)

    return [
        escape(name),
        script or "all",
        count(gini["n"]),
        number(of("mean_premium")),
        number(gini["value"], 3),
        _interval(gini, 3),
        number(of("premium_max_min")),
        number(of("premium_standard_deviation")),
        percent(of("languages_above", above=1.5)),
        percent(of("languages_above", above=2.0)),
    ]


def _interval(row: Row | None, digits: int = 2, scale: float = 1.0) -> str:
    if row is None or row["ci_low"] is None or row["ci_high"] is None:
        return "–"
    return f"{row['ci_low'] * scale:.{digits}f} to {row['ci_high'] * scale:.{digits}f}"


def _per_character(view: View, corpus: str) -> Rows:
    lines = []
    for language in view.languages(corpus):
        for name in view.tokenizers:
            value = view.value("tokens_per_character", name, corpus, language)
            if value is None:
                continue
            overhead = view.row("overhead", name, corpus, language)
            lines.append(
                [
                    escape(language),
                    escape(name),
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
    for name in view.tokenizers:
        for language in view.languages(corpus):
            for row in view.rows_at("token_ratio", name, corpus, language):
                compared, other = True, row["params"]["other"]
                if row["ci_high"] is not None and row["ci_high"] < 1:
                    fewer[name, other] = fewer.get((name, other), 0) + 1
                if row["ci_low"] is not None and row["ci_low"] > 1:
                    fewer[other, name] = fewer.get((other, name), 0) + 1
    if not compared:
        return []
    return [
        [escape(a), *("" if a == b else str(fewer.get((a, b), 0)) for b in view.tokenizers)]
        for a in view.tokenizers
    ]


def _emitted(view: View, corpus: str) -> Rows:
    first = view.languages(corpus)[0]
    lines = []
    for name in view.tokenizers:
        if view.value("graphemes_per_token", name, corpus, first) is None:
            continue
        lengths = [
            view.value("token_length", name, corpus, first, quantile=q) for q in (0.5, 0.9, 1.0)
        ]
        lines.append(
            [
                escape(name),
                number(view.value("graphemes_per_token", name, corpus, first)),
                number(view.value("normalized_sequence_length", name, corpus, first)),
                percent(view.value("space_initial_share", name, corpus, first)),
                *(count(length) for length in lengths),
            ]
        )
    return lines


def _information(view: View, corpus: str) -> Rows:
    lines = []
    for name in view.tokenizers:
        shannon = view.value("shannon_entropy", name, corpus)
        if shannon is None:
            continue
        new = view.row("expected_new_ids", name, corpus)
        shares = [
            view.value("renyi_efficiency", name, corpus, basis=basis)
            for basis in ("observed", "nominal")
        ]
        lines.append(
            [
                escape(name),
                number(shannon),
                number(view.value("renyi_entropy", name, corpus)),
                *(percent(share) for share in shares),
                number(view.value("zipf_exponent", name, corpus)),
                percent(view.value("vocabulary_utilization", name, corpus)),
                f"{count(new['value'])} ({_interval(new, 0)})" if new else "–",
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
    return [[escape(name), _tokens(found[name])] for name in view.tokenizers if found.get(name)]


def _tokens(tokens: Sequence[Row]) -> str:
    return " · ".join(
        f"<code>{escape(_shown(token))}</code>"
        + (f" {token['count']:,}" if "count" in token else "")
        for token in tokens
    )


def _shown(token: Row) -> str:
    """Return a token's bytes as text, those that are no character as escapes."""
    if token["bytes"] is None:
        return f"(id {token['id']})"
    text = bytes.fromhex(token["bytes"]).decode("utf-8", "surrogateescape")
    return "".join(
        f"\\x{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text
    )
