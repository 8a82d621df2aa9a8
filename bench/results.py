"""A run folder: the schemas of its files, whole writes, and reading it back.

Exact files (`measurements.parquet`, `documents/`, `findings.parquet`, `run.json`) hold no clock
and no host: the same inputs give the same bytes. `environment.json` holds the rest.
"""

from __future__ import annotations

<<<<<<< HEAD
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
=======
import contextlib
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
>>>>>>> main
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.digest import TableDigest
from bench.errors import ResultsError
from bench.model import Finding, Measurement
from bench.tally import LOSS_CAUSES, Tallies

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1

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
        ("detail", pa.string()),
    ]
)

FINDINGS = pa.schema(
    [
        ("kind", pa.string()),
        ("suite", pa.string()),
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


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file under a temporary name and rename it, so that it is whole or not there.

    Raises `ResultsError` when the disk is full or the folder cannot be written.
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to, renamed at the end; errors as in `write_whole`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as exc:
<<<<<<< HEAD
=======
        with contextlib.suppress(OSError):
            temporary.unlink()
>>>>>>> main
        raise ResultsError(
            f"{path}: cannot be written: {exc.strerror or exc}; free space or choose another "
            "folder with --output, then run the same command again: finished cells are kept"
        ) from exc
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON that is strict (no NaN) and readable; keys keep their order."""
    write_whole(
        path,
        json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    )


def write_parquet(path: Path, tables: pa.Table | Iterable[pa.Table]) -> str:
    """Write a Parquet file whole, one row group for each table; return the digest of its values."""
    tables = iter([tables] if isinstance(tables, pa.Table) else tables)
    first = next(tables)
    digest = TableDigest(first.schema)
    repeating = [
        f.name for f in first.schema if pa.types.is_string(f.type) and f.name != "document_id"
    ]
    options = {"compression": "zstd", "compression_level": 1, "use_dictionary": repeating}
    with (
        whole_file(path) as temporary,
        pq.ParquetWriter(temporary, first.schema, **options) as writer,
    ):
        for table in itertools.chain([first], tables):
            digest.add(table)
            writer.write_table(table)
    return digest.hexdigest()


def measurement_rows(measurements: Iterable[Measurement], tallies: Tallies) -> list[dict[str, Any]]:
    """Return one row per measurement, sorted by key, with what identifies its inputs."""
    rows = [_measurement_row(m, tallies) for m in measurements]
    rows.sort(key=lambda row: [str(row[c] or "") for c in _SORT])
    return rows


_SORT = ("corpus", "language", "suite", "metric", "tokenizer", "params")


def _measurement_row(m: Measurement, tallies: Tallies) -> dict[str, Any]:
    facts = tallies.corpora.get((m.corpus or "", m.language or ""))
    of_corpus = facts or next((f for f in tallies.corpora.values() if f.corpus == m.corpus), None)
    tokenizer = tallies.tokenizers.get(m.tokenizer or "")
    return {
        "suite": m.suite,
        "metric": m.metric.name,
        "unit": m.metric.unit,
        "direction": m.metric.direction,
        "tokenizer": m.tokenizer,
        "tokenizer_fingerprint": tokenizer.fingerprint if tokenizer else None,
        "corpus": m.corpus,
        "corpus_sha256": facts.sha256 if facts else None,
        "language": m.language,
        "tag": facts.tag if facts else None,
        "script": facts.script if facts else None,
        "kind": of_corpus.kind if of_corpus else None,
        "value": _finite(m.value),
        "ci_low": _finite(m.ci_low),
        "ci_high": _finite(m.ci_high),
        "n": m.n,
        "params": json.dumps(m.params, sort_keys=True, ensure_ascii=False, allow_nan=False),
        "status": m.status,
        "detail": m.detail,
    }


def _finite(value: float | None) -> float | None:
    if value is None:
        return None
    if not np.isfinite(value):
        raise ResultsError(
            f"a metric gave {value}, which is no number; this is a fault of its suite"
        )
    return float(value)


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Build a table column by column, in the fixed schema."""
    columns = [pa.array([row[f.name] for row in rows], f.type) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def finding_rows(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return one row per finding, sorted."""
    rows = [
        {
            "kind": f.kind,
            "suite": f.suite,
            "tokenizer": f.tokenizer,
            "corpus": f.corpus,
            "language": f.language,
            "document_id": f.document_id,
            "message": f.message,
            "data": json.dumps(dict(f.data), sort_keys=True, ensure_ascii=True, allow_nan=False),
        }
        for f in findings
    ]
    rows.sort(key=lambda row: [str(row[c] or "") for c in FINDINGS.names])
    return rows


<<<<<<< HEAD
=======
def documents_table(cells: Sequence[Cell], tallies: Tallies) -> pa.Table:
    """Return one row per document of one tokenizer on one corpus; null where words are undefined."""
    tables = [_cell_documents(cell, tallies) for cell in cells if cell.tally.n]
    return pa.concat_tables(tables) if tables else DOCUMENTS.empty_table()


def _cell_documents(cell: Cell, tallies: Tallies) -> pa.Table:
    facts, tally = tallies.facts(cell.key), cell.tally
    names = pa.array(facts.document_ids, pa.string()).take(pa.array(tally.rows))
    columns: dict[str, pa.Array] = {
        "language": pa.repeat(pa.scalar(cell.key.language), tally.n),
        "document_id": names,
        "round_trip": pa.array(ROUND_TRIP).take(pa.array(tally.documents["round_trip"])),
        "ids_hash": pa.array(tally.ids_hash),
        "ids": _ids_array(tally),
    }
    for name in _COUNTS:
        undefined = name in WORD_COLUMNS and facts.words_reason is not None
        columns[name] = (
            pa.nulls(tally.n, pa.int64()) if undefined else pa.array(tally.documents[name])
        )
    return pa.Table.from_arrays([columns[f.name] for f in DOCUMENTS], schema=DOCUMENTS)


def _ids_array(tally: Tally) -> pa.Array:
    kind = pa.list_(pa.uint32())
    if tally.ids is None:
        return pa.nulls(tally.n, kind)
    offsets = np.zeros(tally.n + 1, np.int32)
    np.cumsum([len(ids) for ids in tally.ids], out=offsets[1:])
    flat = np.concatenate(tally.ids) if tally.ids else np.zeros(0, np.uint32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat, pa.uint32()))


def cell_path(folder: Path, key: CellKey) -> Path:
    """Return where a run folder keeps the counts of a cell.

    Tokenizers and corpora have names that can be file names; a language may have any.
    """
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+#-]{0,79}", key.language)
    name = key.language if plain else hashlib.sha256(key.language.encode()).hexdigest()[:32]
    return folder / "cells" / key.tokenizer / key.corpus / f"{name}.cell"


def write_cell(path: Path, cell: Cell, identity: Mapping[str, str]) -> None:
    """Store a finished cell: a checksum, a JSON header, then its arrays as they lie in memory.

    The file is private to a run folder and read on the machine that wrote it.
    """
    arrays = _arrays_of(cell.tally)
    header = {
        **identity,
        "status": cell.status,
        "detail": cell.detail,
        "failed_rows": list(cell.tally.failed_rows),
        "findings": finding_rows(cell.tally.findings),
        "arrays": {name: [values.dtype.str, len(values)] for name, values in arrays.items()},
    }
    head = json.dumps(header).encode()
    parts = [len(head).to_bytes(8, "little"), head, *(v.tobytes() for v in arrays.values())]
    payload = b"".join(parts)
    write_whole(path, hashlib.sha256(payload).digest() + payload)


def _arrays_of(tally: Tally) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {
        "rows": tally.rows,
        **{name: values for name, values in tally.documents.items() if values.any()},
        "ids_hash": tally.ids_hash,
        "histogram_ids": tally.histogram_ids,
        "histogram_counts": tally.histogram_counts,
    }
    if tally.ids is not None:
        arrays["ids_lengths"] = np.array([len(ids) for ids in tally.ids], np.int64)
        arrays["ids"] = np.concatenate([np.zeros(0, np.uint32), *tally.ids])
    return arrays


def _open_cell(path: Path) -> tuple[memoryview, dict[str, Any], int] | None:
    """Return a stored cell's bytes, header and where its arrays start; None where damaged."""
    try:
        data = memoryview(path.read_bytes())
    except OSError:
        return None
    payload = data[32:]
    if hashlib.sha256(payload).digest() != data[:32]:
        return None
    start = 8 + int.from_bytes(payload[:8], "little")
    return payload, json.loads(bytes(payload[8:start])), start


def failed_rows_of(path: Path) -> list[int]:
    """Return the rows of a stored cell that could not be counted."""
    opened = _open_cell(path)
    return [] if opened is None else list(opened[1]["failed_rows"])


def read_cell(path: Path, key: CellKey, identity: Mapping[str, str]) -> Cell | None:
    """Return a stored cell, or None when it is missing, damaged or of other inputs."""
    opened = _open_cell(path)
    if opened is None:
        return None
    payload, header, start = opened
    if any(header.get(name) != value for name, value in identity.items()):
        return None
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (dtype, length) in header["arrays"].items():
        arrays[name] = np.frombuffer(payload, dtype, length, start)
        start += arrays[name].nbytes
    kept = None
    if "ids" in arrays:
        kept = tuple(np.split(arrays["ids"], np.cumsum(arrays["ids_lengths"])[:-1]))
    findings = [Finding(**{**row, "data": json.loads(row["data"])}) for row in header["findings"]]
    zeros = np.zeros(len(arrays["rows"]), np.int64)  # columns without any count are not stored
    return Cell(
        key=key,
        status=header["status"],
        detail=header["detail"],
        tally=Tally(
            rows=arrays["rows"],
            documents={name: arrays.get(name, zeros) for name in COLUMNS},
            ids_hash=arrays["ids_hash"],
            histogram_ids=arrays["histogram_ids"],
            histogram_counts=arrays["histogram_counts"],
            ids=kept if len(arrays["rows"]) or kept is None else (),
            findings=tuple(findings),
            failed_rows=tuple(header["failed_rows"]),
        ),
    )


def digest_of(tables: Mapping[str, pa.Table]) -> str:
    """Return one SHA-256 over the values of several tables, whatever file format holds them."""
    digest = hashlib.sha256()
    for name in sorted(tables):
        for field, column in zip(tables[name].schema, tables[name].columns, strict=True):
            digest.update(
                f"{name}\x1f{field.name}\x1f{_type_name(field.type)}\x1f{len(column)}\x1f".encode()
            )
            digest.update(_column_sha256(column.combine_chunks()))
    return digest.hexdigest()


def _type_name(kind: pa.DataType) -> str:
    # Parquet calls the inside of a list `element`, Arrow calls it `item`
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _column_sha256(column: pa.Array) -> bytes:
    digest = hashlib.sha256(np.asarray(column.is_valid().to_numpy(zero_copy_only=False)).tobytes())
    if _is_text(column.type) or pa.types.is_list(column.type):
        lengths = (
            pc.binary_length(column) if _is_text(column.type) else pc.list_value_length(column)
        )
        digest.update(
            pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False).astype("<i8").tobytes()
        )
    if _is_text(column.type):
        digest.update(_text_bytes(column.drop_null()))
    elif pa.types.is_list(column.type):
        digest.update(column.drop_null().flatten().to_numpy(zero_copy_only=False).tobytes())
    else:
        digest.update(pc.fill_null(column, 0).to_numpy(zero_copy_only=False).tobytes())
    return digest.digest()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _text_bytes(column: pa.Array) -> memoryview:
    """Return all texts of a column, one after the other, without making Python strings."""
    if not len(column):
        return memoryview(b"")
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])] if data else memoryview(b"")


