"""The measurements of a run as pandas frames: long, or one metric as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.markup import html, plural, suggest
from tokbench.bench.results.params import Row, telling_params

if TYPE_CHECKING:
    import pandas as pd

    from tokbench.bench.results.run_folder import Results

ALL = "all"
"""In a table, the label of a value that a parameter does not restrict, such as all scripts."""

PREFIX = "params."


def long_frame(results: Results, metric: str | None = None) -> pd.DataFrame:
    """Return one row per value; every parameter has a column of its own, ``params.<name>``."""
    frame = _measurements(results, metric)
    params = frame.pop("params")
    names = sorted({name for one in params for name in one})
    columns = {PREFIX + name: _column([one.get(name) for one in params]) for name in names}
    frame = frame.reset_index(drop=True)
    return frame.assign(**columns)


def table_frame(
    results: Results, metric: str, corpus: str | None, column: str, chosen: Mapping[str, Any]
) -> pd.DataFrame:
    """Return one metric, languages × tokenizers, in the order of the config; see `Results.table`."""
    frame = _measurements(results, metric)
    if column not in frame.columns or column == "params":
        raise UsageError(f"no column {column!r}{suggest(column, frame.columns)}")
    frame = _of_corpus(results, frame, metric, corpus)
    wanted = {name.removesuffix("_"): value for name, value in chosen.items()}
    frame = _of_params(frame, metric, wanted)
    rows: list[Row] = [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]
    if any(isinstance(row["language"], str) for row in rows):
        rows = [row for row in rows if isinstance(row["language"], str)]
    telling = telling_params(rows).get(metric, ())
    return _pivoted(results, metric, rows, telling, column)


def _measurements(results: Results, metric: str | None) -> pd.DataFrame:
    """Return the rows of a metric, by default all, with their params as mappings."""
    frame = results.to_pandas()
    if metric is not None:
        known = sorted(frame["metric"].unique())
        if metric not in known:
            raise UsageError(f"{results.name} has no metric {metric!r}{suggest(metric, known)}")
        frame = frame[frame["metric"] == metric].copy()
    parsed = {text: json.loads(text) for text in frame["params"].unique()}
    frame["params"] = [parsed[text] for text in frame["params"]]
    return frame


def _column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return the values of a parameter in the narrowest nullable type that holds them all."""
    import pandas as pd

    series = pd.Series(values, dtype="object")
    kinds = {type(value) for value in values if value is not None}
    if kinds == {float, int}:
        return series.astype("Float64")
    return series.convert_dtypes() if len(kinds) == 1 else series


def _of_corpus(
    results: Results, frame: pd.DataFrame, metric: str, corpus: str | None
) -> pd.DataFrame:
    if corpus is None:
        return frame
    known = sorted(frame["corpus"].dropna().unique())
    if corpus not in known:
        raise UsageError(
            f"{results.name} has no {metric} on a corpus {corpus!r}{suggest(corpus, known)}"
        )
    return frame[frame["corpus"] == corpus]


def _of_params(frame: pd.DataFrame, metric: str, wanted: Mapping[str, Any]) -> pd.DataFrame:
    known = {name for one in frame["params"] for name in one}
    for name, value in wanted.items():
        if name not in known:
            raise UsageError(f"{metric} has no parameter {name!r}{suggest(name, known)}")
        values = [one.get(name) for one in frame["params"]]
        frame = frame[[found == value for found in values]]
        if frame.empty:
            there = ", ".join(dict.fromkeys(map(repr, values)))
            raise UsageError(f"{metric} has no value with {name}={value!r}; there are: {there}")
    return frame


def _pivoted(
    results: Results,
    metric: str,
    rows: Sequence[Mapping[str, Any]],
    telling: Sequence[str],
    column: str,
) -> pd.DataFrame:
    import pandas as pd

    by_language = any(isinstance(row["language"], str) for row in rows)
    by_corpus = not by_language or len({row["corpus"] for row in rows}) > 1
    index = [name for name, there in (("corpus", by_corpus), ("language", by_language)) if there]
    columns = ["tokenizer", *telling]
    cells = {(_labels(row, index), _labels(row, columns)): row[column] for row in rows}
    if len(cells) < len(rows):
        raise ResultsError(
            f"{results.name}: {metric} has several values at one place; its suite must distinguish "
            "them by params"
        )
    order = _order(results)
    down = _sorted({row for row, _ in cells}, index, order)
    across = _sorted({labels for _, labels in cells}, columns, order)
    # Filled by place: pandas' own pivot would sort the labels.
    table = pd.DataFrame(
        [[cells.get((row, labels)) for labels in across] for row in down],
        index=_axis(down, index),
        columns=_axis(across, columns),
    )
    is_number = column in ("value", "ci_low", "ci_high")
    return table.astype("float64") if is_number else table.convert_dtypes()


def _labels(row: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Return where a row belongs on an axis; what it is not restricted by is `ALL`."""
    places = ("corpus", "language", "tokenizer")
    found = (row[name] if name in places else row["params"].get(name) for name in names)
    return tuple(label if isinstance(label, str | int | float) else ALL for label in found)


Order = Mapping[str, Mapping[str, int]]
"""Position of each label in the config, by level."""


def _order(results: Results) -> Order:
    config, corpora = results.run["config"], results.run["corpora"]
    languages = dict.fromkeys(name for found in corpora.values() for name in found)
    names = {"corpus": config["corpora"], "language": languages, "tokenizer": config["tokenizers"]}
    return {level: {name: i for i, name in enumerate(found)} for level, found in names.items()}


def _sorted(
    labels: Iterable[tuple[Any, ...]], names: Sequence[str], order: Order
) -> list[tuple[Any, ...]]:
    """Return labels in the order of the config, those of params by size or alphabet."""

    def place(label: tuple[Any, ...]) -> list[tuple[int, bool, float, str]]:
        parts = []
        for name, part in zip(names, label, strict=True):
            known = order.get(name, {})
            size = 0.0 if isinstance(part, str) else float(part)
            parts.append((known.get(part, len(known)), part != ALL, size, str(part)))
        return parts

    return sorted(labels, key=place)


def _axis(labels: Sequence[tuple[Any, ...]], names: Sequence[str]) -> pd.Index[Any]:
    import pandas as pd

    axis: pd.Index[Any] = (
        pd.Index([label[0] for label in labels], name=names[0])
        if len(names) == 1
        else pd.MultiIndex.from_tuples(labels, names=list(names))
    )
    return axis


HEADLINES = ("bytes_per_token", "premium", "round_trip")
"""Metrics that a notebook shows: the first one that a run has."""


def html_summary(results: Results) -> str:
    """Return a run as HTML for a notebook: its name, one metric, and what failed."""
    metrics = list(dict.fromkeys(results.measurements.column("metric").to_pylist()))
    shown = next((name for name in HEADLINES if name in metrics), metrics[0] if metrics else None)
    parts = [f"<p><b>{html(results.name)}</b></p>"]
    if shown is not None:
        frame = table_frame(results, shown, None, "value", {})
        parts.append(f"<p>{html(shown)}</p>{frame.to_html(float_format='{:.2f}'.format)}")
    if results.problems:
        problems = "".join(f"<li>{html(problem)}</li>" for problem in results.problems)
        parts.append(f"<p>{plural(len(results.problems), 'problem')}</p><ul>{problems}</ul>")
    return "".join(parts)
