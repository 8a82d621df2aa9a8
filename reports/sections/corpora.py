"""What a report says about one corpus: by tokenizer, by language, premiums, words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tokbench.bench.markup import count, escape, number, percent, plural, word_for
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import explained, mark_of, marked
from tokbench.reports.mix import order
from tokbench.reports.sections.cautions import (
    COMPRESSION_ALONE,
    boundary_sections,
    english_alone,
    joined_words,
)
from tokbench.reports.tables import by_language, folded, interval_of, value_of, with_interval
from tokbench.reports.view import (
    Row,
    TokenizerSummary,
    View,
    first_in,
    has_place,
    is_first,
    median_premium,
    summarize,
)


def corpus_sections(view: View, corpus: str) -> Iterator[str]:
    """Yield what there is on every corpus, whatever suites ran."""
    kind = "Code" if view.kind(corpus) == "code" else "Natural language"
    yield f"## {kind}: {escape(corpus)}"
    yield _about(view, corpus)
    found = {line.tokenizer: line for line in summarize(view, corpus)}
    lines = [found[name] for name in order(view) if name in found]
    if not lines:
        yield "No tokenizer has results on this corpus; see below."
        return
    yield _by_tokenizer(view, corpus, lines)
    if notes := list(explained(view, corpus)):
        yield "  \n".join(notes)
    names = [line.tokenizer for line in lines]
    yield from _sizes(view, corpus, names)
    yield from _other_ratios(view, corpus, names)
    yield from _per_character(view, corpus, names)
    yield from _premiums(view, corpus, names)
    yield from _lengths(view, corpus)
    yield from _words(view, corpus, names)
    yield from boundary_sections(view, corpus, names)


def _sizes(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    if not any(list(view.values("bytes_per_token", name, corpus)) for name in names):
        return
    yield "### Bytes per token"
    yield (
        "Higher is better. Read along a row: it compares tokenizers within a language, never "
        "languages with each other. Bold: rank 1, no other tokenizer is better by its interval. "
        f"{COMPRESSION_ALONE} {english_alone(view, corpus)}".rstrip()
    )
    yield by_language(view, corpus, names, _bytes_per_token)
    yield folded(
        "95 % intervals of bytes per token",
        by_language(view, corpus, names, interval_of("bytes_per_token")),
    )


def _about(view: View, corpus: str) -> str:
    metas = view.corpora[corpus]
    languages = view.languages(corpus)
    n_bytes = sum(meta["bytes"] for meta in metas.values())
    pivot = view.pivot(corpus)
    if pivot and view.refusal(corpus):
        aligned = f", declared parallel with pivot {escape(pivot)}, but its ids differ (see below)"
    else:
        matched = escape(metas[languages[0]].get("matched_by", "id"))
        aligned = (
            f", parallel by {matched} with pivot {escape(pivot)}" if pivot else ", not parallel"
        )
    skipped = sum(sum(meta["rows_skipped"].values()) for meta in metas.values())
    lost = (
        f" {plural(skipped, 'row')} {word_for(skipped, 'was', 'were')} skipped (see below)."
        if skipped
        else ""
    )
    unit = metas[languages[0]]["unit"]
    return (
        f"{plural(len(languages), 'language')}, {view.documents(corpus)} each{aligned}; {n_bytes:,} bytes of UTF-8 in all. "
        f"A document is one {escape(unit)}; rows: {escape(metas[languages[0]]['rows_asked'])}.{lost}"
        f"{_read_from(metas.values())}"
    )


def _read_from(metas: Iterable[Mapping[str, Any]]) -> str:
    """Say how many files were read, where they were files."""
    files = {source["path"] for meta in metas for source in meta["sources"] if "path" in source}
    return f" Read from {plural(len(files), 'file')}." if files else ""


def _lengths(view: View, corpus: str) -> Iterator[str]:
    """Show how lengths go with the pivot's, where text is parallel."""
    for finding in view.findings:
        if finding["reason"] == "lengths_disagree" and finding["corpus"] == corpus:
            yield f"**Perhaps not parallel: {escape(finding['language'])}.** {escape(finding['message'])}."
    rows = []
    for language, meta in view.corpora[corpus].items():
        if (facts := meta.get("alignment")) is not None:
            ratios = (facts[f"ratio_{name}"] for name in ("10", "median", "90"))
            correlations = (facts["length_correlation"], facts["lowest_in_a_part"])
            rows.append([escape(language), *(number(one) for one in (*ratios, *correlations))])
    if rows:
        header = ["language", "ratio, 10 %", "median", "90 %", "rank correlation", "lowest part"]
        about = "Characters of each document ÷ those of the pivot's, and how lengths go together"
        yield folded(about, table(header, rows))


