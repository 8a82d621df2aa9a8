"""Where the history of several runs changes: exact values, and speed beyond its noise.

An exact value has changed if it is another one on the same text: no tolerance. A value is held
against the last run before that has it, so a run that lacks it hides nothing. A stored ratio of
speeds has changed if its interval lies outside the band of the runs since the last change, by more
than `tokbench.bench.compare.stored_speed.MOVED`, and the next run on the same machine agrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from tokbench.bench.compare.snapshot import Key, Snapshot, Value
from tokbench.bench.compare.stored_speed import (
    MOVED,
    machine_differences,
    ratio_figures,
    stored_ratios,
)
from tokbench.bench.compare.verdicts import Verdict
from tokbench.bench.markup import listed, plural
from tokbench.bench.results.run_folder import Results
from tokbench.reports.comparison.moves import change, figure, where

LEADING = (
    "fingerprint",
    "n_entries",
    "ids",
    "tokens",
    "bytes_per_token",
    "premium",
    "round_trip[class=exact]",
)
"""Metrics that have a row each where none are named; the others of a place share one."""

Runs = Sequence[tuple[str, Snapshot]]


class ChangePoint(NamedTuple):
    """One metric of one tokenizer on one corpus changed between two runs."""

    before: str
    after: str
    versions: tuple[str, ...]
    """Libraries that changed there, as ``name old → new``."""
    tokenizer: str | None
    corpus: str | None
    metric: str
    languages: tuple[str, ...]
    old: str
    new: str
    change: str
    """Of the language that changed most."""

    def cells(self) -> list[str]:
        """Return the cells of a table with the columns `HEADER`."""
        return [
            self.after,
            self.before,
            ", ".join(self.versions) or "none",
            self.tokenizer or "all",
            self.corpus or "all",
            self.metric,
            where(self.languages) or "all",
            self.old,
            self.new,
            self.change,
        ]


HEADER = (
    "changed at",
    "since",
    "libraries changed",
    "tokenizer",
    "corpus",
    "metric",
    "language",
    "before",
    "after",
    "change",
)
LEFT = 7
"""Columns from here on are figures."""


class _Step(NamedTuple):
    """A value that differs from that of an earlier run."""

    before: int
    after: int
    key: Key
    old: Value
    new: Value

    @property
    def size(self) -> float:
        """How much it changed, relative where it can be; hashes count as nothing."""
        old, new = self.old.value, self.new.value
        if isinstance(old, str) or isinstance(new, str) or old is None or new is None:
            return 0.0
        return abs(new / old - 1) if old else abs(new)


def change_points(runs: Runs, metrics: Sequence[str] = ()) -> list[ChangePoint]:
    """Return where exact values changed, oldest first; `metrics` chooses, by default all."""
    groups: dict[tuple[Any, ...], list[_Step]] = {}
    for step in _steps(runs, metrics):
        name = step.key.name
        shown = name if metrics or name in LEADING else ""
        place = step.before, step.after, step.key.tokenizer, step.key.corpus
        groups.setdefault((*place, shown), []).append(step)
    order = sorted(groups, key=lambda g: (g[1], g[0], g[2] or "", g[3] or "", _place(g[4])))
    return [_point(runs, groups[group], group[4]) for group in order]


def _place(name: str) -> tuple[bool, int, str]:
    return not name, LEADING.index(name) if name in LEADING else len(LEADING), name


def _steps(runs: Runs, metrics: Sequence[str]) -> Iterator[_Step]:
    keys = {
        key
        for _, snapshot in runs
        for key in snapshot.values
        if not metrics or key.name in metrics or key.metric in metrics
    }
    for key in sorted(keys, key=Key.order):
        last: tuple[int, Value, object] | None = None
        for number, (_, snapshot) in enumerate(runs):
            value = snapshot.values.get(key)
            if value is None or value.value is None or snapshot.why_incomplete(key):
                continue
            text = _text(snapshot, key)
            if last is not None and last[2] == text and last[1].value != value.value:
                yield _Step(last[0], number, key, last[1], value)
            last = number, value, text


def _text(snapshot: Snapshot, key: Key) -> object:
    """Return what identifies the text of a value: the hash of each slice that it is about."""
    return sorted(
        (place.language, facts.sha256)
        for place, facts in snapshot.slices.items()
        if place.corpus == key.corpus and key.language in (None, place.language)
    )


def _point(runs: Runs, steps: Sequence[_Step], name: str) -> ChangePoint:
    worst = max(steps, key=lambda step: step.size)
    before, after = (runs[i] for i in (worst.before, worst.after))
    names = dict.fromkeys(step.key.name if name else step.key.metric for step in steps)
    languages = dict.fromkeys(step.key.language for step in steps if step.key.language)
    old, new = worst.old.value, worst.new.value
    verdict = Verdict(key=worst.key, outcome="changed", base=old, candidate=new)
    single = bool(name) or len({step.key.name for step in steps}) == 1
    return ChangePoint(
        before=before[0],
        after=after[0],
        versions=tuple(versions_between(before[1].versions, after[1].versions)),
        tokenizer=worst.key.tokenizer,
        corpus=worst.key.corpus,
        metric=worst.key.name
        if single
        else f"{plural(len(names), 'other')}: {listed(list(names), 3)}",
        languages=tuple(languages),
        old=figure(old) if single else "–",
        new=figure(new) if single else "–",
        change=change(verdict) if single and not isinstance(old, str) else "–",
    )


def versions_between(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield the libraries whose versions differ.

    >>> list(versions_between({"a": "1", "b": "1"}, {"a": "2", "b": "1"}))
    ['a 1 → 2']
    """
    for name in sorted({*before, *after}):
        old, new = before.get(name, "absent"), after.get(name, "absent")
        if old != new:
            yield f"{name} {old} → {new}"


