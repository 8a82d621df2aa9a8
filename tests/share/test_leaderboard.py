"""One table of many runs: cells are added once, equal ones agree, others are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from command_line import tokbench
from tokbench.bench.commands.sharing.leaderboard import LEADERBOARD, joined, read, rows_of
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome

TEXTS = {
    "en.jsonl": ["the cat", "the end"],
    "de.jsonl": ["die Katze", "das Ende"],
    "ja.jsonl": ["猫", "終"],
}


@pytest.fixture(scope="module")
def run_of(measure: Callable[..., RunOutcome]) -> Callable[..., Results]:
    """Run toy tokenizers on parallel texts in some languages."""

    def run(pieces: dict[str, list[str]], languages: list[str], pivot: str = "en") -> Results:
        corpus = {
            "source": "files",
            "path": "{language}.jsonl",
            "languages": languages,
            "id": "id",
            "parallel": True,
            "pivot": pivot,
        }
        toys = {key: {"type": "toy_pieces", "pieces": found} for key, found in pieces.items()}
        config = {"corpora": {"c": corpus}, "tokenizers": toys, "reports": []}
        suites = {"efficiency": {}, "multilingual": {}}
        return measure({**config, "suites": suites, "resamples": 200}, TEXTS).results

    return run


@pytest.fixture(scope="module")
def first(run_of: Callable[..., Results]) -> Results:
    return run_of({"toy": ["the", "cat"]}, ["en", "de"])


def add(run: Results, table: Path, *more: str) -> Result:
    return tokbench("leaderboard", "add", run.folder, "--to", table, *more)


def test_a_run_is_added_once(first: Results, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    assert add(first, table).exit_code == 0
    before = table.read_bytes()
    again = add(first, table)
    assert (again.exit_code, table.read_bytes()) == (0, before)
    assert f"0 cells added, {len(read(table)):,} agreed" in again.output
    # "the cat", "the end": the, ␣, cat; the, ␣, e, n, d
    [tokens] = [r for r in read(table) if r["metric"] == "tokens" and r["language"] == "en"]
    assert (tokens["value"], tokens["n"], tokens["tokenizer"]) == (8.0, 2, "toy")


def test_other_tokenizers_and_languages_grow_the_table_and_agree_on_what_is_there(
    first: Results, run_of: Callable[..., Results], tmp_path: Path
) -> None:
    table = tmp_path / "table.parquet"
    add(first, table)
    wider = run_of({"toy": ["the", "cat"], "other": ["Katze"]}, ["en", "de", "ja"])
    done = add(wider, table)
    assert done.exit_code == 0, done.output
    kept = [(r["tokenizer"], r["language"]) for r in read(table) if r["metric"] == "premium"]
    assert sorted(kept) == [(t, k) for t in ("other", "toy") for k in ("de", "en", "ja")]


def test_premiums_against_another_pivot_are_other_cells(
    first: Results, run_of: Callable[..., Results]
) -> None:
    other = run_of({"toy": ["the", "cat"]}, ["en", "de"], pivot="de")
    update, rows = joined(rows_of(first), rows_of(other))
    assert update.conflicts == []
    premiums = {(r["language"], r["value"]) for r in rows if r["metric"] == "premium"}
    # en is 8 tokens, "die Katze" and "das Ende" are 17 bytes
    assert premiums == {("en", 1.0), ("de", 17 / 8), ("de", 1.0), ("en", 8 / 17)}


def test_a_cell_with_another_value_is_refused_by_name_and_nothing_is_written(
    first: Results, tmp_path: Path
) -> None:
    table = tmp_path / "table.parquet"
    rows = rows_of(first)
    wrong = next(r for r in rows if r["metric"] == "tokens" and r["language"] == "de")
    pq.write_table(pa.Table.from_pylist([{**wrong, "value": 18.0}], schema=LEADERBOARD), table)
    before = table.read_bytes()
    done = add(first, table)
    assert done.exit_code == 1
    assert table.read_bytes() == before
    assert "refused: 1 cell of the table has another value" in done.output
    assert "toy (fingerprint " in done.output
    assert " on c de " in done.output
    assert "tokens: 18.0 over 2 in test-1, 17.0 over 2 in test-1" in done.output


def test_ranks_which_depend_on_the_other_tokenizers_of_a_run_are_left_out(first: Results) -> None:
    assert "rank" in first.measurements["metric"].to_pylist()
    assert "rank" not in {row["metric"] for row in rows_of(first)}


@pytest.mark.parametrize(
    "content", [b"", b"PAR1", pa.table({"a": [1]})], ids=["empty", "cut", "other"]
)
def test_a_file_that_is_no_leaderboard_is_left_as_it_is(
    first: Results, tmp_path: Path, content: Any
) -> None:
    table = tmp_path / "table.parquet"
    if isinstance(content, bytes):
        table.write_bytes(content)
    else:
        pq.write_table(content, table)
    before = table.read_bytes()
    done = add(first, table)
    assert done.exit_code == 3
    assert str(table) in done.output
    assert table.read_bytes() == before
