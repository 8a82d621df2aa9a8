"""The table by tokenizer of each corpus, for a terminal: what `tokbench run` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tokbench.bench.console import Painted
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, number, percent, plural, suggest
from tokbench.reports.marks import explained, marks_of
from tokbench.reports.mix import Mix, answer, focus_of, mix_for, mix_of, order
from tokbench.reports.sections.conformance import WRONG, mark_explained, not_right
from tokbench.reports.terminal.layout import ScreenColumn, lay, wrapped
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import (
    ONE_BATCH,
    TokenizerSummary,
    View,
    first_in,
    median_premium,
    summarize,
)

Lines = Iterator[Sequence[Painted]]


def overview(view: View, focus: Mapping[str, float], width: int | None) -> Lines:
    """Yield the sentences of a run, then a table for each corpus; `focus` in place of the config's.

    Columns go in this order where the terminal is narrow: highest premium, vocabulary, exact,
    first in, speed, premium, lost, place, tokens.
    """
    corpora = _with_focus(view, focus)
    for sentence in verdicts(view):
        yield from _plain(sentence, width)
    for corpus in corpora:
        yield [("", None)]
        yield from _corpus(view, corpus, focus, width)
    for sentence in mark_explained(view):
        yield [("", None)]
        yield from _plain(sentence, width)


def standings_of(view: View, focus: Mapping[str, float]) -> dict[str, Any]:
    """Return unit, weights and standings of each corpus that the overview shows."""
    mixes = {
        c: mix_for(view, c, focus) if focus else mix_of(view, c) for c in _with_focus(view, focus)
    }
    return {
        corpus: {
            "unit": mix.unit,
            "weights": dict(mix.weights),
            "standings": [asdict(standing) for standing in mix.standings],
        }
        for corpus, mix in mixes.items()
        if mix is not None
    }


def _with_focus(view: View, focus: Mapping[str, float]) -> list[str]:
    """Return the corpora that have all languages of a focus; `UsageError` where none has."""
    corpora = [c for c in view.ordered_corpora if set(focus) <= set(view.corpora[c])]
    if focus and not corpora:
        known = {k for metas in view.corpora.values() for k in metas}
        missing = next((k for k in focus if k not in known), None)
        why = (
            f"no language {missing!r} in this run{suggest(missing, known)}"
            if missing is not None
            else "no corpus of this run has all of these languages"
        )
        raise UsageError(f"--focus: {why}")
    return corpora


def _plain(text: str, width: int | None) -> Lines:
    for line in wrapped(text, width):
        yield [(line, None)]


def _corpus(view: View, corpus: str, focus: Mapping[str, float], width: int | None) -> Lines:
    mix = mix_for(view, corpus, focus) if focus else mix_of(view, corpus)
    languages = plural(len(view.languages(corpus)), "language")
    yield from _plain(f"{corpus}: {languages}, {view.documents(corpus)} each", width)
    if mix is not None and (focus or focus_of(view, corpus)) and (said := answer(mix)):
        yield from _plain(said, width)
    lines = _ordered(view, corpus, mix if focus else None)
    if not lines:
        return
    styles = [_style(view, line, corpus, mix) for line in lines]
    laid = lay(_columns(view, corpus, lines, mix), styles, width)
    yield from laid.lines
    for note in (*_notes(view, corpus, lines, mix, laid.dropped), *explained(view, corpus)):
        yield from _plain(note, width)


def _ordered(view: View, corpus: str, mix: Mix | None) -> list[TokenizerSummary]:
    """Return the summaries in the one order of a report, or in that of a focus asked for."""
    found = {line.tokenizer: line for line in summarize(view, corpus)}
    names = [s.tokenizer for s in mix.standings] if mix is not None else order(view)
    return [found[name] for name in names if name in found]


def _style(view: View, line: TokenizerSummary, corpus: str, mix: Mix | None) -> str | None:
    standing = mix.of(line.tokenizer) if mix else None
    if mix is not None and mix.place(standing) == "1":
        return "best"
    return "unranked" if marks_of(view, line.tokenizer, corpus) else None


def _columns(
    view: View, corpus: str, lines: Sequence[TokenizerSummary], mix: Mix | None
) -> list[ScreenColumn]:
    stands = [mix.of(line.tokenizer) if mix else None for line in lines]
    names = [line.tokenizer + marks_of(view, line.tokenizer, corpus) for line in lines]
    columns = [ScreenColumn("tokenizer", names, 0, left=True)]
    if mix:
        columns += [
            ScreenColumn("× best", [number(s.ratio if s else None, 3) for s in stands], 0),
            ScreenColumn("tokens", [number(s.cost if s else None) for s in stands], 1),
            ScreenColumn("place", [mix.place(s) for s in stands], 2),
        ]
    else:
        columns.append(ScreenColumn("tokens", [count(line.tokens) for line in lines], 1))
    columns.append(ScreenColumn("lost", [percent(line.lost_share) for line in lines], 3))
    if view.pivot(corpus):
        columns.append(ScreenColumn("premium", [median_premium(line) for line in lines], 4))
    if pinned := _pinned(lines):
        wrong = not_right(view)
        cells = [_speed(line, pinned, line.tokenizer in wrong) for line in lines]
        columns.append(ScreenColumn("speed", cells, 5))
    if len(view.languages(corpus)) > 1:
        columns.append(ScreenColumn("first in", list(map(first_in, lines)), 6))
    columns += [
        ScreenColumn("exact", [percent(line.exact) for line in lines], 7),
        ScreenColumn("vocabulary", [count(line.n_entries) for line in lines], 8),
    ]
    if view.pivot(corpus):
        columns.append(ScreenColumn("highest premium", list(map(_highest, lines)), 9))
    return columns


def _highest(line: TokenizerSummary) -> str:
    found = line.highest_premium
    return f"{found[0]} {number(found[1])}" if found else "–"


def _pinned(lines: Sequence[TokenizerSummary]) -> str | None:
    """Return the tokenizer that the others' speed is relative to."""
    ratios = [line.encode_ratio for line in lines if line.encode_ratio is not None]
    return next((r["params"]["reference"] for r in ratios if r["value"] is not None), None)


