"""The report's section on speed: ratios to the pinned tokenizer, what call, what text, how sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tokbench.bench.markup import count, escape, number, plural, word_for
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.marks import mark_of
from tokbench.reports.mix import order
from tokbench.reports.sections.conformance import mark_explained, speed_name
from tokbench.reports.tables import folded
from tokbench.reports.view import Row, View

THROUGHPUTS = {
    "encode": "encode_throughput",
    "decode": "decode_throughput",
    "train": "train_throughput",
}
PHASES = ("encode", "decode", "latency", "train")
RATIO = "relative_speed"
FLOOR = "timing_floor"


class Shape(NamedTuple):
    """What kind of call: values of one shape stand in one table."""

    phase: str
    call: str
    batch_size: int | None
    threads: int
    text: str

    def in_words(self) -> str:
        """Name the call.

        >>> Shape("encode", "batch", 64, 1, "first_sight").in_words()
        'encode: batches of 64 documents, 1 thread, text at first sight'
        """
        sight = "text at first sight" if self.text == "first_sight" else "repeated text"
        threads = plural(self.threads, "thread")
        if self.phase == "latency":
            return f"latency: one call a text, {threads}, {sight}"
        if self.phase == "train":
            return f"train, {threads}"
        calls = f"batches of {self.batch_size:,} documents" if self.batch_size else "one batch"
        if self.call == "single":
            calls = "one call a document"
        return f"{self.phase}: {calls}, {threads}, {sight}"


class SpeedPart(NamedTuple):
    """Which text."""

    corpus: str
    language: str | None
    length: str | None

    def in_words(self) -> str:
        """Name the text."""
        length = f"{self.length.replace('_', ' ')} bytes" if self.length else None
        return ", ".join(filter(None, (self.corpus, self.language, length)))


Values = Mapping[tuple[str, str, Shape, SpeedPart], Row]
"""Rows by metric, tokenizer, shape and part."""


def speed_section(view: View) -> Iterator[str]:
    """Yield the blocks of the section; nothing where nothing was timed."""
    values = _values(view)
    if not values:
        return
    yield "## Speed"
    yield _opening(view, values)
    for shape in dict.fromkeys(s for (_, _, s, _), r in values.items() if r["value"] is not None):
        yield f"### {shape.in_words().capitalize()}"
        yield _ratios(view, values, shape)
        yield from _comparisons(values, shape)
        yield from _absolute(view, values, shape)
    yield from mark_explained(view)
    yield from _texts(values)
    yield from _processes(view)
    yield from _doubts(values)


def _values(view: View) -> Values:
    found: dict[tuple[str, str, Shape, SpeedPart], Row] = {}
    for row in view.timed_rows:
        params = row["params"]
        if row["corpus"] is None:
            continue
        shape = Shape(
            params["phase"],
            params["call"],
            params["batch_size"],
            params["threads"],
            params["text"],
        )
        part = SpeedPart(row["corpus"], row["language"], params["length"])
        # what was imported stands in only where tokbench did not time the same
        found.setdefault((row["metric"], row["tokenizer"], shape, part), row)
    return dict(sorted(found.items(), key=lambda item: PHASES.index(item[0][2].phase)))


def _opening(view: View, values: Values) -> str:
    ratios = [r for (metric, *_), r in values.items() if metric == RATIO and r["value"] is not None]
    cpu = view.results.environment.get("cpu", "an unknown processor")
    if not ratios:
        return (
            f"Measured on {escape(cpu)}. No ratio to a pinned tokenizer could be given; see below."
        )
    params = ratios[0]["params"]
    pinned = ", ".join(dict.fromkeys(escape(r["params"]["reference"]) for r in ratios))
    processes = params["processes"]
    lines = [
        f"Speed relative to {pinned}, timed in the same rounds (2 = twice as fast). "
        "By CPU time on one thread, by wall time on several and for latency.",
        f"{plural(processes, 'fresh process', 'fresh processes')} of each tokenizer, "
        f"{ratios[0]['n']:,} rounds in all, taken in "
        "turns, garbage collection off, ids without offsets.",
        f"In brackets the 95 % interval{_over(params)}. {_multiplicity(params)}",
        f"≈: not resolvable, {_why_not(params)}. The floor is how far the pinned tokenizer was "
        "from itself in a second process.",
        f"Measured on {escape(cpu)}: compare within this page only.",
    ]
    return "\n".join(f"- {line}" for line in lines)


def _over(params: Mapping[str, Any]) -> str:
    if params["interval_over"] == "processes":
        return " over processes"
    return (
        " over rounds: with fewer than three processes it does not cover the difference between "
        "processes"
    )


def _multiplicity(params: Mapping[str, Any]) -> str:
    if params["correction"] == "holm":
        return "Intervals are pointwise; verdicts are corrected for the comparisons of their table."
    return "All intervals are pointwise: on average 1 in 20 misses the true value."


def _comparisons(values: Values, shape: Shape) -> Iterator[str]:
    """Yield how many ratios the table holds, each of which could mislead."""
    rows = (r for (m, _, s, _), r in values.items() if (m, s) == (RATIO, shape))
    row = next((r for r in rows if r["value"] is not None), None)
    if row is not None:
        params = row["params"]
        how = "verdicts corrected by Holm" if params["correction"] == "holm" else "pointwise"
        yield f"{plural(params['comparisons'], 'comparison')}, {how}."


def _why_not(params: Mapping[str, Any]) -> str:
    holm = ", or the correction leaves it open" if params["correction"] == "holm" else ""
    return f"the interval covers 1 or the difference is within the floor{holm}"


def _ratios(view: View, values: Values, shape: Shape) -> str:
    """Texts down, tokenizers across."""
    names = [name for name in order(view) if _has(values, name, shape)]
    pinned = list(dict.fromkeys(n for m, n, s, _ in values if (m, s) == (FLOOR, shape)))
    metric = "latency_p50" if shape.phase == "latency" else THROUGHPUTS[shape.phase]
    parts = _parts(values, shape)
    rows = []
    for part in parts:
        cells = [
            _cell(
                values.get((RATIO, n, shape, part)),
                values.get((metric, n, shape, part)),
                pinned=n in pinned,
            )
            for n in names
        ]
        floors = [values.get((FLOOR, name, shape, part)) for name in pinned]
        shown = [number(row["value"], 3) if row else "–" for row in floors]
        rows.append([escape(part.in_words()), *cells, *shown])
    by = {name: _reference(values, name, shape) for name in names}
    usual = Counter(filter(None, by.values())).most_common(1)
    plain = {None, *(name for name, _ in usual)}
    heads = [
        speed_name(view, n) + ("" if by[n] in plain else f" (by {escape(str(by[n]))})")
        for n in names
    ]
    return table(["text", *heads, *(escape(f"floor of {name}") for name in pinned)], rows)


def _parts(values: Values, shape: Shape) -> list[SpeedPart]:
    """Return the texts that have a value in such calls; the others stand among what was skipped."""
    found = [p for (_, _, s, p), row in values.items() if s == shape and row["value"] is not None]
    return list(dict.fromkeys(found))


def _reference(values: Values, name: str, shape: Shape) -> str | None:
    rows = (r for (m, n, s, _), r in values.items() if (m, n, s) == (RATIO, name, shape))
    return next((r["params"]["reference"] for r in rows if r["value"] is not None), None)


def _has(values: Values, name: str, shape: Shape) -> bool:
    return any(n == name and s == shape for _, n, s, _ in values)


def _cell(ratio: Row | None, speed: Row | None, *, pinned: bool) -> str:
    if ratio is not None and ratio["value"] is not None:
        unsure = "≈ " if ratio["params"]["verdict"] == "not resolvable" else ""
        interval = f"{number(ratio['ci_low'])} to {number(ratio['ci_high'])}"
        return f"{unsure}{number(ratio['value'])} ({interval}){mark_of(ratio)}"
    if speed is not None and speed["value"] is not None:
        return ("pinned" if pinned else "no ratio") + mark_of(speed)
    return str(speed["status"]) if speed is not None else "–"


def _absolute(view: View, values: Values, shape: Shape) -> Iterator[str]:
    """Yield the figures themselves, folded away: they are of this machine alone."""
    metrics: dict[str, Callable[[Row | None], str]] = {"latency_p50": _plain, "latency_p99": _plain}
    if shape.phase != "latency":
        metrics = {THROUGHPUTS[shape.phase]: _with_quartiles}
    for metric, shown in metrics.items():
        found = {(n, p): r for (m, n, s, p), r in values.items() if (m, s) == (metric, shape)}
        names = [name for name in order(view) if any(n == name for n, _ in found)]
        parts = _parts(values, shape)
        if not parts:
            continue
        rows = [[escape(p.in_words()), *(shown(found.get((n, p))) for n in names)] for p in parts]
        unit = next(iter(found.values()))["unit"]
        quartiles = ", in brackets the quartiles of the rounds" if shape.phase != "latency" else ""
        heads = [speed_name(view, name) for name in names]
        yield folded(f"{metric} in {unit}{quartiles}", table(["text", *heads], rows))


def _plain(row: Row | None) -> str:
    return "–" if row is None or row["value"] is None else number(row["value"], 1) + mark_of(row)


def _with_quartiles(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    low, high = row["params"]["quartiles"]
    return f"{number(row['value'], 1)} ({number(low, 1)} to {number(high, 1)}){mark_of(row)}"


def _texts(values: Values) -> Iterator[str]:
    """Yield what was timed: its size and the lengths of its documents."""
    rows: dict[tuple[str, ...], None] = {}
    for (_, _, shape, part), row in values.items():
        lengths = row["params"].get("document_bytes")
        if lengths:
            sight = "first sight, each round" if shape.text == "first_sight" else "repeated"
            sizes = [lengths[name] for name in ("least", "median", "p90", "most")]
            figures = [row["params"]["documents"], row["params"]["bytes"], *sizes]
            rows[escape(part.in_words()), sight, *map(count, figures)] = None
    header = ["text", "seen", "documents", "bytes", "shortest", "median", "90 %", "longest"]
    yield folded("The texts, lengths in bytes", table(header, [list(r) for r in rows], left=2))


def _processes(view: View) -> Iterator[str]:
    rows = []
    for name in order(view):
        loads = view.rows_at("load_time", name, None)
        for load in loads:
            threads = load["params"]["threads"]
            peak = view.row("peak_memory", name, None, threads=threads)
            figures = [number(load["value"], 3), number(peak["value"], 0) if peak else "–"]
            rows.append([escape(name), count(threads), *figures, count(load["n"])])
    if rows:
        header = ["tokenizer", "threads", "load time in s", "peak memory in MB", "processes"]
        note = (
            "Load time holds import, files, and the vocabulary as tokbench reads it. Memory is of "
            "the whole process: compare differences."
        )
        yield folded("Load time and peak memory", f"{note}\n\n{table(header, rows)}")


def _doubts(values: Values) -> Iterator[str]:
    """Yield which figures are uncertain, why, and what to do about it."""
    lines = [
        f"- {escape(name)}, {escape(part.in_words())}, {shape.in_words()}: {escape(row['detail'])}"
        for (_, name, shape, part), row in values.items()
        if row["detail"] and row["status"] == "ok"
    ]
    if lines:
        yield folded(
            f"{plural(len(lines), 'measurement')} {word_for(len(lines), 'is', 'are')} unreliable",
            "\n".join(lines),
        )


def untimed(view: View) -> Iterator[str]:
    """Yield a line for each reason why something could not be timed."""
    groups: dict[str, dict[str, dict[str, None]]] = {}
    for row in view.timed_rows:
        timed = row["corpus"] is not None  # rows of the suite `complexity` are of no corpus
        if timed and row["status"] != "ok" and row["detail"]:
            part = SpeedPart(row["corpus"], row["language"], row["params"]["length"]).in_words()
            of_reason = groups.setdefault(row["detail"], {"tokenizers": {}, "places": {}})
            of_reason["tokenizers"][row["tokenizer"]] = None
            of_reason["places"][part] = None
    for detail, found in groups.items():
        names, places = list(found["tokenizers"]), list(found["places"])
        who = "every tokenizer" if len(names) == len(order(view)) > 1 else ", ".join(names)
        yield f"{escape(who)} on {escape(_listed(places))}: {escape(detail)}"


def _listed(places: Sequence[str]) -> str:
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return "; ".join(places[:3]) + more
