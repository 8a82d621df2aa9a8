"""How tokenizers use their vocabularies on a corpus: information, frequencies, headroom."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import count, escape, number, percent, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import marked
from tokbench.reports.mix import order
from tokbench.reports.tables import by_language, crossed, folded, unbroken, value_of
from tokbench.reports.view import Row, View


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence for each corpus on how many tokens other ways of cutting would save."""
    for corpus in view.ordered_corpora:
        found = sorted(
            (1 - fewest / emitted, name)
            for name in order(view)
            if (name, corpus) not in view.unranked
            for emitted, fewest in [_headroom(view, name, corpus)]
            if emitted
        )
        if found and found[-1][0]:
            (least, tightest), (most, loosest) = found[0], found[-1]
            other = f", {tightest} in {percent(least)}" if len(found) > 1 else ""
            yield (
                f"With the same vocabulary and pre-tokens, {loosest} could have written the "
                f"sample of {corpus} in {percent(most)} fewer tokens{other}."
            )


def usage_sections(view: View, corpus: str) -> Iterator[str]:
    """Yield information over all languages, the curve of frequencies, and headroom."""
    yield from _information(view, corpus)
    yield from _neighbours(view, corpus)
    yield from _headroom_section(view, corpus)


def _information(view: View, corpus: str) -> Iterator[str]:
    names = [n for n in order(view) if view.value("shannon_entropy", n, corpus) is not None]
    if not names:
        return
    first = view.row("renyi_entropy", names[0], corpus)
    fitted = [row for n in names if (row := view.row("zipf_exponent", n, corpus)) is not None]
    last = max((row["params"].get("last_rank", 0) for row in fitted), default=0)
    alpha = first["params"]["alpha"] if first else "–"
    yield "### How the vocabulary is used"
    yield (
        "Over all languages of the corpus together, ids out of context. Entropies are bits per "
        f"token, Rényi's with α = {alpha}; efficiency is Rényi's ÷ log₂ of the ids seen, or of all "
        "entries, and no measure of compression; it can rise while quality falls (Cognetta et al. "
        "2024, arXiv 2402.14614). Zipf's exponent is fitted to the "
        f"{last:,} most frequent ids, or all where fewer were seen. New ids: what as much text again is expected to "
        "show, with its 95 % interval."
    )
    header = ["tokenizer", "Shannon, bits", "Rényi, bits", "efficiency, seen", "efficiency, all"]
    header += ["Zipf exponent", "ids seen", "of the vocabulary", "new ids"]
    yield table(header, [_information_line(view, corpus, name) for name in names])
    curve = crossed(
        "share of tokens that are the",
        names,
        [10**k for k in range(6)],
        lambda name, r: percent(view.value("rank_frequency", name, corpus, None, rank=r), 2),
        lambda r: f"{r:,}. most frequent id" if r > 1 else "most frequent id",
        lambda name: marked(view, name, corpus),
    )
    if curve:
        yield folded("Frequency by rank", curve)
    yield from _at_equal_tokens(view, corpus, names)


def _information_line(view: View, corpus: str, name: str) -> list[str]:
    seen = view.row("vocabulary_utilization", name, corpus)
    new = view.row("expected_new_ids", name, corpus)
    cells = [
        number(view.value("shannon_entropy", name, corpus)),
        number(view.value("renyi_entropy", name, corpus)),
        *(
            percent(view.value("renyi_efficiency", name, corpus, basis=basis))
            for basis in ("observed", "nominal")
        ),
        number(view.value("zipf_exponent", name, corpus)),
        count(seen["params"].get("seen") if seen else None),
        percent(seen["value"] if seen else None),
        _new(new),
    ]
    return [marked(view, name, corpus), *map(unbroken, cells)]


def _new(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    if row["ci_low"] is None:
        return count(row["value"])
    return f"{count(row['value'])} ({count(row['ci_low'])} to {count(row['ci_high'])})"


def _at_equal_tokens(view: View, corpus: str, names: list[str]) -> Iterator[str]:
    metric = "vocabulary_utilization_at_equal_tokens"
    found = [
        row
        for row in view.rows
        if row["metric"] == metric and row["corpus"] == corpus and row["value"] is not None
    ]
    if found and len(view.languages(corpus)) > 1:
        tokens = found[0]["params"]["tokens"]
        cells = by_language(view, corpus, names, value_of(metric, lambda v: percent(v, 2)))
        yield folded(f"Share of the vocabulary that {tokens:,} tokens of each language use", cells)


def _neighbours(view: View, corpus: str) -> Iterator[str]:
    """Yield what follows what by language, and the shape of frequencies over all of them."""
    names = [n for n in order(view) if list(view.values("successor_entropy", n, corpus))]
    if not names:
        return
    yield "### What follows what"
    yield (
        "Entropy of the next token given one, in bits (plug-in, so lower on less text), over "
        "adjacent tokens of a document; and how the counts of ids fall off with their rank. None "
        "of these is a quality."
    )
    yield by_language(view, corpus, names, value_of("successor_entropy"))
    for metric, title in (
        ("successor_evenness", "How evenly successors are spread over those seen"),
        ("successor_efficiency", "Entropy of successors ÷ the most there could be"),
        ("accessor_variety", "Different neighbours of an id, on its poorer side"),
    ):
        yield folded(title, by_language(view, corpus, names, value_of(metric)))
    header = ["tokenizer", "area under log-log ranks", "bits off a power law", "Heaps exponent"]
    metrics = ("rank_frequency_area", "power_law_deviation", "heaps_exponent")
    rows = [
        [marked(view, n, corpus), *(number(view.value(m, n, corpus, None)) for m in metrics)]
        for n in names
    ]
    yield table(header, rows)


def _headroom(view: View, name: str, corpus: str) -> tuple[int, int]:
    """Return the tokens emitted on the sample and the fewest possible, over all languages."""
    rows = [
        row
        for language in view.languages(corpus)
        if (row := view.row("segmentation_headroom", name, corpus, language)) is not None
        and row["value"] is not None
    ]
    return (
        sum(row["params"]["emitted"] for row in rows),
        sum(row["params"]["fewest"] for row in rows),
    )


def _headroom_section(view: View, corpus: str) -> Iterator[str]:
    lines, asked = [], 0
    for name in order(view):
        emitted, fewest = _headroom(view, name, corpus)
        values = dict(view.values("segmentation_headroom", name, corpus))
        if not emitted:
            continue
        rows = view.rows_at("segmentation_headroom", name, corpus, next(iter(values)))
        asked = rows[0]["params"]["documents_asked"]
        worst = max(values.items(), key=lambda item: item[1])
        lines.append(
            [
                marked(view, name, corpus),
                count(emitted),
                count(fewest),
                percent(1 - fewest / emitted),
                f"{percent(worst[1])} {escape(worst[0])}" if worst[1] and len(values) > 1 else "–",
            ]
        )
    if not lines:
        return
    yield "### What another way of cutting would save"
    yield (
        f"Tokens emitted on a sample of {plural(asked, 'document')} of each language, against the "
        "fewest that the same vocabulary allows within the same pre-tokens. Fewest is a bound, "
        "not a recommendation: a model reads what it was trained on."
    )
    yield table(["tokenizer", "emitted", "fewest", "headroom", "highest"], lines)
    if len(view.languages(corpus)) > 1:
        names = list(order(view))
        cells = by_language(view, corpus, names, value_of("segmentation_headroom", percent))
        yield folded("Headroom by language", cells)
