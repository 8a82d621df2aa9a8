"""Large cells: what is made of their parts is what the whole gives, and no whole column is held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokbench
from hand_made import facts, tally
from small_config import CONFIG
from tokbench.bench.corpus import slice_file
from tokbench.bench.count import resampling
from tokbench.bench.count.resampling import Resampling
from tokbench.bench.count.tallies import kept_documents
from tokbench.bench.count.tally import COLUMNS, EXACT, LOSSY, ArrayTally, Cell, CellKey
from tokbench.bench.errors import ResultsError
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.run.cell_files import StoredTally, write_cell

KEY = CellKey("t", "corpus", "eng_Latn")
N = 23


def whole() -> ArrayTally:
    """Return a tally of 23 documents, every column of which differs from document to document."""
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 1000, N).tolist() for name in COLUMNS}
    columns["round_trip"] = rng.integers(EXACT, LOSSY + 1, N).tolist()
    for name in COLUMNS:
        if name.startswith("lost_"):
            columns[name] = (rng.random(N) < 0.1).astype(int).tolist()
    return tally(columns)


def in_parts(one: ArrayTally, folder: Path) -> StoredTally:
    """Store a tally in files of five documents."""
    paths = []
    for first in range(0, N, 5):
        mine = slice(first, first + 5)
        part = replace(
            one,
            rows=one.rows[mine],
            documents={name: values[mine] for name, values in one.documents.items()},
            ids_hash=one.ids_hash[mine],
        )
        paths.append(folder / f"{first}.cell")
        write_cell(paths[-1], Cell(key=KEY, status="ok", tally=part), {})
    return StoredTally(paths, [{}] * len(paths))


def refuse(*_: Any) -> NoReturn:
    raise AssertionError("a whole column was read")


@pytest.mark.parametrize("clusters", [None, tuple(f"{row % 3}" for row in range(N))])
def test_sums_of_a_stored_cell_are_made_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clusters: tuple[str, ...] | None
) -> None:
    monkeypatch.setattr(resampling, "MAX_UNITS", 4)
    one = whole()
    stored = in_parts(one, tmp_path)
    monkeypatch.setattr(StoredTally, "gathered", refuse)
    for name in COLUMNS:
        assert stored.total(name) == one.documents[name].sum()
    for kind in (EXACT, LOSSY):
        assert stored.round_trip_count(kind) == (one.documents["round_trip"] == kind).sum()
    assert 0 < kept_documents(stored) == kept_documents(one) < N
    cell = Cell(key=KEY, status="ok", tally=stored)
    known = {KEY.place: facts("eng_Latn", N, clusters=clusters)}
    draws = Resampling(cells=[cell], corpora=known, seed=0, resamples=10)
    tokens = one.documents["tokens"]
    if clusters is None:  # rows 0 to 5, 6 to 11, 12 to 17 and 18 to 22
        wanted = [tokens[:6].sum(), tokens[6:12].sum(), tokens[12:18].sum(), tokens[18:].sum()]
    else:
        wanted = [tokens[first::3].sum() for first in range(3)]
    assert draws.unit_totals(cell, "tokens").tolist() == wanted


def test_documents_of_batches_are_known_however_often_the_file_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lengths = tmp_path / "x.arrow", [3, 1, 2, 5, 4]
    with pa.ipc.new_file(path, pa.schema([("id", pa.string())])) as writer:
        for length in lengths:
            writer.write_batch(pa.record_batch({"id": ["x"] * length}))
    for mapped in (1, 2, 5, 64):
        monkeypatch.setattr(slice_file, "MAPPED_BATCHES", mapped)
        assert slice_file.Slice(path=path, meta=None).batch_rows() == lengths  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a small run."""
    results = tokbench.run(CONFIG, output=tmp_path / "runs", jobs=1)
    return results.folder


def test_row_groups_of_documents_are_the_table_and_miss_none(folder: Path) -> None:
    results, columns = load_results(folder), ("language", "tokens")
    path = folder / "documents" / "a@s.parquet"
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=10)
    groups = list(results.document_groups("a", "s", columns))
    assert len(groups) > 1
    assert pa.concat_tables(groups) == results.documents("a", "s", columns)
    pq.write_table(table.slice(1), path, row_group_size=10)
    with pytest.raises(ResultsError, match="documents of 'eng_Latn'"):
        list(results.document_groups("a", "s", columns))