def _speed(line: TokenizerSummary, pinned: str, is_wrong: bool) -> str:
    """Write how many times as fast as the pinned tokenizer this one is."""
    mark = f" {WRONG}" if is_wrong else ""
    ratio = line.encode_ratio
    if ratio is None or ratio["value"] is None or ratio["params"]["reference"] != pinned:
        return ("1" if line.tokenizer == pinned else "–") + mark
    unsure = "≈ " if ratio["params"]["verdict"] == "not resolvable" else ""
    doubt = " ?" if ratio["detail"] else ""
    return f"{unsure}{number(ratio['value'])}{doubt}{mark}"


def _notes(
    view: View,
    corpus: str,
    lines: Sequence[TokenizerSummary],
    mix: Mix | None,
    dropped: Sequence[str],
) -> Iterator[str]:
    """Yield what the columns shown mean, and which were dropped."""
    meanings = [f"tokens: per {mix.unit}"] if mix and "tokens" not in dropped else []
    if view.pivot(corpus) and "premium" not in dropped:
        meanings.append("premium: median over languages")
    pinned = _pinned(lines)
    if pinned and "speed" not in dropped:
        row = view.row("timing_floor", pinned, corpus, phase="encode", **ONE_BATCH)
        floor = f"; {pinned} against itself: {row['value']:.3f}" if row is not None else ""
        meanings.append(f"speed: encoding, × {pinned}, ≈ not resolvable{floor}")
    if meanings:
        yield f"{'. '.join(meanings)}."
    if dropped:
        yield f"Hidden at this width: {', '.join(dropped)}."
    if (why := view.refusal(corpus)) and view.pivot(corpus):
        yield f"No premiums: {why}"