def sentences(runs: Runs, points: Sequence[ChangePoint], metrics: Sequence[str]) -> Iterator[str]:
    """Yield what changed at which run, in a sentence each."""
    what = "No exact value" if not metrics else f"Nothing of {listed(list(metrics))}"
    if not points:
        yield f"{what} changed over {plural(len(runs), 'run')}."
    for name in dict.fromkeys(point.after for point in points):
        mine = [point for point in points if point.after == name]
        tokenizers = dict.fromkeys(point.tokenizer or "all" for point in mine)
        versions = dict.fromkeys(version for point in mine for version in point.versions)
        cause = f" ({', '.join(versions)})" if versions else " (same library versions)"
        yield f"At {name}{cause}, values of {listed(list(tokenizers), 4)} changed."


class SpeedPoint(NamedTuple):
    """A stored ratio of speeds left its band."""

    before: str
    after: str
    versions: tuple[str, ...]
    place: str
    old: str
    new: str
    change: float
    """The ratio ÷ the median of the band."""
    confirmed: bool
    """Whether the next run on the same machine agrees; false where there is none."""

    def cells(self) -> list[str]:
        """Return the cells of a table with the columns `SPEED_HEADER`."""
        return [
            self.after,
            self.before,
            ", ".join(self.versions) or "none",
            self.place,
            "yes" if self.confirmed else "no later run",
            self.old,
            self.new,
            f"× {self.change:.2f}",
        ]


SPEED_HEADER = (
    "changed at",
    "since",
    "libraries changed",
    "ratio",
    "confirmed",
    "band before",
    "after",
    "change",
)
SPEED_LEFT = 5
"""Columns from here on are figures."""


class TimedRun(NamedTuple):
    """The stored ratios of a run, by place and kind of call, and the machine they are from."""

    name: str
    environment: Mapping[str, Any]
    versions: Mapping[str, str]
    ratios: Mapping[tuple[Any, ...], Mapping[str, Any]]


def timed_runs(names: Iterable[str], results: Iterable[Results]) -> list[TimedRun]:
    """Return the runs that were timed."""
    found = [
        TimedRun(name, run.environment, run.run["versions"], stored_ratios(run))
        for name, run in zip(names, results, strict=True)
    ]
    return [run for run in found if run.ratios]


def speed_points(runs: Sequence[TimedRun]) -> list[SpeedPoint]:
    """Return where ratios left their noise band, oldest first."""
    keys = dict.fromkeys(key for run in runs for key in run.ratios)
    found = [(i, point) for key in keys for i, point in _of_ratio(runs, key)]
    return [point for _, point in sorted(found, key=lambda one: (one[0], one[1].place))]


def _of_ratio(runs: Sequence[TimedRun], key: tuple[Any, ...]) -> Iterator[tuple[int, SpeedPoint]]:
    mine = [(i, run) for i, run in enumerate(runs) if key in run.ratios]
    band: list[TimedRun] = []
    for place, (number, run) in enumerate(mine):
        row = run.ratios[key]
        if band and any(machine_differences(band[-1].environment, run.environment)):
            band = []
        direction = _outside(band, key, row)
        later = mine[place + 1 :][:1]
        after = [
            r for _, r in later if not any(machine_differences(run.environment, r.environment))
        ]
        if direction and all(_outside(band, key, r.ratios[key]) == direction for r in after):
            yield number, _speed_point(band, run, key, confirmed=bool(after))
            band = []
        if not direction or not band:
            band = [*band, run]


def _outside(band: Sequence[TimedRun], key: tuple[Any, ...], row: Mapping[str, Any]) -> int:
    """Return 1 or -1 where a ratio lies above or below the band of some runs, else 0."""
    if not band:
        return 0
    low, centre, high = _band(band, key)
    if row["ci_low"] > high and row["value"] / centre > MOVED:
        return 1
    return -1 if row["ci_high"] < low and centre / row["value"] > MOVED else 0


def _band(runs: Sequence[TimedRun], key: tuple[Any, ...]) -> tuple[float, float, float]:
    """Return the medians of the low ends, the ratios and the high ends."""
    rows = [run.ratios[key] for run in runs]
    low, centre, high = (median(r[name] for r in rows) for name in ("ci_low", "value", "ci_high"))
    return low, centre, high


def _speed_point(
    band: Sequence[TimedRun], run: TimedRun, key: tuple[Any, ...], *, confirmed: bool
) -> SpeedPoint:
    row = run.ratios[key]
    low, centre, high = _band(band, key)
    params = row["params"]
    kind = [str(params[name]) for name in ("phase", "call") if params.get(name)]
    place = " / ".join(filter(None, (row["tokenizer"], row["corpus"], row["language"])))
    return SpeedPoint(
        before=band[-1].name,
        after=run.name,
        versions=tuple(versions_between(band[-1].versions, run.versions)),
        place=f"{place}, {', '.join(kind)}, times as fast as {params.get('reference')}",
        old=ratio_figures({"value": centre, "ci_low": low, "ci_high": high}),
        new=ratio_figures(row),
        change=row["value"] / centre,
        confirmed=confirmed,
    )


SPEED_NOTE = (
    "A ratio to the pinned tokenizer of its run has changed if its interval lies outside the band "
    "(the medians of values and intervals since the last change) by more than "
    f"{MOVED - 1:.0%}, and the next run on the same machine agrees. To confirm, time both versions "
    "with tokbench speed or tokbench bisect."
)
