"""docs/results.md says what the files of a run hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pages import blocks, names_in, sections, table, text_of
from tokbench.bench.results.schemas import (
    DOCUMENTS,
    FINDINGS,
    MEASUREMENTS,
    SCHEMA_VERSION,
    VOCABULARY,
)

PAGE = "docs/results.md"


def described(heading: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in table(sections(PAGE)[heading])]


def columns(schema: pa.Schema) -> list[tuple[str, str]]:
    return [(field.name, _type(field.type)) for field in schema]


def _type(kind: pa.DataType) -> str:
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def keys(heading: str) -> set[str]:
    lines = [line for line in sections(PAGE)[heading].splitlines() if line.startswith("| `")]
    return {name for line in lines for name in names_in(line.split(" | ")[0])}


@pytest.mark.parametrize(
    ("heading", "schema"),
    [
        ("Columns of measurements.parquet and throughput.parquet", MEASUREMENTS),
        ("Columns of documents/", DOCUMENTS),
        ("Columns of findings.parquet", FINDINGS),
        ("Columns of vocabulary/", VOCABULARY),
    ],
)
def test_the_columns_described_are_those_of_the_schema(heading: str, schema: pa.Schema) -> None:
    assert described(heading) == columns(schema)


def test_the_columns_of_timings_are_those_written(folder_with_run: Path) -> None:
    written = pq.read_schema(folder_with_run / "runs/quick-1/timings.parquet")
    assert described("Columns of timings.parquet") == columns(written)


@pytest.mark.parametrize("name", ["run.json", "environment.json"])
def test_the_keys_described_are_those_written(name: str, folder_with_run: Path) -> None:
    written = json.loads((folder_with_run / "runs/quick-1" / name).read_text(encoding="utf-8"))
    assert keys(f"Keys of {name}") == set(written)


def test_the_schema_version_is_told() -> None:
    assert f"Version of these tables: {SCHEMA_VERSION}." in text_of(PAGE)


def test_every_file_of_a_run_is_described(folder_with_run: Path) -> None:
    told = " ".join(row[0] for row in table(sections(PAGE)["Results"]))
    for path in (folder_with_run / "runs/quick-1").iterdir():
        assert path.name in told


def test_all_ways_to_read_results_agree(
    folder_with_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder_with_run)
    names: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        exec(compile(block, PAGE, "exec"), names)
    rows = names["in_duckdb"]
    assert [language for language, _ in rows] == ["tha_Thai", "fra_Latn", "eng_Latn"]
    assert names["in_polars"].rows() == rows
    assert list(names["in_pandas"].itertuples(index=False, name=None)) == rows
    assert names["exact"] == [("characters", 1.0), ("utf8_bytes", 1.0)]
    assert names["longest"].startswith("s")
