"""How unequal languages are under each tokenizer, and how much of each fits into a context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tokbench.bench.markup import count, escape, number, percent, plural
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import mark_of, marked
from tokbench.reports.mix import order
from tokbench.reports.tables import Cell, by_language, folded
from tokbench.reports.view import Row, View


def verdicts(view: View) -> Iterator[str]:
    """Yield a sentence for each parallel corpus: under whom its languages are most equal."""
    for corpus in view.ordered_corpora:
        rows = [row for name in order(view) if (row := _gini(view, name, corpus)) is not None]
        most = max((row["n"] for row in rows), default=0)
        whole = sorted((row for row in rows if row["n"] == most), key=lambda row: row["value"])
        if not whole or most < 3:
            continue
        left = len(rows) - len(whole)
        aside = f"; {plural(left, 'tokenizer')} left out: some premiums are refused" if left else ""
        yield f"{corpus}: {_evenness(view, corpus, whole)}{aside}."


def _evenness(view: View, corpus: str, ordered: Sequence[Row]) -> str:
    """Say which tokenizer treats languages most evenly, and which least."""
    first, last = ordered[0], ordered[-1]
    ratio = f"most expensive of {first['n']} languages {_ratio(view, corpus, first)} × the cheapest"
    facts = f"({ratio}, Gini {number(first['value'])})"
    if len(ordered) == 1:
        return f"premiums of {first['tokenizer']} are spread {facts}"
    return (
        f"{first['tokenizer']} treats languages most evenly of {len(ordered)} tokenizers {facts}, "
        f"{last['tokenizer']} least ({_ratio(view, corpus, last)} ×, {number(last['value'])})"
    )


def _ratio(view: View, corpus: str, gini: Row) -> str:
    return number(view.value("premium_max_min", gini["tokenizer"], corpus, None, script=None))


def _gini(view: View, tokenizer: str, corpus: str) -> Row | None:
    row = view.row("gini", tokenizer, corpus, None, script=None)
    return row if row is not None and row["value"] is not None else None


def inequality_sections(view: View, corpus: str) -> Iterator[str]:
    """Yield the spread of premiums, and effective contexts."""
    yield from _spread(view, corpus)
    yield from _context(view, corpus)


def _spread(view: View, corpus: str) -> Iterator[str]:
    over_all = [
        _spread_line(view, corpus, name, row)
        for name in order(view)
        if (row := _gini(view, name, corpus)) is not None
    ]
    if not over_all:
        return
    yield "### How unequal the languages are"
    yield (
        "The spread of premiums over the languages of the corpus, the pivot among them; every "
        "language counts once. Gini is 0 when all pay the same. Above: the share of languages, "
        "the pivot aside, whose premium is higher. Tokenizers are compared only where they cover "
        "the same number of languages."
    )
    limits = _limits(view, corpus)
    above = [f"above {limit:g}" for limit in limits]
    header = ["tokenizer", "languages", "mean", "Gini", "highest ÷ lowest", "deviation", *above]
    yield table(header, over_all)
    by_script = [
        [line[0], escape(row["params"]["script"]), *line[1:]]
        for name in order(view)
        for row in sorted(view.rows_at("gini", name, corpus), key=_script)
        if row["value"] is not None and row["params"]["script"]
        for line in [_spread_line(view, corpus, name, row)]
    ]
    if by_script:
        yield folded("By script", table([header[0], "script", *header[1:]], by_script, left=2))


def _script(row: Row) -> str:
    return row["params"].get("script") or ""


def _limits(view: View, corpus: str) -> list[float]:
    found = {
        row["params"]["above"]
        for name in order(view)
        for row in view.rows_at("languages_above", name, corpus)
    }
    return sorted(found)


def _spread_line(view: View, corpus: str, name: str, gini: Row) -> list[str]:
    script = gini["params"]["script"]

    def of(metric: str, **params: Any) -> float | None:
        return view.value(metric, name, corpus, None, script=script, **params)

    interval = "" if gini["ci_low"] is None else f" ({gini['ci_low']:.3f} to {gini['ci_high']:.3f})"
    return [
        marked(view, name, corpus),
        count(gini["n"]),
        number(of("mean_premium")),
        f"{number(gini['value'], 3)}{interval}",
        number(of("premium_max_min")),
        number(of("premium_standard_deviation")),
        *(percent(of("languages_above", above=limit)) for limit in _limits(view, corpus)),
    ]


def _context(view: View, corpus: str) -> Iterator[str]:
    lengths = sorted(
        {
            row["params"]["tokens"]
            for row in view.rows
            if row["metric"] == "context_characters"
            and row["corpus"] == corpus
            and row["value"] is not None
        }
    )
    for length in lengths:
        lines = [
            line
            for name in order(view)
            if (line := _context_line(view, corpus, name, length)) is not None
        ]
        if not lines:
            continue
        pivot = view.pivot(corpus) or view.languages(corpus)[0]
        yield f"### What fits into {length:,} tokens"
        yield from _context_table(view, corpus, length, pivot, lines)


def _context_table(
    view: View, corpus: str, length: int, pivot: str, lines: list[list[str]]
) -> Iterator[str]:
    header = ["tokenizer", f"characters, {escape(pivot)}", f"words, {escape(pivot)}"]
    shared = any(line[3] != "–" for line in lines)
    if shared:
        header += ["content, median language", "content, least"]
        yield (
            "Code points of this text, by totals. Content compares languages: how much of what "
            f"fits in {escape(pivot)} fits in the language. Characters do not, since they differ "
            "in what they say."
        )
    else:
        yield "Code points of this text, by totals; they do not compare languages."
    width = len(header)
    kept = [i for i in range(width) if i < 2 or any(line[i] != "–" for line in lines)]
    yield table([header[i] for i in kept], [[line[i] for i in kept] for line in lines])
    if len(view.languages(corpus)) > 1:
        names = list(order(view))
        cells = by_language(view, corpus, names, _fits(length))
        also = ", and the share of the pivot's content" if shared else ""
        yield folded(f"Characters by language{also}", cells)


def _context_line(view: View, corpus: str, name: str, length: int) -> list[str] | None:
    shown = view.pivot(corpus) or view.languages(corpus)[0]
    shares = {k: v for k, v in view.values("context_share", name, corpus) if k != shown}
    characters = view.value("context_characters", name, corpus, shown, tokens=length)
    if characters is None and not shares:
        return None
    least = min(shares.items(), key=lambda item: item[1], default=None)
    return [
        marked(view, name, corpus),
        count(characters),
        count(view.value("context_words", name, corpus, shown, tokens=length)),
        percent(median(shares.values()) if shares else None),
        f"{percent(least[1])} {escape(least[0])}" if least else "–",
    ]


def _fits(length: int) -> Cell:
    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        row = view.row("context_characters", tokenizer, corpus, language, tokens=length)
        if row is None or row["value"] is None:
            return "refused" if row is not None and row["status"] == "refused" else "–"
        share = view.value("context_share", tokenizer, corpus, language)
        return (
            count(row["value"])
            + ("" if share is None else f" ({percent(share, 0)})")
            + mark_of(row)
        )

    return cell
