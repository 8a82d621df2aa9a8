"""One side of a comparison: values by key, and the text they were measured on.

A snapshot is made from a run folder (here) or a baseline file (`tokbench.bench.compare.baseline`).
It holds no text and no ids, only an id hash per cell. Timing is not part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa
from pydantic import ValidationError

from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.count.tally import CellKey
from tokbench.bench.errors import ResultsError
from tokbench.bench.model import Direction, Place, Status
from tokbench.bench.reasons import OUTSIDE
from tokbench.bench.results.params import Row, telling_params
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import SCHEMA_VERSION

IDENTITY_METRICS: Mapping[str, tuple[str, Direction]] = {
    "fingerprint": ("hash", "none"),
    "n_entries": ("entries", "none"),
    "n_ids": ("ids", "none"),
    "n_special": ("entries", "none"),
    "ids": ("hash", "none"),
    "round_trip_by_document": ("hash", "none"),
}
"""Unit and direction of what every comparison adds to the metrics of the suites."""

HASH_DIGITS = 16


class Key(NamedTuple):
    """The subject of a value; a part that is None means all."""

    tokenizer: str | None
    corpus: str | None
    language: str | None
    metric: str
    label: str = ""
    """Distinguishes values of one metric at one place, such as ``class=exact``."""

    @property
    def name(self) -> str:
        """The metric with its label.

        >>> Key("t", "c", "en", "round_trip", "class=exact").name
        'round_trip[class=exact]'
        """
        return f"{self.metric}[{self.label}]" if self.label else self.metric

    def order(self) -> tuple[str, ...]:
        """A key to sort by; None comes first."""
        return tuple("" if part is None else f"-{part}" for part in self)


@dataclass(frozen=True, kw_only=True)
class Value:
    """A number, a hash, or None with a reason."""

    value: float | str | None
    status: Status = "ok"
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """The facts about a metric that the gate uses."""

    unit: str
    direction: Direction


@dataclass(frozen=True, kw_only=True)
class SliceFacts:
    """The text that a value was measured on."""

    sha256: str
    documents: int
    script: str | None = None
    kind: str = "natural"


@dataclass(frozen=True, kw_only=True)
class TokenizerIdentity:
    """Hashes of the parts that decide ids, and how the model was trained if the run did that."""

    fingerprint: str
    parts: Mapping[str, str]
    trained: Mapping[str, Any] | None = None
    """trainer, options, documents, bytes, deterministic."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One side of a comparison."""

    name: str
    policy: Mapping[str, Any]
    versions: Mapping[str, str]
    slices: Mapping[Place, SliceFacts]
    tokenizers: Mapping[str, TokenizerIdentity]
    metrics: Mapping[str, MetricFacts]
    values: Mapping[Key, Value]
    rules: tuple[Rule, ...] = ()
    """The rules of the config that it was made with."""
    schema: int = SCHEMA_VERSION
    """Version of the results it was made from."""
    origin: Literal["run", "baseline"] = "run"
    incomplete: Mapping[CellKey, str] = field(default_factory=dict)
    """Cells that are not ok, with reasons."""

    @cached_property
    def places(self) -> frozenset[tuple[str, str | None]]:
        """Corpus and language of every slice, and each corpus with None for all its languages."""
        return frozenset({*self.slices} | {(place.corpus, None) for place in self.slices})

    def why_incomplete(self, key: Key) -> str | None:
        """Return why a value does not cover all the text that it should; None if it does."""
        for cell, reason in self.incomplete.items():
            if (
                key.tokenizer in (None, cell.tokenizer)
                and key.corpus == cell.corpus
                and key.language in (None, cell.language)
            ):
                return f"{cell.tokenizer} on {cell.corpus}, {cell.language}: {reason}"
        return None


def snapshot_of(results: Results) -> Snapshot:
    """Return the snapshot of a run; raise `ResultsError` if its files are damaged."""
    run = results.run
    rows = results.measurements.to_pylist()
    for row in rows:
        row["params"] = _params(row, results)
    identities = {key: _identity(facts) for key, facts in run["tokenizers"].items()}
    values = dict(_identity_values(run["tokenizers"]))
    values |= dict(_document_values(results))
    values |= _measured_values([row for row in rows if row["reason"] not in OUTSIDE])
    return Snapshot(
        name=results.name,
        policy=run["policy"],
        versions=run["versions"],
        slices=_slices(run["corpora"]),
        tokenizers=identities,
        metrics=metric_facts((row["metric"], row["unit"], row["direction"]) for row in rows),
        values=values,
        rules=_rules(results),
        schema=run["schema_version"],
        incomplete={
            CellKey(cell["tokenizer"], cell["corpus"], cell["language"]): (
                f"{cell['status']}: {cell['detail'] or 'no reason recorded'}"
            )
            for cell in run["cells"]
            if cell["status"] != "ok"
        },
    )


