"""A run measures what it can, says what it could not, resumes, and repeats itself to the byte."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_files import exact_files
from tokbench.bench.results.report import render_reports
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.run.runner import RunOutcome

Measure = Callable[..., RunOutcome]

TEXTS = {"en.jsonl": ["the cat", "a cat"], "de.jsonl": ["die Katze", "eine Katze"]}
CONFIG: dict[str, Any] = {
    "corpora": {
        "c": {
            "source": "files",
            "path": "{language}.jsonl",
            "languages": ["en", "de"],
            "id": "id",
            "parallel": True,
            "pivot": "en",
        }
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "toy": {"type": "toy_pieces", "pieces": ["the", " cat"]},
    },
}


def statuses(run: RunOutcome) -> dict[tuple[str, str, str], str]:
    return {
        (c["tokenizer"], c["corpus"], c["language"]): c["status"] for c in run.results.run["cells"]
    }


# the same inputs give the same bytes


def test_two_runs_in_two_folders_write_the_same_exact_files(
    measure: Measure, broken_run: RunOutcome
) -> None:
    files = {
        path.name: path.read_text(encoding="utf-8")
        for path in broken_run.results.folder.parents[1].glob("*.jsonl")
    }
    again = measure(broken_run.results.run["config"], files)
    assert again.results.folder != broken_run.results.folder
    assert exact_files(again.results.folder, "report.md") == exact_files(
        broken_run.results.folder, "report.md"
    )


def test_exact_files_name_no_place_and_no_time(broken_run: RunOutcome) -> None:
    folder = broken_run.results.folder
    year = str(json.loads((folder / "environment.json").read_text())["started"][:4])
    for name, content in exact_files(folder, "report.md").items():
        assert str(folder.parents[2]).encode() not in content, name
        assert b"/tmp/" not in content, name
        assert year.encode() + b"-" not in content, name


def test_the_environment_holds_clock_machine_and_cpu_seconds(good_run: RunOutcome) -> None:
    environment = good_run.results.environment
    assert environment["finished"] >= environment["started"]
    assert {"encode", "decode", "corpus", "reports", "other"} <= set(environment["cpu_seconds"])
    assert all(seconds >= 0 for seconds in environment["cpu_seconds"].values())


# what failed, and what did not


def test_everything_measured_is_exit_code_0(good_run: RunOutcome) -> None:
    assert good_run.exit_code == 0
    assert good_run.problems == []
    assert Counter(statuses(good_run).values()) == {"ok": 9}


def test_a_fault_costs_what_it_touches_and_no_more(broken_run: RunOutcome) -> None:
    found = statuses(broken_run)
    assert broken_run.exit_code == 3
    for tokenizer in ("bytes", "raises", "panics", "undecodable"):
        sound = tokenizer == "bytes"
        assert found[tokenizer, "boom", "en"] == ("ok" if sound else "partial")
        assert found[tokenizer, "all", "en"] == ("ok" if sound else "failed")
        assert found[tokenizer, "gone", "en"] == "failed"
        assert {found[tokenizer, "texts", k] for k in ("en", "de", "ja")} == {"ok"}
    for tokenizer in ("unloadable", "unpanicable", "unknowable", "missing"):
        assert {s for (t, _, _), s in found.items() if t == tokenizer} == {"failed"}


def test_every_failed_cell_has_its_reason(broken_run: RunOutcome) -> None:
    reasons = {(c["tokenizer"], c["corpus"]): c["detail"] for c in broken_run.results.run["cells"]}
    assert reasons["raises", "boom"] == "1 of 3 documents failed, first 1: ValueError: cannot go on"
    assert reasons["panics", "all"] == (
        "2 of 2 documents failed, first 0: PanicException: the regex engine ran out of stack"
    )
    assert "nowhere.jsonl" in reasons["bytes", "gone"]
    assert "ValueError: cannot go on" in reasons["unloadable", "texts"]
    assert "PanicException" in reasons["unpanicable", "texts"]
    assert "RuntimeError: no vocabulary for you" in reasons["unknowable", "texts"]
    assert "nowhere.tiktoken" in reasons["missing", "texts"]
    assert all(
        c["detail"] for c in broken_run.results.run["cells"] if c["status"] in ("failed", "partial")
    )


def test_each_problem_is_told_once(broken_run: RunOutcome) -> None:
    problems = broken_run.problems
    assert len(problems) == len(set(problems))
    assert sum("nowhere.jsonl" in problem for problem in problems) == 1
    assert sum(problem.startswith("missing on ") for problem in problems) == 1


def test_failing_documents_are_findings_with_their_ids(broken_run: RunOutcome) -> None:
    rows = broken_run.results.findings.to_pylist()
    failures = {
        (r["tokenizer"], r["corpus"], r["document_id"]) for r in rows if r["kind"] == "failure"
    }
    for tokenizer in ("raises", "panics", "undecodable"):
        assert (tokenizer, "boom", "1") in failures
        assert {(tokenizer, "all", "0"), (tokenizer, "all", "1")} <= failures


def test_a_partial_cell_has_totals_over_the_rest_and_is_never_ranked(
    broken_run: RunOutcome,
) -> None:
    rows = [
        row
        for row in broken_run.results.measurements.to_pylist()
        if (row["tokenizer"], row["corpus"]) == ("raises", "boom")
    ]
    tokens = next(row for row in rows if row["metric"] == "tokens")
    assert (tokens["value"], tokens["n"], tokens["status"]) == (6.0, 2, "partial")
    rank = next(row for row in rows if row["metric"] == "rank")
    assert (rank["value"], rank["status"]) == (None, "partial")
    assert not {row["metric"] for row in rows if row["status"] == "ok"}


def test_a_failed_cell_has_its_rows_without_values(broken_run: RunOutcome) -> None:
    rows = [
        row
        for row in broken_run.results.measurements.to_pylist()
        if (row["tokenizer"], row["corpus"]) == ("unloadable", "boom")
    ]
    assert {"bytes_per_token", "fertility", "unk_rate"} <= {row["metric"] for row in rows}
    assert {row["status"] for row in rows} == {"failed"}
    assert {row["value"] for row in rows} == {None}
    assert all("cannot go on" in row["detail"] for row in rows)
    assert {row["language"] for row in rows} == {"en"}


def test_documents_of_a_partial_cell_are_those_that_worked(broken_run: RunOutcome) -> None:
    table = broken_run.results.documents("raises", "boom")
    assert table["document_id"].to_pylist() == ["0", "2"]


def test_nothing_that_could_be_measured_is_not_a_run_without_files(measure: Measure) -> None:
    run = measure({**CONFIG, "tokenizers": {"t": {"type": "toy_faulty", "where": "load"}}}, TEXTS)
    assert run.exit_code == 3
    assert run.results.run["cells"][0]["status"] == "failed"
    assert (run.results.folder / "report.md").read_text(encoding="utf-8")


def test_no_readable_corpus_is_not_a_run_without_files(measure: Measure) -> None:
    run = measure(CONFIG, dict.fromkeys(TEXTS, "not JSON\n"))
    assert run.exit_code == 3
    assert set(statuses(run).values()) == {"failed"}
    assert "en.jsonl" in (run.results.folder / "report.md").read_text(encoding="utf-8")


# resuming


def test_a_finished_run_is_not_touched_again(measure: Measure, tmp_path: Path) -> None:
    first = measure(CONFIG, TEXTS, folder=tmp_path)
    before = exact_files(first.results.folder, "report.md")
    second = measure(CONFIG, folder=tmp_path)
    assert [first.results.name, second.results.name] == ["test-1", "test-2"]
    assert exact_files(first.results.folder, "report.md") == before


def test_an_unfinished_run_is_completed_from_its_cells(
    measure: Measure, tmp_path: Path, listener: Any
) -> None:
    first = measure(CONFIG, TEXTS, folder=tmp_path)
    folder = first.results.folder
    expected = exact_files(folder, "report.md")
    _make_unfinished(folder)
    shutil.rmtree(folder / "cells" / "toy")
    heard = listener()
    second = measure(CONFIG, folder=tmp_path, listener=heard)
    assert second.results.folder == folder
    assert [(cell.key.tokenizer, reused) for cell, reused in heard.cells] == [
        ("bytes", True),
        ("bytes", True),
        ("toy", False),
        ("toy", False),
    ]
    assert exact_files(folder, "report.md") == expected


def test_new_leaves_an_unfinished_run_alone(measure: Measure, tmp_path: Path) -> None:
    _make_unfinished(measure(CONFIG, TEXTS, folder=tmp_path).results.folder)
    assert measure(CONFIG, folder=tmp_path, new=True).results.name == "test-2"


def test_an_unfinished_run_of_another_plan_is_left_alone(measure: Measure, tmp_path: Path) -> None:
    _make_unfinished(measure(CONFIG, TEXTS, folder=tmp_path).results.folder)
    assert measure({**CONFIG, "seed": 1}, folder=tmp_path).results.name == "test-2"


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "garbage", "folder"])
def test_a_damaged_cell_is_counted_again(
    measure: Measure, tmp_path: Path, listener: Any, damage: str
) -> None:
    config = {**CONFIG, "keep_ids": True}
    folder = measure(config, TEXTS, folder=tmp_path).results.folder
    expected = exact_files(folder, "report.md")
    _make_unfinished(folder)
    cell = folder / "cells" / "toy" / "c" / "en.cell"
    data = cell.read_bytes()
    cell.unlink()
    if damage == "folder":
        cell.mkdir()
        with pytest.raises(Exception, match=r"en\.cell: cannot be written"):
            measure(config, folder=tmp_path)
        return
    flipped = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    new = {"cut": data[:-9], "flipped": flipped, "empty": b"", "garbage": b"x" * 999}[damage]
    cell.write_bytes(new)
    heard = listener()
    measure(config, folder=tmp_path, listener=heard)
    assert [reused for _, reused in heard.cells] == [True, True, False, True]
    assert exact_files(folder, "report.md") == expected


def test_a_cell_of_changed_text_or_tokenizer_is_counted_again(
    measure: Measure, tmp_path: Path, listener: Any
) -> None:
    folder = measure(CONFIG, TEXTS, folder=tmp_path).results.folder
    _make_unfinished(folder)
    heard = listener()
    changed = {"en.jsonl": ["the dog", "a cat"]}
    run = measure(CONFIG, changed, folder=tmp_path, listener=heard)
    assert run.results.folder == folder
    assert [reused for _, reused in heard.cells] == [False, True, False, True]


def test_an_interrupted_run_keeps_its_cells_and_can_be_completed(
    measure: Measure, tmp_path: Path, listener: Any
) -> None:
    tokenizers = {**CONFIG["tokenizers"], "stop": {"type": "toy_faulty", "how": "interrupt"}}
    files = {**TEXTS, "de.jsonl": ["boom", "eine Katze"]}
    with pytest.raises(KeyboardInterrupt):
        measure({**CONFIG, "tokenizers": tokenizers}, files, folder=tmp_path)
    folder = tmp_path / "runs" / "test-1"
    assert not (folder / "run.json").exists()
    assert len(list((folder / "cells").rglob("*.cell"))) == 5
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_a_name_may_mean_another_tokenizer_in_the_next_run(
    measure: Measure, tmp_path: Path
) -> None:
    """Even where the run before it was interrupted, in the same process."""
    stopping = {"t": {"type": "toy_faulty", "how": "interrupt"}}
    files = {"en.jsonl": ["a", "boom"], "de.jsonl": ["b"]}
    with pytest.raises(KeyboardInterrupt):
        measure({**CONFIG, "tokenizers": stopping}, files, folder=tmp_path)
    run = measure({**CONFIG, "tokenizers": {"t": {"type": "characters"}}}, files, folder=tmp_path)
    assert run.results.run["tokenizers"]["t"]["n_ids"] > 257


def _make_unfinished(folder: Path) -> None:
    for name in ("run.json", "measurements.parquet", "findings.parquet", "report.md"):
        (folder / name).unlink()


# after the tokenizers are gone


def test_a_report_is_made_from_the_files_alone(
    measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = measure(CONFIG, TEXTS, folder=tmp_path).results.folder
    elsewhere = tmp_path / "kept"
    elsewhere.mkdir()
    shutil.copytree(source, elsewhere / source.name)
    shutil.rmtree(source)
    moved = elsewhere / source.name
    report = (moved / "report.md").read_bytes()
    shutil.rmtree(moved / "cells")
    for name in TEXTS:
        (tmp_path / name).unlink()
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "no cache"))
    monkeypatch.setattr("tokbench.bench.plugins.TokenizerPlugin.load", None)
    rendered = render_reports(["markdown", "summary"], load_results(moved))
    assert rendered["report.md"].encode() == report
    assert "toy" in rendered["summary.txt"]


# places


def test_names_of_languages_never_leave_the_run_folder(measure: Measure, tmp_path: Path) -> None:
    languages = {
        "../../../up": {"file": "en.jsonl", "tag": "en"},
        "a/b": {"file": "de.jsonl", "tag": "de"},
    }
    config = {**CONFIG, "corpora": {"c": {"source": "files", "languages": languages}}}
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    run = measure(config, TEXTS, folder=folder)
    assert run.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}
    assert {path.name for path in folder.iterdir()} == {"runs", *TEXTS}
    cells = list(run.results.folder.rglob("*.cell"))
    assert len(cells) == 4
    assert {path.parent.parent.parent.name for path in cells} == {"cells"}


def test_the_order_of_the_config_is_the_order_of_the_results(good_run: RunOutcome) -> None:
    keys = list(statuses(good_run))
    assert [k[0] for k in keys[::3]] == ["bytes", "pieces", "lossy"]
    assert [k[2] for k in keys[:3]] == ["en", "de", "ja"]
