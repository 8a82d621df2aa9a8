"""What `report.md` says about a corpus: the answer, one table by tokenizer, two by language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokbench.bench.markup import count, escape, listed, number, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.brief.pictures import images
from tokbench.reports.focus import Standing
from tokbench.reports.marks import legend, marked
from tokbench.reports.mix import Mix, answer, mix_of, order
from tokbench.reports.sections.cautions import COMPRESSION_ALONE, english_alone, joined_words
from tokbench.reports.tables import by_language, unbroken, value_of
from tokbench.reports.view import (
    TokenizerSummary,
    View,
    first_in,
    has_place,
    is_first,
    median_premium,
    summarize,
)


def corpus_section(view: View, corpus: str) -> Iterator[str]:
    """Yield the blocks of one corpus."""
    yield f"## {escape(corpus)}"
    yield about(view, corpus)
    lines = {line.tokenizer: line for line in summarize(view, corpus)}
    names = [name for name in order(view) if name in lines]
    if not names:
        yield "No tokenizer has results on this corpus."
        return
    mix = mix_of(view, corpus)
    if mix is not None and (sentence := answer(mix)):
        yield f"**{escape(sentence)}**"
    yield _by_tokenizer(view, corpus, [lines[name] for name in names], mix)
    if corpus == view.ordered_corpora[0]:
        yield from legend(view)
    yield from joined_words(view, corpus, names)
    yield english_alone(view, corpus)
    yield from images(view, corpus)
    yield from _bytes_per_token(view, corpus, names)
    yield from _not_told_apart(view, corpus, names)
    yield from _premiums(view, corpus, names)


def about(view: View, corpus: str) -> str:
    """Say how large a corpus is, and whether its languages hold the same content."""
    pivot = view.pivot(corpus)
    text = f"{plural(len(view.languages(corpus)), 'language')}, {view.documents(corpus)} each"
    if pivot is None:
        return f"{text}, not parallel."
    if view.refusal(corpus):
        return f"{text}, declared parallel with pivot {escape(pivot)}, but its ids differ."
    return f"{text}, parallel with pivot {escape(pivot)}.{_doubt(view, corpus)}"


def _doubt(view: View, corpus: str) -> str:
    """Name the languages whose text does not look parallel."""
    named = [
        escape(finding["language"])
        for finding in view.findings
        if finding["reason"] == "lengths_disagree" and finding["corpus"] == corpus
    ]
    if not named:
        return ""
    return (
        f" **Perhaps not parallel: {listed(named)}.** The lengths of documents do not follow those "
        "of the pivot, so premiums may mean nothing."
    )


def _by_tokenizer(
    view: View, corpus: str, lines: Sequence[TokenizerSummary], mix: Mix | None
) -> str:
    cost = f"tokens/{mix.unit}" if mix else "tokens"
    header = ["tokenizer", "vocabulary", unbroken(cost)]
    header += [unbroken("× best (95 % interval)"), "place"] if mix else []
    header += [unbroken("median premium")] if view.pivot(corpus) else []
    header += [unbroken("first in")] if len(view.languages(corpus)) > 1 else []
    rows = []
    for line in lines:
        cells = [marked(view, line.tokenizer, corpus), count(line.n_entries)]
        standing = mix.of(line.tokenizer) if mix else None
        cells += _standing_cells(mix, standing) if mix else [count(line.tokens)]
        if view.pivot(corpus):
            cells.append(escape(median_premium(line)))
        if len(view.languages(corpus)) > 1:
            cells.append(first_in(line))
        rows.append([*cells[:1], *map(unbroken, cells[1:])])
    return table(header, rows)


def _standing_cells(mix: Mix, standing: Standing | None) -> list[str]:
    if standing is None:
        return ["–", "–", "–"]
    ratio = number(standing.ratio, 3)
    if standing.low is not None and standing.high is not None and standing.low != standing.high:
        ratio += f" ({number(standing.low, 3)} to {number(standing.high, 3)})"
    return [number(standing.cost), ratio, mix.place(standing)]


def _bytes_per_token(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    if not any(list(view.values("bytes_per_token", name, corpus)) for name in names):
        return
    yield "### Bytes per token"
    yield (
        "Higher is better, within a row. Bold: rank 1, no other tokenizer is better by its "
        "interval. Languages do not compare: their scripts take one to four bytes a character. "
        f"{COMPRESSION_ALONE}"
    )
    yield by_language(view, corpus, names, _ranked_cell)


def _ranked_cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
    text = value_of("bytes_per_token")(view, tokenizer, corpus, language)
    first = is_first(view.row("rank", tokenizer, corpus, language))
    return f"**{text}**" if first else text


def _not_told_apart(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    """Yield the pairs of ranked tokenizers that no language's interval separates."""
    kinds = {view.run["tokenizers"][name]["fingerprint"]: name for name in reversed(names)}
    different = [name for name in names if name in kinds.values()]
    found = {
        language: pairs
        for language in view.languages(corpus)
        if (pairs := [f"{a} ≈ {b}" for a, b in not_told_apart(view, corpus, language, different)])
    }
    if found:
        yield "Ranked tokenizers whose paired 95 % interval contains 1, so neither is better:"
        lines = (f"{k}: {listed(pairs, most=MOST_PAIRS)}" for k, pairs in found.items())
        yield "\n".join(f"- {escape(line)}" for line in lines)


