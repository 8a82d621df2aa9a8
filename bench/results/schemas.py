"""The tables of a run: their schemas, their rows, and whole writes.

Schemas are fixed: complete, partial and failed runs have the same columns.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import LOSS_CAUSES
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import whole_file
from tokbench.bench.model import Finding, Measurement, Place
from tokbench.bench.privacy import secrets_cleaner
from tokbench.bench.results.digest import TableDigest
from tokbench.bench.results.ranked import with_ranked

SCHEMA_VERSION = 2
READABLE_VERSIONS = (1, SCHEMA_VERSION)
"""Schemas that can be read; a column that an old one has not is null."""

REDEFINED: Mapping[int, frozenset[str]] = {
    2: frozenset({"round_trip", "lost_byte_share", "round_trip_failures", "fuzz_failures", "rank"})
}
"""Metrics that mean something else since a version; all others compare across versions."""

MEASUREMENTS = pa.schema(
    [
        ("suite", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("direction", pa.string()),
        ("tokenizer", pa.string()),
        ("tokenizer_fingerprint", pa.string()),
        ("corpus", pa.string()),
        ("corpus_sha256", pa.string()),
        ("language", pa.string()),
        ("tag", pa.string()),
        ("script", pa.string()),
        ("kind", pa.string()),
        ("value", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("n", pa.int64()),
        ("params", pa.string()),
        ("status", pa.string()),
        ("ranked", pa.bool_()),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)

FINDINGS = pa.schema(
    [
        ("kind", pa.string()),
        ("suite", pa.string()),
        ("reason", pa.string()),
        ("tokenizer", pa.string()),
        ("corpus", pa.string()),
        ("language", pa.string()),
        ("document_id", pa.string()),
        ("message", pa.string()),
        ("data", pa.string()),
    ]
)

COUNTS = (
    "bytes",
    "characters",
    "graphemes",
    "words",
    "tokens",
    "unknown",
    "byte_fallback",
    "partial_character",
    *(f"lost_{cause}" for cause in LOSS_CAUSES),
    "word_tokens",
    "continued_words",
    "single_token_words",
    "spells_special",
    "byte_sum_breach",
)

DOCUMENTS = pa.schema(
    [
        ("language", pa.string()),
        ("document_id", pa.string()),
        *((name, pa.int64()) for name in COUNTS),
        ("round_trip", pa.string()),
        ("ids_hash", pa.uint64()),
        ("ids", pa.list_(pa.uint32())),
    ]
)

VOCABULARY = pa.schema([("id", pa.uint32()), ("bytes", pa.binary()), ("kind", pa.string())])
"""`kind` is ordinary, special, unknown, byte_fallback or added; `bytes` is null where an id has no
content of its own."""


TIMINGS = pa.schema(
    [
        ("source", pa.string()),
        ("tokenizer", pa.string()),
        ("twin", pa.bool_()),
        ("corpus", pa.string()),
        ("language", pa.string()),
        ("length", pa.string()),
        ("phase", pa.string()),
        ("call", pa.string()),
        ("batch_size", pa.int64()),
        ("threads", pa.int64()),
        ("text", pa.string()),
        ("process", pa.int64()),
        ("round", pa.int64()),
        ("item", pa.int64()),
        ("warm_up", pa.bool_()),
        ("passes", pa.int64()),
        ("bytes", pa.int64()),
        ("wall_seconds", pa.float64()),
        ("cpu_seconds", pa.float64()),
        ("peak_bytes", pa.int64()),
    ]
)


def write_parquet(path: Path, tables: pa.Table | Iterable[pa.Table], *, small: bool = False) -> str:
    """Write a Parquet file whole, one row group for each table; return the digest of its values.

    `small` takes more time for a smaller file.
    """
    tables = iter([tables] if isinstance(tables, pa.Table) else tables)
    first = next(tables)
    digest = TableDigest(first.schema)
    repeating = [
        f.name for f in first.schema if pa.types.is_string(f.type) and f.name != "document_id"
    ]
    options = {
        "compression": "zstd" if small else "snappy",
        "compression_level": 19 if small else None,
        "use_dictionary": repeating,
        "write_statistics": repeating,
        "column_encoding": {
            f.name: "DELTA_BINARY_PACKED" for f in first.schema if f.type == pa.int64()
        },
    }
    with (
        whole_file(path) as temporary,
        pq.ParquetWriter(temporary, first.schema, **options) as writer,
    ):
        for table in itertools.chain([first], tables):
            digest.add(table)
            writer.write_table(table)
    return digest.hexdigest()


def measurement_table(measurements: Iterable[Measurement], tallies: Tallies) -> pa.Table:
    """Return one row per measurement, sorted by key, with what identifies its inputs."""
    rows = _measurement_rows(measurements, tallies)
    keys = [MEASUREMENTS.names.index(c) for c in _SORT]
    rows.sort(key=lambda row: [row[key] or "" for key in keys])
    columns = zip(*rows, strict=True) if rows else [()] * len(MEASUREMENTS)
    arrays = [pa.array(column, f.type) for column, f in zip(columns, MEASUREMENTS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=MEASUREMENTS)


_PARAMS = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False)
_SORT = ("corpus", "language", "suite", "metric", "tokenizer", "params")


def _measurement_rows(
    measurements: Iterable[Measurement], tallies: Tallies
) -> list[tuple[Any, ...]]:
    """Return the columns of `MEASUREMENTS` for each measurement."""
    of_place = {
        place: (facts.sha256, place.language, facts.tag, facts.script, facts.kind)
        for place, facts in tallies.corpora.items()
    }
    kinds = {facts.corpus: facts.kind for facts in tallies.corpora.values()}
    clean = secrets_cleaner()
    fingerprints = {key: facts.fingerprint for key, facts in tallies.tokenizers.items()}
    return [
        (
            m.suite,
            m.metric.name,
            m.metric.unit,
            m.metric.direction,
            m.tokenizer,
            fingerprints.get(m.tokenizer or ""),
            m.corpus,
            *(
                of_place.get(Place(m.corpus or "", m.language or ""))
                or (None, m.language, None, None, kinds.get(m.corpus or ""))
            ),
            _finite(m, m.value),
            _finite(m, m.ci_low),
            _finite(m, m.ci_high),
            m.n,
            _params(m),
            m.status,
            ranked,
            m.reason,
            None if m.detail is None else clean(m.detail),
        )
        for m, ranked in with_ranked(measurements, tallies)
    ]


def _params(m: Measurement) -> str:
    if not m.params:
        return "{}"
    try:
        return _PARAMS.encode(m.params)
    except (TypeError, ValueError) as exc:
        raise ResultsError(
            f"suite {m.suite}: the params of {m.metric.name} cannot be written: {exc}; this is a "
            "fault of the suite"
        ) from exc


def _finite(m: Measurement, value: float | None) -> float | None:
    if value is None:
        return None
    if not math.isfinite(value):
        raise ResultsError(
            f"suite {m.suite}: metric {m.metric.name} returned {value}, not a finite number; "
            "this is a bug in the suite"
        )
    return float(value)


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Build a table column by column, in the fixed schema."""
    columns = [pa.array([row[f.name] for row in rows], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _data(f: Finding) -> str:
    try:
        return json.dumps(dict(f.data), sort_keys=True, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as exc:
        raise ResultsError(
            f"suite {f.suite}: the data of a finding cannot be written: {exc}; this is a fault of "
            "the suite"
        ) from exc


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return one row per finding, sorted."""
    clean = secrets_cleaner()
    rows = [
        {
            "kind": f.kind,
            "suite": f.suite,
            "reason": f.reason,
            "tokenizer": f.tokenizer,
            "corpus": f.corpus,
            "language": f.language,
            "document_id": f.document_id,
            "message": clean(f.message),
            "data": clean(_data(f)),
        }
        for f in findings
    ]
    rows.sort(key=lambda row: [str(row[c] or "") for c in FINDINGS.names])
    return rows