def _by_tokenizer(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> str:
    pivot = view.pivot(corpus)
    shown = pivot or view.languages(corpus)[0]
    header = ["tokenizer", "entries", "tokens", f"bytes/token, {escape(shown)}"]
    if pivot:
        header += ["median premium", "highest premium"]
    header += ["first in", "exact round trips", "UNK", "bytes lost"]
    rows = []
    for line in lines:
        row = view.row("bytes_per_token", line.tokenizer, corpus, shown)
        cells = [
            marked(view, line.tokenizer, corpus),
            count(line.n_entries),
            count(line.tokens),
            with_interval(row),
        ]
        if pivot:
            highest = line.highest_premium
            cells += [
                escape(median_premium(line)),
                f"{number(highest[1])} {escape(highest[0])}" if highest else "–",
            ]
        cells += [
            first_in(line),
            percent(line.exact),
            percent(line.unk_rate),
            percent(line.lost_share),
        ]
        rows.append(cells)
    return table(header, rows)


def _bytes_per_token(view: View, tokenizer: str, corpus: str, language: str) -> str:
    text = number(view.value("bytes_per_token", tokenizer, corpus, language))
    rank = view.row("rank", tokenizer, corpus, language)
    if rank is None or not has_place(rank):
        return text + mark_of(view.row("bytes_per_token", tokenizer, corpus, language))
    return f"**{text}**" if is_first(rank) else text


def _other_ratios(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    for metric, title in (
        ("characters_per_token", "Characters per token (code points)"),
        ("graphemes_per_token", "Graphemes per token (characters as readers count them)"),
    ):
        if _has(view, metric, corpus, names):
            yield folded(title, by_language(view, corpus, names, value_of(metric)))
    metric = "normalized_sequence_length"
    if _has(view, metric, corpus, names):
        known = (row for name in names for row in _rows(view, metric, name, corpus))
        reference = escape(next(known)["params"]["reference"])
        cells = by_language(view, corpus, names, value_of(metric, _three))
        yield folded(f"Tokens ÷ those of {reference} on the same documents", cells)


def _three(value: float | None) -> str:
    return number(value, 3)


def _rows(view: View, metric: str, name: str, corpus: str) -> list[Row]:
    found = (view.rows_at(metric, name, corpus, language) for language in view.languages(corpus))
    return [row for rows in found for row in rows if row["value"] is not None]


def _has(view: View, metric: str, corpus: str, names: Sequence[str]) -> bool:
    return any(_rows(view, metric, name, corpus) for name in names)


def _premiums(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    pivot = view.pivot(corpus)
    if pivot is None:
        return
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    if metric == "premium":
        yield "### Premium"
        yield (
            f"Tokens of a language ÷ tokens of the same documents in {escape(pivot)}: "
            "1.50 means half as many tokens again for the same content. Lower is better."
        )
    else:
        yield "### Program premium"
        yield (
            f"Tokens of the same programs ÷ their tokens in {escape(pivot)}, beside the ratio of "
            "characters: a language that needs more text needs more tokens."
        )
    yield _premium_table(view, corpus, names, metric)
    yield folded("95 % intervals", by_language(view, corpus, names, interval_of(metric)))
    if _has(view, "overhead", corpus, names):
        cells = by_language(view, corpus, names, value_of("overhead", percent))
        yield folded("Overhead: what is paid more than in the pivot", cells)


def _per_character(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    if not _has(view, "tokens_per_character", corpus, names):
        return

    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        total = view.value("tokens_per_character", tokenizer, corpus, language)
        mean = view.value("mean_tokens_per_character", tokenizer, corpus, language)
        mark = mark_of(view.row("tokens_per_character", tokenizer, corpus, language))
        return number(total, 3) + ("" if mean is None else f" ({number(mean, 3)})") + mark

    yield folded(
        "Tokens per character, of totals (in brackets the mean over documents, as exercises "
        "compute it); it does not compare languages",
        by_language(view, corpus, names, cell),
    )


def _premium_table(view: View, corpus: str, names: Sequence[str], metric: str) -> str:
    cell = value_of(metric)
    if metric == "premium":
        return by_language(view, corpus, names, cell)
    rows = []
    for language in view.languages(corpus):
        ratios = (view.value("characters_ratio", name, corpus, language) for name in names)
        characters = number(next((ratio for ratio in ratios if ratio is not None), None))
        values = (cell(view, name, corpus, language) for name in names)
        rows.append([escape(language), characters, *values])
    return table(["language", "characters", *(marked(view, n, corpus) for n in names)], rows)


def _segmenters(metas: Mapping[str, Any]) -> str:
    """Name the languages whose words another segmenter found."""
    other = {
        key: meta["segmenter"]
        for key, meta in metas.items()
        if meta["segmenter"] and not meta["segmenter"].startswith("UAX #29")
    }
    return "".join(f"; {escape(key)}: {escape(name)}" for key, name in other.items())


def _words(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    metas = view.corpora[corpus]
    without = {k: m["words_reason"] for k, m in metas.items() if m["words_reason"]}
    if view.kind(corpus) == "code" or len(without) == len(metas):
        return

    yield "### Fertility"
    yield (
        f"Mean tokens that overlap a word (UAX 29{_segmenters(metas)}). It does not compare "
        "languages, since what a word is differs; a dash stands where words are not defined."
    )
    yield by_language(view, corpus, names, value_of("fertility"))
    yield from joined_words(view, corpus, names)
    for metric, title, write in (
        ("proportion_of_continued_words", "Words cut in two or more", percent),
        ("single_token_word_share", "Words in a token of their own", percent),
        ("tokens_per_word", "All tokens ÷ words, punctuation and spaces too", number),
    ):
        yield folded(title, by_language(view, corpus, names, value_of(metric, write)))
