"""A run folder that is not as it was written is refused by everything that reads it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from command_line import tokbench
from run_files import exact_files
from tokbench.bench.errors import ResultsError
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.results.schemas import write_parquet
from tokbench.bench.results.seal import sealed_text

MeasureBpe = Callable[..., Results]


@pytest.fixture
def run(measure_bpe: MeasureBpe) -> Path:
    return measure_bpe("a").folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "copy"))


def test_a_copy_of_a_run_is_as_good_as_the_run(run: Path, copy: Path) -> None:
    assert load_results(copy).run["digest"] == load_results(run).run["digest"]
    assert tokbench("compare", run, copy).exit_code == 0


def test_a_flipped_byte_anywhere_in_an_exact_file_is_found_and_the_file_named(copy: Path) -> None:
    chosen = random.Random(20)
    for path in [copy / name for name in exact_files(copy)]:
        whole = path.read_bytes()
        for _ in range(60):
            at, flip = chosen.randrange(len(whole)), chosen.randrange(1, 256)
            damaged = bytearray(whole)
            damaged[at] ^= flip
            path.write_bytes(damaged)
            with pytest.raises(ResultsError, match=path.name):
                load_results(copy)
        path.write_bytes(whole)
    load_results(copy)


def test_every_command_that_reads_a_run_refuses_a_damaged_one(
    run: Path, copy: Path, tmp_path: Path
) -> None:
    path = copy / "measurements.parquet"
    table = pq.read_table(path)
    half = [None if v is None else v / 2 for v in table["value"].to_pylist()]
    at = table.schema.get_field_index("value")
    write_parquet(path, table.set_column(at, table.schema.field("value"), [half]))
    for command in (
        ("compare", run, copy),
        ("compare", copy, run),
        ("report", copy),
        ("report", run, copy),
        ("baseline", "save", copy, tmp_path / "x.baseline.json"),
        ("import-benchmark", copy, tmp_path / "x.json"),
    ):
        done = tokbench(*command)
        assert done.exit_code == 3, command
        assert "measurements.parquet: is damaged or was edited" in done.output
    assert not (tmp_path / "x.baseline.json").exists()


def test_tables_of_another_run_do_not_pass_for_its_own(run: Path, measure_bpe: MeasureBpe) -> None:
    worse = measure_bpe("b", tokenizers={"bpe": ("th",)}).folder
    shutil.copy(run / "measurements.parquet", worse)
    shutil.copytree(run / "documents", worse / "documents", dirs_exist_ok=True)
    assert tokbench("compare", run, worse).exit_code == 3


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "findings.parquet").unlink()
    with pytest.raises(ResultsError, match=r"findings\.parquet: is missing"):
        load_results(copy)


def without_seal(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Make `run.json` what an older tokbench wrote, changed."""
    path = folder / "run.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    del run["seal"], run["files"]
    run["schema_version"] = 1
    change(run)
    path.write_text(json.dumps(run), encoding="utf-8")


def test_an_older_run_has_no_seal_and_its_tables_are_held_against_the_digest(
    run: Path, copy: Path, measure_bpe: MeasureBpe
) -> None:
    without_seal(copy, lambda run: None)
    assert load_results(copy).measurements.equals(load_results(run).measurements)
    other = measure_bpe("b", tokenizers={"bpe": ("th",)}).folder
    shutil.copy(other / "measurements.parquet", copy)
    with pytest.raises(ResultsError, match="digest of the tables is not the one in run.json"):
        load_results(copy)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.pop("cells"), "cells: Field required"),
        (lambda run: run["cells"][0].pop("n"), "cells.0.n: Field required"),
        (lambda run: run.update(policy=True), "policy: Input should be a valid"),
        (lambda run: run["tokenizers"]["bpe"].update(fingerprint=[1]), "fingerprint"),
        (lambda run: run["config"].update(corpora=[]), "config.corpora"),
    ],
)
def test_an_older_run_of_another_shape_is_damaged(
    copy: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    without_seal(copy, change)
    with pytest.raises(ResultsError, match=said):
        load_results(copy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested more than 64 levels deep"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ("1" * 401, "is too large"),
        ("[]", "is not a JSON object"),
        ('{"a": "\\ud800"}', "lone surrogate"),
    ],
)
def test_run_json_is_read_strictly_and_within_bounds(copy: Path, text: str, said: str) -> None:
    (copy / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=said):
        load_results(copy)


def test_run_json_that_never_ends_is_not_read(copy: Path) -> None:
    (copy / "run.json").unlink()
    (copy / "run.json").symlink_to("/dev/zero")
    with pytest.raises(ResultsError, match=r"run\.json: is not a regular file"):
        load_results(copy)


def test_a_run_that_is_sealed_again_without_its_files_is_damaged(copy: Path) -> None:
    path = copy / "run.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(sealed_text({**run, "files": None}), encoding="utf-8")
    with pytest.raises(ResultsError, match="it names no files"):
        load_results(copy)