def _params(row: Row, results: Results) -> dict[str, Any]:
    try:
        params = json.loads(row["params"])
    except (ValueError, TypeError, RecursionError) as exc:
        raise _no_row(row, results) from exc
    if not isinstance(params, dict) or row["status"] not in _STATUS or not row["metric"]:
        raise _no_row(row, results)
    return params


_STATUS = get_args(Status)


def _no_row(row: Row, results: Results) -> ResultsError:
    return ResultsError(
        f"{results.folder / 'measurements.parquet'}: is damaged or was edited: a row of "
        f"{row['metric']} has unreadable params or no status"
    )


def _rules(results: Results) -> tuple[Rule, ...]:
    """Return the rules of a run's config; other keys of its gate may be those of another version."""
    try:
        return Gate(rules=results.run["config"].get("gate", {}).get("rules", ())).rules
    except ValidationError as exc:
        raise ResultsError(
            f"{results.folder / 'run.json'}: the rules of its gate cannot be read: "
            f"{exc.errors(include_url=False)[0]['msg']}"
        ) from exc


def metric_facts(rows: Iterable[tuple[str, str, Direction]]) -> dict[str, MetricFacts]:
    """Return unit and direction of the metrics of some rows and of those every comparison adds."""
    facts = {
        name: MetricFacts(unit=unit, direction=direction)
        for name, (unit, direction) in IDENTITY_METRICS.items()
    }
    return facts | {
        name: MetricFacts(unit=unit, direction=direction) for name, unit, direction in rows
    }


def _slices(corpora: Mapping[str, Mapping[str, Any]]) -> dict[Place, SliceFacts]:
    return {
        Place(corpus, language): SliceFacts(
            sha256=meta["sha256"],
            documents=meta["documents"],
            script=meta["script"],
            kind=meta["kind"],
        )
        for corpus, languages in corpora.items()
        for language, meta in languages.items()
    }


_TRAINING = ("trainer", "options", "documents", "bytes", "deterministic")


def _identity(facts: Mapping[str, Any]) -> TokenizerIdentity:
    trained = facts.get("trained")
    return TokenizerIdentity(
        fingerprint=facts["fingerprint"],
        parts=facts["fingerprint_parts"],
        trained=trained and {name: trained.get(name) for name in _TRAINING},
    )


def _identity_values(tokenizers: Mapping[str, Any]) -> Iterator[tuple[Key, Value]]:
    for tokenizer, facts in tokenizers.items():
        short = facts["fingerprint"][:HASH_DIGITS]
        yield Key(tokenizer, None, None, "fingerprint"), Value(value=short)
        for name in ("n_entries", "n_ids", "n_special"):
            yield Key(tokenizer, None, None, name), Value(value=float(facts[name]))


def _document_values(results: Results) -> Iterator[tuple[Key, Value]]:
    """Yield a hash of the ids and one of the round-trip classes for every cell with documents."""
    pairs = {(c["tokenizer"], c["corpus"]) for c in results.run["cells"] if c["n"]}
    for tokenizer, corpus in sorted(pairs):
        table = results.documents(tokenizer, corpus).select(
            ["language", "document_id", "ids_hash", "round_trip"]
        )
        table = table.sort_by([(name, "ascending") for name in table.column_names])
        for language, part in _by_language(table):
            place = (tokenizer, corpus, language)
            names = part["document_id"].to_pylist()
            hashes = [f"{h:016x}" for h in part["ids_hash"].to_pylist()]
            classes = part["round_trip"].to_pylist()
            yield Key(*place, "ids"), Value(value=_digest(names, hashes))
            yield Key(*place, "round_trip_by_document"), Value(value=_digest(names, classes))


def _by_language(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each language; the table is sorted by language."""
    encoded = table["language"].combine_chunks().to_pylist()
    start = 0
    for end in range(1, len(encoded) + 1):
        if end == len(encoded) or encoded[end] != encoded[start]:
            yield encoded[start], table.slice(start, end - start)
            start = end


def _digest(names: Sequence[str], values: Sequence[str]) -> str:
    text = json.dumps([names, values], ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


_Place = tuple[str | None, str | None, str | None]


def _measured_values(rows: Sequence[Row]) -> dict[Key, Value]:
    labels = telling_params(rows)
    values: dict[Key, Value] = {}
    for row in rows:
        key = Key(*_place(row), row["metric"], _label(row, labels.get(row["metric"], ())))
        if key in values:
            raise ResultsError(
                f"metric {row['metric']} has two values for {key}; its suite must distinguish them "
                "by params"
            )
        values[key] = Value(value=row["value"], status=row["status"], detail=row["detail"])
    return values


def _place(row: Row) -> _Place:
    return row["tokenizer"], row["corpus"], row["language"]


def _label(row: Row, names: Sequence[str]) -> str:
    params = row["params"]
    return ",".join(f"{name}={params[name]}" for name in names if name in params)
