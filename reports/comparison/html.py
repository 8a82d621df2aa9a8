"""A comparison, and several runs, each as one page that works offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokbench.bench.compare.causes import changed_versions
from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import Explanation
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.compare.side_by_side import CutToken
from tokbench.bench.compare.snapshot import Key, snapshot_of
from tokbench.bench.markup import count, number, plural, signed_percent
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.comparison.change_points import (
    HEADER,
    LEFT,
    SPEED_HEADER,
    SPEED_LEFT,
    SPEED_NOTE,
    change_points,
    sentences,
    speed_points,
    timed_runs,
)
from tokbench.reports.comparison.facts import SizeFact, size_facts
from tokbench.reports.comparison.history import Runs, cells, metrics_of, names_of
from tokbench.reports.comparison.markdown import METHOD
from tokbench.reports.comparison.moves import (
    EFFECT_NAMES,
    Move,
    change,
    figure,
    moves,
    piece,
    pieces,
    reason_of,
    signed,
    where,
)
from tokbench.reports.page.document import Cuts, Section, Table, Token, document


class ComparisonHtml(ComparisonPlugin):
    """`comparison.html`: the comparison on one page that works offline."""

    def render(self, comparison: Comparison) -> Mapping[str, str]:
        """Return `comparison.html`."""
        facts = size_facts(comparison)
        answer = [f"{fact.sentence()}{fact.detail()}" for fact in facts]
        title = f"{comparison.base.name} → {comparison.candidate.name}"
        page = document(
            title,
            [*answer, comparison.sentence(), *comparison.remarks],
            [
                *_tokens(facts),
                *_moved(moves(comparison)),
                *_reasons(comparison),
                *_side_by_side(comparison),
                Section(title="Method", sentences=list(_method(comparison))),
            ],
        )
        return {"comparison.html": page}


def _tokens(facts: Sequence[SizeFact]) -> Iterator[Section]:
    if not facts:
        return
    header = ["tokenizer", "corpus", "tokens before", "after", "change", "languages worse"]
    rows = [
        [
            fact.tokenizer,
            fact.corpus,
            count(fact.base),
            count(fact.candidate),
            "–" if fact.change is None else signed_percent(fact.change),
            f"{fact.worse} of {fact.languages}",
        ]
        for fact in facts
    ]
    yield Section(
        title="Tokens",
        tables=[Table(header=header, rows=rows, left=2), *map(_languages, facts)],
    )


def _languages(fact: SizeFact) -> Table:
    parallel = any(line.premium for line in fact.lines)
    header = ["language", "script", "tokens before", "after", "change"]
    header += ["premium before", "premium after"] if parallel else []
    rows = []
    for line in fact.lines:
        row = [line.language, line.script or "–", count(line.base), count(line.candidate)]
        row.append(signed_percent(line.candidate / line.base - 1) if line.base else "–")
        if parallel:
            row += [number(value) for value in line.premium or (None, None)]
        rows.append(row)
    return Table(
        title=f"{fact.tokenizer} on {fact.corpus}",
        header=header,
        rows=rows,
        left=2,
        note="Languages whose tokens did not move are not listed.",
    )


def _moved(found: Sequence[Move]) -> Iterator[Section]:
    if not found:
        return
    header = ["metric", "gate", "verdict", "tokenizer", "corpus", "where", "base", "candidate"]
    rows = [
        [
            move.metric,
            EFFECT_NAMES[move.effect],
            move.outcome,
            move.tokenizer or "all",
            move.corpus or "–",
            where(move.languages) or ("all" if move.corpus else "–"),
            figure(move.worst.base),
            figure(move.worst.candidate),
            change(move.worst),
            reason_of(move) or "–",
        ]
        for move in found
    ]
    note = "Of several languages, the figures are those of the one that moved most."
    table = Table(header=[*header, "change", "why"], rows=rows, left=6, note=note)
    yield Section(title="What moved", tables=[table])


def _reasons(comparison: Comparison) -> Iterator[Section]:
    tables = [table for one in comparison.explanations for table in _explained(one)]
    if tables or comparison.unexplained:
        yield Section(title="Why", sentences=comparison.unexplained, tables=tables)


def _explained(explanation: Explanation) -> Iterator[Table]:
    """Yield the change by part, and the segments that made the largest difference."""
    title = f"{explanation.tokenizer} on {explanation.corpus}"
    for name, parts in explanation.by.items():
        header = [name, "segments", "tokens before", "after", "change"]
        rows = [
            [p.name, *map(count, (p.segments, p.base_tokens, p.candidate_tokens)), signed(p.change)]
            for p in parts
        ]
        yield Table(title=f"{title}, by {name}", header=header, rows=rows)
    if explanation.top:
        header = ["before", "after", "languages", "script", "cause", "times", "tokens"]
        rows = [
            [
                pieces(s.base),
                pieces(s.candidate),
                where(s.languages),
                s.script,
                s.cause,
                count(s.count),
                signed(s.change),
            ]
            for s in explanation.top
        ]
        yield Table(title=f"{title}, segments", header=header, rows=rows, left=5)


def _side_by_side(comparison: Comparison) -> Iterator[Section]:
    """Yield stored texts as both sides cut them; a click opens one, a token tells its id."""
    if comparison.texts:
        yield Section(
            title="Texts",
            sentences=[
                "Texts that both runs hold and whose tokens changed: of each language the one that "
                "grew or shrank most. Tokens with a bar above are cut by one side alone."
            ],
            cuts=[
                Cuts(
                    title=f"{pair.tokenizer} on {pair.corpus}, {pair.language}, document "
                    f"{pair.document_id}: {len(pair.base):,} → {len(pair.candidate):,} tokens",
                    sides=[
                        ("base", list(map(_token, pair.base))),
                        ("candidate", list(map(_token, pair.candidate))),
                    ],
                )
                for pair in comparison.texts
            ],
        )


def _token(token: CutToken) -> Token:
    n = plural(len(token.content), "byte")
    return Token(piece(token.content), f"id {token.id}, {n}", token.shared)


def _method(comparison: Comparison) -> Iterator[str]:
    yield METHOD.replace("*", "").replace("`", "")
    yield ", ".join(f"{n:,} {outcome}" for outcome, n in comparison.counts.items()) + "."
    versions = changed_versions(comparison)
    yield f"Library versions: {', '.join(versions)}." if versions else "Same library versions."


class HistoryHtml(HistoryPlugin):
    """`history.html`: metrics across runs on one page that works offline."""

    def render(self, runs: Sequence[Results], metrics: Sequence[str]) -> Mapping[str, str]:
        """Return `history.html`."""
        found = list(zip(names_of(runs), map(snapshot_of, runs), strict=True))
        sections = [_across(found, metric) for metric in metrics or metrics_of(found)]
        points = change_points(found, metrics)
        answer = [
            *sentences(found, points, metrics),
            f"{len(runs)} runs, the oldest first: {', '.join(name for name, _ in found)}.",
        ]
        changes = [Table(header=HEADER, rows=[point.cells() for point in points], left=LEFT)]
        first = [Section(title="Changes", tables=changes)] if points else []
        sections = [*first, *_speed(found, runs), *sections, _made_with(found)]
        return {"history.html": document("History", answer, sections)}


def _speed(runs: Runs, results: Sequence[Results]) -> Iterator[Section]:
    timed = timed_runs([name for name, _ in runs], results)
    found = speed_points(timed)
    if found:
        rows = [point.cells() for point in found]
        table = Table(header=SPEED_HEADER, rows=rows, left=SPEED_LEFT, note=SPEED_NOTE)
        yield Section(title="Speed", tables=[table])
    elif timed:
        yield Section(title="Speed", sentences=["No stored ratio of speeds left its noise band."])


def _across(runs: Runs, metric: str) -> Section:
    keys = {k for _, s in runs for k in s.values if metric in (k.name, k.metric)}
    rows = [
        [*(part or "all" for part in key[:3]), key.label or "–", *cells(runs, key)]
        for key in sorted(keys, key=Key.order)
    ]
    header = ["tokenizer", "corpus", "language", "which", *(name for name, _ in runs)]
    note = "≠: measured on other text than in the run before, so not to be compared with it."
    marked = any("≠" in cell for row in rows for cell in row)
    table = Table(header=header, rows=rows, left=4, note=note if marked else "")
    return Section(title=metric, tables=[table] if rows else [])


def _made_with(runs: Runs) -> Section:
    libraries = sorted({name for _, snapshot in runs for name in snapshot.versions})
    rows = [[name, *(s.versions.get(one, "–") for one in libraries)] for name, s in runs]
    return Section(title="Versions", tables=[Table(header=["run", *libraries], rows=rows, left=99)])