MOST_PAIRS = 6
"""Pairs of one language that are named; `show --metric token_ratio` prints all."""


def not_told_apart(
    view: View, corpus: str, language: str, names: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the pairs of ranked tokenizers whose ratio of tokens may be 1 by its interval."""
    ranks = {name: view.row("rank", name, corpus, language) for name in names}
    ranked = {name for name, rank in ranks.items() if rank is not None and has_place(rank)}
    place = {name: i for i, name in enumerate(names)}
    pairs: set[tuple[str, str]] = set()
    for name in ranked:
        for row in view.rows_at("token_ratio", name, corpus, language):
            other, low, high = row["params"].get("other"), row["ci_low"], row["ci_high"]
            if other in ranked and None not in (low, high) and low <= 1 <= high:
                first, second = sorted((name, other), key=place.__getitem__)
                pairs.add((first, second))
    return sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]]))


def _premiums(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    """Yield one table of premiums; between programming languages beside the ratio of characters."""
    pivot = view.pivot(corpus)
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    if pivot is None or not any(list(view.values(metric, name, corpus)) for name in names):
        return
    yield "### Premium"
    shown = "; `refused` where too much text is lost" if _is_refused(view, metric, corpus) else ""
    yield (
        f"Tokens ÷ tokens of the same documents in {escape(pivot)}. Lower is better{shown}."
        f"{_widest(view, metric, corpus, names)}"
    )
    if metric == "program_premium":
        yield "A language that needs more text needs more tokens: `detail.md` has both ratios."
    yield by_language(view, corpus, names, value_of(metric))


def _widest(view: View, metric: str, corpus: str, names: Sequence[str]) -> str:
    """Say how sure the values are: the widest interval, relative to its value."""
    rows = [
        row
        for name in names
        for language in view.languages(corpus)
        for row in view.rows_at(metric, name, corpus, language)
        if row["ci_low"] is not None and row["ci_high"] is not None and row["value"]
    ]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: (row["ci_high"] - row["ci_low"]) / row["value"])
    ends = f"{number(worst['ci_low'])} to {number(worst['ci_high'])}"
    return (
        f" The widest 95 % interval relative to its value is {ends} around "
        f"{number(worst['value'])} ({escape(worst['tokenizer'])}, {escape(worst['language'])}); "
        "each is on the page, and printed by `tokbench show RUN --language L "
        f"--metric {metric}`."
    )


def _is_refused(view: View, metric: str, corpus: str) -> bool:
    return any(
        row["status"] == "refused"
        for name in view.tokenizers
        for language in view.languages(corpus)
        for row in view.rows_at(metric, name, corpus, language)
    )
