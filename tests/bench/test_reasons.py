"""Rows and findings without a plain value carry a code, and code decides by it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pages import sections, table
from tokbench.bench.commands.pin import Repository, ask_hub
from tokbench.bench.errors import HubUnreachable
from tokbench.bench.reasons import REASONS, Reason
from tokbench.bench.results.digest import digest_of
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.results.schemas import MEASUREMENTS
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View, summarize


def test_every_code_has_a_line_and_every_line_is_on_the_page() -> None:
    assert tuple(REASONS) == get_args(Reason)
    assert {f"`{row[0]}`": row[1] for row in table(sections("docs/results.md")["Reasons"])} == {
        f"`{code}`": meaning for code, meaning in REASONS.items()
    }


@pytest.mark.parametrize("run", ["good_run", "broken_run"])
def test_every_row_without_a_plain_value_has_a_code(
    run: str, request: pytest.FixtureRequest
) -> None:
    outcome: RunOutcome = request.getfixturevalue(run)
    rows = [*outcome.results.measurements.to_pylist(), *outcome.results.throughput.to_pylist()]
    assert rows
    for row in rows:
        if row["value"] is None or row["status"] != "ok":
            assert row["reason"] in REASONS, row
    for finding in outcome.results.findings.to_pylist():
        assert finding["reason"] in REASONS, finding
    for cell in outcome.results.run["cells"]:
        assert (cell["status"] == "ok") == (cell["reason"] is None), cell


def test_a_hub_that_does_not_answer_is_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    one = Repository(place=("corpora", "c"), name="owner/texts", kind="dataset", revision=None)
    with pytest.raises(HubUnreachable):
        ask_hub(one)


def as_first_schema(new: Results, folder: Path) -> Results:
    """Write a run as schema 1 did: no seal, and without the columns that are new since."""
    folder.mkdir()
    shutil.copytree(new.folder / "documents", folder / "documents")
    for name in ("measurements.parquet", "findings.parquet"):
        stored = pq.read_table(new.folder / name)
        pq.write_table(
            stored.drop_columns([c for c in ("reason", "ranked") if c in stored.column_names]),
            folder / name,
        )
    run = {k: v for k, v in new.run.items() if k not in ("seal", "files")}
    names = [str(p.relative_to(folder)) for p in folder.rglob("*.parquet")]
    tables: dict[str, pa.Table | str] = {n: pq.read_table(folder / n) for n in names}
    run |= {"schema_version": 1, "digest": digest_of(tables)}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    return load_results(folder)


def test_a_run_of_the_first_schema_is_read_with_empty_reasons(
    good_run: RunOutcome, tmp_path: Path
) -> None:
    old = as_first_schema(good_run.results, tmp_path / "old-1")
    assert old.measurements.schema.names == MEASUREMENTS.names
    assert old.measurements["reason"].null_count == old.measurements.num_rows
    assert old.findings["reason"].null_count == old.findings.num_rows


def test_no_lossy_tokenizer_of_an_old_run_is_ranked(good_run: RunOutcome, tmp_path: Path) -> None:
    old = as_first_schema(good_run.results, tmp_path / "old-1")
    ranked = {r["tokenizer"] for r in old.measurements.to_pylist() if r["ranked"] and r["corpus"]}
    assert "lossy" not in ranked
    assert "bytes" in ranked
    view = View(old)
    assert {s.tokenizer: s.ranked_in > 0 for s in summarize(view, "texts")} == {
        "bytes": True,
        "pieces": True,
        "lossy": False,
    }
