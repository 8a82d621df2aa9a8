"""Result files have fixed schemas, are written whole, and are read back with clear errors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokbench.bench.count.tally import COLUMNS, ArrayTally, Cell, CellKey, empty_tally
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import write_json, write_whole
from tokbench.bench.model import Finding
from tokbench.bench.results.digest import digest_of
from tokbench.bench.results.run_folder import cell_path, load_results
from tokbench.bench.results.schemas import DOCUMENTS, FINDINGS, MEASUREMENTS, table_of
from tokbench.bench.run.cell_files import read_cell, write_cell
from tokbench.bench.run.runner import RunOutcome

Measure = Callable[..., RunOutcome]
KEY = CellKey("tok", "corpus", "en")
IDENTITY = {"fingerprint": "f", "corpus_sha256": "c", "keep_ids": "True"}

# D5: one schema, whatever became of a run


@pytest.fixture(scope="module")
def runs(measure: Measure, good_run: RunOutcome, broken_run: RunOutcome) -> list[Path]:
    """Run folders: complete, with failed and partial cells, and with nothing but failures."""
    config = {
        "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"t": {"type": "toy_faulty"}},
    }
    failed = measure(config, {"en.jsonl": ["boom"]})
    return [run.results.folder for run in (good_run, broken_run, failed)]


@pytest.mark.parametrize(
    ("name", "schema"), [("measurements", MEASUREMENTS), ("findings", FINDINGS)]
)
def test_d5_files_of_complete_partial_and_failed_runs_have_one_schema_and_concatenate(
    runs: list[Path], name: str, schema: pa.Schema
) -> None:
    tables = [pq.read_table(folder / f"{name}.parquet") for folder in runs]
    assert all(table.schema.remove_metadata().equals(schema) for table in tables)
    both = pa.concat_tables(tables)
    assert both.num_rows == sum(table.num_rows for table in tables)


def test_d5_document_files_have_one_schema_and_concatenate(runs: list[Path]) -> None:
    tables = [pq.read_table(p) for folder in runs for p in (folder / "documents").glob("*.parquet")]
    assert len(tables) > 5
    assert all(table.schema.remove_metadata().equals(DOCUMENTS) for table in tables)
    pa.concat_tables(tables)


def test_d5_counts_are_nullable_integers_and_never_floats(runs: list[Path]) -> None:
    for schema in (MEASUREMENTS, DOCUMENTS):
        assert schema.field("n" if schema is MEASUREMENTS else "tokens").type == pa.int64()
    large = table_of([{**_row(), "n": 2**53 + 1}, {**_row(), "n": None}], MEASUREMENTS)
    assert large["n"].to_pylist() == [9_007_199_254_740_993, None]
    frame = load_results(runs[1]).to_pandas()
    assert str(frame["n"].dtype) == "Int64"
    assert frame["n"].isna().any()
    assert str(frame["metric"].dtype) == "string"
    assert (frame["run"] == runs[1].name).all()


def test_words_of_a_language_without_them_are_null_in_its_documents(good_run: RunOutcome) -> None:
    table = good_run.results.documents("bytes", "texts")
    words = dict.fromkeys(["en", "de", "ja"])
    for row in table.to_pylist():
        words[row["language"]] = row["words"]
    assert words["en"] == 2
    assert words["de"] == 2
    assert words["ja"] is None


def test_documents_hold_counts_and_hashes_and_never_the_text(good_run: RunOutcome) -> None:
    path = good_run.results.folder / "documents" / "bytes@texts.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    assert [r["bytes"] for r in rows[:3]] == [11, 16, 7]
    assert len({r["ids_hash"] for r in rows}) == 9
    assert all(r["ids"] is None for r in rows)
    for column in table.columns:
        assert "Katze" not in str(column.to_pylist())


def test_ids_are_kept_where_the_config_says_so(measure: Measure) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"t": {"type": "utf8_bytes"}},
        "keep_ids": True,
    }
    run = measure(config, {"en.jsonl": ["ab", "", "é"]})
    table = run.results.documents("t", "c")
    assert table["ids"].to_pylist() == [[97, 98], [], [195, 169]]
    assert table.schema.remove_metadata().equals(DOCUMENTS)


def test_no_value_is_not_a_number(runs: list[Path]) -> None:
    for folder in runs:
        values = pq.read_table(folder / "measurements.parquet")["value"].to_pylist()
        assert all(value is None or np.isfinite(value) for value in values)
        json.loads((folder / "run.json").read_text(), parse_constant=pytest.fail)


def test_a_row_without_a_value_says_why(runs: list[Path]) -> None:
    for folder in runs:
        for row in pq.read_table(folder / "measurements.parquet").to_pylist():
            assert row["value"] is not None or row["detail"], row


def test_measurements_are_sorted_and_no_value_is_there_twice(runs: list[Path]) -> None:
    keys = ("corpus", "language", "suite", "metric", "tokenizer", "params")
    for folder in runs:
        rows = pq.read_table(folder / "measurements.parquet").to_pylist()
        found = [tuple(str(row[key] or "") for key in keys) for row in rows]
        assert found == sorted(set(found))


def _row() -> dict[str, Any]:
    return dict.fromkeys(MEASUREMENTS.names)


# the digest


def test_the_digest_depends_on_every_value_and_on_nothing_else() -> None:
    def digest(**changes: Any) -> str:
        return digest_of({"m": table_of([{**_row(), **changes}, _row()], MEASUREMENTS)})

    plain = digest()
    different = [digest(value=1.0), digest(value=0.0), digest(metric=""), digest(n=0), digest(n=1)]
    assert len({plain, *different}) == 6
    assert digest() == plain


def test_the_digest_tells_where_one_text_ends() -> None:
    def digest(*metrics: str | None) -> str:
        rows = [{**_row(), "metric": metric} for metric in metrics]
        return digest_of({"m": table_of(rows, MEASUREMENTS)})

    texts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("abc", None), (None, "abc"), ("abc",)]
    assert len({digest(*text) for text in texts}) == len(texts)


def test_the_digest_does_not_depend_on_chunks_or_slices() -> None:
    rows = [{**_row(), "metric": f"m{i}", "value": float(i), "n": i or None} for i in range(9)]
    whole = table_of(rows, MEASUREMENTS)
    parts = pa.concat_tables([table_of(rows[:4], MEASUREMENTS), table_of(rows[4:], MEASUREMENTS)])
    padded = table_of([rows[3], *rows, rows[0]], MEASUREMENTS).slice(1, 9)
    assert digest_of({"m": whole}) == digest_of({"m": parts}) == digest_of({"m": padded})
    assert digest_of({"m": whole}) != digest_of({"m": whole.slice(1)})


def test_the_digest_of_a_run_is_over_its_files(good_run: RunOutcome) -> None:
    folder = good_run.results.folder
    names = ["measurements.parquet", "findings.parquet"]
    names += [f"documents/{path.name}" for path in (folder / "documents").iterdir()]
    tables = {name: pq.read_table(folder / name, partitioning=None) for name in names}
    assert digest_of(tables) == good_run.results.run["digest"]


# cells


def a_cell(**changes: Any) -> Cell:
    zeros = np.zeros(2, np.int64)
    documents = dict.fromkeys(COLUMNS, zeros) | {"tokens": np.array([1, 2])}
    tally = ArrayTally(
        rows=np.array([0, 4]),
        documents=documents,
        ids_hash=np.array([5, 2**64 - 1], np.uint64),
        histogram_ids=np.array([3, 9]),
        histogram_counts=np.array([1, 2]),
        ids=(np.array([3], np.uint32), np.array([9, 9], np.uint32)),
        findings=(
            Finding(
                kind="failure",
                suite="run",
                reason="tokenizer_failed",
                message="é\n",
                data={"class": "x"},
            ),
        ),
        failed_rows=(2,),
    )
    return Cell(key=KEY, status="partial", detail="é", tally=replace(tally, **changes))


def test_a_cell_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = cell_path(tmp_path, KEY)
    cell = a_cell()
    write_cell(path, cell, IDENTITY)
    found = read_cell(path, KEY, IDENTITY)
    assert found is not None
    assert (found.status, found.detail, found.tally.failed_rows) == ("partial", "é", (2,))
    assert found.tally.findings == cell.tally.findings
    for name in COLUMNS:
        assert found.tally.documents[name].tolist() == cell.tally.documents[name].tolist()
    assert found.tally.ids_hash.tolist() == [5, 2**64 - 1]
    assert [ids.tolist() for ids in found.tally.ids or ()] == [[3], [9, 9]]


@pytest.mark.parametrize("ids", [None, ()])
def test_a_cell_of_no_documents_can_be_kept(tmp_path: Path, ids: Any) -> None:
    cell = Cell(key=KEY, status="failed", detail="x", tally=replace(empty_tally(), ids=ids))
    write_cell(tmp_path / "c", cell, IDENTITY)
    found = read_cell(tmp_path / "c", KEY, IDENTITY)
    assert found is not None
    assert found.tally.n == 0
    assert found.tally.ids == ids


def test_a_cell_of_empty_documents_keeps_them_apart(tmp_path: Path) -> None:
    none = np.zeros(0, np.uint32)
    write_cell(tmp_path / "c", a_cell(ids=(none, none)), IDENTITY)
    found = read_cell(tmp_path / "c", KEY, IDENTITY)
    assert found is not None
    assert [ids.tolist() for ids in found.tally.ids or ()] == [[], []]


def test_every_damaged_byte_of_a_cell_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "c"
    write_cell(path, a_cell(), IDENTITY)
    data = path.read_bytes()
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert read_cell(path, KEY, IDENTITY) is None
    for end in (0, 1, 31, 32, 33, 40, len(data) - 1):
        path.write_bytes(data[:end])
        assert read_cell(path, KEY, IDENTITY) is None
    path.write_bytes(data + b"\0")
    assert read_cell(path, KEY, IDENTITY) is None


def test_a_cell_of_other_inputs_is_not_taken(tmp_path: Path) -> None:
    write_cell(tmp_path / "c", a_cell(), IDENTITY)
    for name in IDENTITY:
        assert read_cell(tmp_path / "c", KEY, {**IDENTITY, name: "other"}) is None
    assert read_cell(tmp_path / "nowhere", KEY, IDENTITY) is None


def test_a_language_may_have_any_name_and_its_file_stays_inside(tmp_path: Path) -> None:
    names = ["en", "zho_Hans", "c++", "c#", "..", ".", "../x", "a/b", "x" * 300, "ä", "A B", ""]
    paths = [cell_path(tmp_path, CellKey("t", "c", name)) for name in names]
    assert len(set(paths)) == len(names)
    assert {path.parent for path in paths} == {tmp_path / "cells" / "t" / "c"}
    assert [path.name for path in paths[:3]] == ["en.cell", "zho_Hans.cell", "c++.cell"]
    for path in paths:
        write_whole(path, "x")


# whole writes


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    write_whole(tmp_path / "new" / "a.txt", "é")
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"\xc3\xa9"
    with pytest.raises(ValueError, match="Out of range float"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert {path.name for path in tmp_path.rglob("*")} == {"new", "a.txt"}


def test_where_nothing_can_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "a", tmp_path / "file" / "b" / "a"):
        with pytest.raises(ResultsError, match="cannot be written: .*; free space or choose"):
            write_whole(path, "x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_ends_a_run_and_keeps_what_is_finished(
    measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"a": {"type": "utf8_bytes"}, "b": {"type": "utf8_bytes"}},
    }
    write_bytes = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if "/b/" in str(self):
            with Path("/dev/full").open("wb") as device:
                return device.write(data)
        return write_bytes(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ResultsError, match="No space left on device"):
        measure(config, {"en.jsonl": ["x"]}, folder=tmp_path)
    names = {path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    assert {"en.cell", "plan.json"} <= names
    assert not {name for name in names if name.endswith((".tmp", ".parquet")) or name == "run.json"}


# reading


def test_a_folder_that_is_no_run_is_named(tmp_path: Path, good_run: RunOutcome) -> None:
    with pytest.raises(
        ResultsError, match=r"nowhere: is not a finished run \(run\.json is missing\)$"
    ):
        load_results(tmp_path / "nowhere")
    shutil.copy(good_run.results.folder / "plan.json", tmp_path)
    with pytest.raises(ResultsError, match="run its config again to complete it"):
        load_results(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "5", "null", "\xff", '{"schema_version": 99}'])
def test_a_damaged_or_foreign_run_json_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ResultsError, match=str(tmp_path.name)):
        load_results(tmp_path)


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "column"])
def test_a_damaged_table_is_named(tmp_path: Path, good_run: RunOutcome, damage: str) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(good_run.results.folder, folder)
    path = folder / "measurements.parquet"
    data, table = path.read_bytes(), pq.read_table(path)
    path.unlink()
    if damage == "column":
        pq.write_table(table.drop_columns("value"), path)
    elif damage != "gone":
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"")
    with pytest.raises(ResultsError, match=r"measurements\.parquet: is (missing|damaged)"):
        _ = load_results(folder).measurements


def test_the_public_way_in_is_one_import(good_run: RunOutcome) -> None:
    import tokbench

    frame = tokbench.load_results(str(good_run.results.folder)).to_pandas()
    tokens = frame[(frame.metric == "tokens") & (frame.tokenizer == "bytes")]
    assert dict(zip(tokens.language, tokens.value, strict=True)) == {
        "en": 34.0,
        "de": 46.0,
        "ja": 39.0,
    }