>>>>>>> main
@dataclass(frozen=True)
class Results:
    """A finished run, read from its folder; tables are read when asked for."""

    folder: Path

    @property
    def name(self) -> str:
        """Folder name, such as ``quick-3``."""
        return self.folder.name

    @cached_property
    def run(self) -> dict[str, Any]:
        """What `run.json` holds: config, tokenizers, corpora, cells, versions, digest."""
        return self._json("run.json")

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Clock, machine and CPU seconds; empty when the file is not there."""
        return self._json("environment.json") if (self.folder / "environment.json").exists() else {}

    @cached_property
    def measurements(self) -> pa.Table:
        """All exact measurements, one row per value."""
        return self._table("measurements.parquet", MEASUREMENTS)

    @cached_property
    def throughput(self) -> pa.Table:
        """Noisy measurements, in the same columns; empty when nothing was timed."""
        if not (self.folder / "throughput.parquet").exists():
            return MEASUREMENTS.empty_table()
        return self._table("throughput.parquet", MEASUREMENTS)

    @cached_property
    def findings(self) -> pa.Table:
        """Witnesses, refusals, failures and warnings."""
        return self._table("findings.parquet", FINDINGS)

    def documents(self, tokenizer: str, corpus: str) -> pa.Table:
        """Counts per document of one tokenizer on one corpus."""
        return self._table(f"documents/{tokenizer}@{corpus}.parquet", DOCUMENTS)

    def vocabulary(self, tokenizer: str) -> pa.Table:
        """Id, bytes and kind of the entries of a tokenizer, from a run that keeps ids."""
        return self._table(f"vocabulary/{tokenizer}.parquet", VOCABULARY)

    def to_pandas(self) -> pd.DataFrame:
        """Return exact and noisy measurements as one frame, with a column `run`.

        Counts are pandas' nullable Int64, text is string, so an absent value stays absent.
        """
        import pandas as pd

        table = pa.concat_tables([self.measurements, self.throughput])
        frame: pd.DataFrame = table.to_pandas(
            types_mapper={pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}.get
        )
        frame.insert(0, "run", self.name)
        return frame

    def _json(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            raise ResultsError(f"{self.folder / name}: cannot be read ({exc})") from exc
        if not isinstance(value, dict):
            raise ResultsError(f"{self.folder / name}: is not a JSON object")
        return value

    def _table(self, name: str, schema: pa.Schema) -> pa.Table:
        try:
            return pq.read_table(self.folder / name, partitioning=None).select(schema.names)
        except (OSError, pa.ArrowException, KeyError) as exc:
            raise ResultsError(f"{self.folder / name}: cannot be read ({exc})") from exc


def load_results(path: str | Path) -> Results:
    """Return the results of a run folder.

    Raises `ResultsError` when it is no finished run, or one of another schema version.
    """
    results = Results(Path(path))
    if not (results.folder / "run.json").exists():
        hint = (
            "; the run is not finished: run its config again to complete it"
            if (results.folder / "plan.json").exists()
            else ""
        )
        raise ResultsError(f"{path}: is no finished run (no run.json){hint}")
    found = results.run.get("schema_version")
    if found != SCHEMA_VERSION:
        raise ResultsError(
            f"{path}: has results schema {found}, this tokbench reads {SCHEMA_VERSION}; "
            "run it again or use the tokbench version named in run.json"
        )
    return results
