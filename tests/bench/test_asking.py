"""What breaks a tokenizer while a suite asks it costs the text or the suite, and nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_files import exact_files
from tokbench.bench.results.run_folder import Results, load_results

SECONDS = 10
"""A machine with other work may keep a sound worker from reporting for some of them."""
FAULTS = {
    "raise": "ValueError: cannot go on",
    "panic": "PanicException: the regex engine ran out of stack",
    "interrupt": "KeyboardInterrupt: ",
    "die": "its worker process ended (exit code 7)",
    "crash": "its worker process was killed by SIGSEGV",
    "hang": f"timed out: no progress for {SECONDS} s (limits.seconds)",
    "hoard": "used more than 400 MB of memory (limits.memory)",
}
LOST = [fault for fault in FAULTS if fault not in ("raise", "panic")]
"""Faults that cost a process; the others only raise."""

Run = Callable[..., tuple[Any, Results]]


@pytest.fixture(scope="module")
def run(toys_known: None, tmp_path_factory: Any, tokbench: Any) -> Run:
    """Run a config whose only corpus never fails; the toy tokenizers fail at the word `boom`."""
    cache = str(tmp_path_factory.mktemp("cache"))

    def run(config: dict[str, Any], *arguments: str, folder: Path | None = None) -> Any:
        folder = folder or tmp_path_factory.mktemp("run")
        rows = [json.dumps({"text": text}) for text in ("one two", "three")]
        (folder / "rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
        whole = {
            "name": "asking",
            "corpora": {"c": {"source": "files", "path": "rows.jsonl", "language": "en"}},
            "reports": [],
            "limits": {"memory": "400 MB"},
            **config,
        }
        (folder / "asking.yaml").write_text(json.dumps(whole), encoding="utf-8")
        done = tokbench(folder, "run", "asking.yaml", *arguments, TOKBENCH_CACHE=cache)
        assert "Traceback" not in done.stderr
        return done, load_results(folder / "runs" / "asking-1")

    return run


def faulty(*hows: str, **options: Any) -> dict[str, Any]:
    return {how: {"type": "toy_faulty", "how": how, **options} for how in hows}


@pytest.fixture(scope="module")
def asked(run: Run) -> tuple[Any, Results]:
    """One run with a tokenizer for each fault, and one that is well."""
    tokenizers = {**faulty(*FAULTS), "well": {"type": "utf8_bytes"}}
    suites = {"efficiency": {}, "toy_questions": {"rounds": 2}}
    limits = {"seconds": SECONDS, "memory": "400 MB"}
    return run({"tokenizers": tokenizers, "suites": suites, "limits": limits}, "--jobs", "2")


def answers(results: Results, tokenizer: str) -> list[tuple[float | None, str | None]]:
    rows = [r for r in results.measurements.to_pylist() if r["suite"] == "toy_questions"]
    mine = [r for r in rows if r["tokenizer"] == tokenizer]
    mine.sort(key=lambda r: sorted(json.loads(r["params"]).items(), key=str))
    return [(r["value"], r["detail"]) for r in mine]


def failures(results: Results, **wanted: str) -> list[dict[str, Any]]:
    rows = results.findings.to_pylist()
    return [r for r in rows if r["kind"] == "failure" and wanted.items() <= r.items()]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_text_and_the_others_are_answered(asked: Any, fault: str) -> None:
    _, results = asked
    one_round = [(1, None), (2, None), (None, FAULTS[fault])]
    assert answers(results, fault) == one_round * 2


@pytest.mark.parametrize("fault", LOST)
def test_a_text_that_cost_a_process_is_named_with_suite_and_tokenizer(
    asked: Any, fault: str
) -> None:
    done, results = asked
    [finding] = failures(results, tokenizer=fault)
    assert finding["suite"] == "toy_questions"
    assert finding["message"] == f"{FAULTS[fault]} at the text 'the␣boom'"
    assert f"suite toy_questions on {fault}: {FAULTS[fault]} at the text" in done.stderr
    assert done.returncode == 3


def test_a_sound_tokenizer_beside_them_is_asked_and_everything_is_counted(asked: Any) -> None:
    _, results = asked
    assert answers(results, "well") == [(1, None), (2, None), (8, None)] * 2
    assert {cell["status"] for cell in results.run["cells"]} == {"ok"}


def test_the_number_of_jobs_changes_no_exact_file(run: Run) -> None:
    config = {
        "tokenizers": {**faulty("die", "crash"), "well": {"type": "utf8_bytes"}},
        "suites": {
            "toy_questions": {},
            "witnesses": {"fuzz": 2},
            "vocabulary": {},
            "differential": {"pairs": [{"first": "well", "second": "die"}], "fuzz": 2},
        },
    }
    runs = [run(config, "--jobs", jobs)[1] for jobs in ("1", "3")]
    first, second = (exact_files(results.folder) for results in runs)
    assert first == second


@pytest.mark.parametrize("how", ["raise", "die", "interrupt"])
def test_a_suite_that_fails_by_itself_costs_its_own_rows(run: Run, how: str) -> None:
    suites = {"toy_questions": {"how": how, "texts": ["a"]}, "efficiency": {}}
    done, results = run({"tokenizers": {"well": {"type": "utf8_bytes"}}, "suites": suites})
    assert done.returncode == 3
    [finding] = failures(results, suite="toy_questions", tokenizer="well")
    assert ("cannot go on" if how == "raise" else "it could not be loaded") in finding["message"]
    rows = [r for r in results.measurements.to_pylist() if r["suite"] == "toy_questions"]
    # what a suite found before it raised is there; a lost process took it with it
    statuses = [(row["value"], row["status"]) for row in rows]
    assert statuses == [(1, "ok") if how == "raise" else (None, "failed")]
    assert {
        r["status"] for r in results.measurements.to_pylist() if r["suite"] == "efficiency"
    } == {"ok"}


def test_too_many_lost_texts_end_the_suite_for_that_tokenizer(run: Run) -> None:
    texts = [f"boom {n}" for n in range(3)]
    done, results = run(
        {
            "tokenizers": {**faulty("die"), "well": {"type": "utf8_bytes"}},
            "suites": {"toy_questions": {"texts": texts}},
            "limits": {"lost_documents": 2},
        }
    )
    assert done.returncode == 3
    [finding] = failures(results, tokenizer="die")
    assert finding["message"] == (
        "2 texts crashed its worker, the limit (limits.lost_documents); last: its worker process "
        "ended (exit code 7)"
    )
    assert [value for value, _ in answers(results, "die")] == [None]
    assert [value for value, _ in answers(results, "well")] == [6, 6, 6]


CRASHES = {
    "witnesses": {"where": "decode", "word": "\u0301"},  # hard strings hold no word of ours
    "probes": {"word": "x = 1"},
    "vocabulary": {"word": "x  y"},
    "headroom": {"where": "pre_tokens", "word": "one two"},
    "robustness": {"word": "\u200b"},
    "differential": {"word": "\u0301"},
}
"""By suite: where, and at what, the tokenizer of that suite's name crashes."""


@pytest.fixture(scope="module")
def crashed(run: Run) -> tuple[Any, Results]:
    """One run of the suites that ask, each with a tokenizer that crashes at a text of its own."""
    tokenizers = {
        suite: {"type": "toy_faulty", "how": "crash", **options}
        for suite, options in CRASHES.items()
    }
    pairs = [{"first": "well", "second": "differential"}, {"first": "well", "second": "again"}]
    suites = {
        "witnesses": {"fuzz": 3},
        "probes": {"code_bytes": 0},
        "vocabulary": {},
        "headroom": {"documents": 2},
        "robustness": {"documents": 2, "classes": ["zero_width", "letter_case"]},
        "differential": {"pairs": pairs, "fuzz": 3},
        "efficiency": {},
    }
    well = {"well": {"type": "utf8_bytes"}, "again": {"type": "utf8_bytes"}}
    return run({"tokenizers": {**tokenizers, **well}, "suites": suites})


@pytest.mark.parametrize("suite", CRASHES)
def test_each_suite_that_asks_outlives_a_crash(crashed: Any, suite: str) -> None:
    done, results = crashed
    assert done.returncode == 3
    found = failures(results, suite=suite, tokenizer=suite)
    assert found
    assert "its worker process was killed by SIGSEGV" in found[-1]["message"]
    rows = results.measurements.to_pylist()
    about = {row["tokenizer"] for row in rows if row["suite"] == suite}
    assert about >= ({"well"} if suite == "differential" else {suite, "well"})
    assert all(row["value"] is not None for row in rows if row["suite"] == "efficiency")


def test_a_pair_outlives_the_crash_of_one_which_is_named(crashed: Any) -> None:
    _, results = crashed
    found = failures(results, suite="differential")
    assert found
    assert all(finding["tokenizer"] in ("differential", "well") for finding in found)
    rows = [r for r in results.measurements.to_pylist() if r["metric"] == "id_agreement"]
    agreement = [r["value"] for r in rows if json.loads(r["params"]).get("second") == "again"]
    assert agreement
    assert set(agreement) == {1.0}


def test_ctrl_c_while_a_suite_asks_leaves_whole_files_and_the_next_run_goes_on(
    run: Run, tmp_path: Path
) -> None:
    config = {
        "tokenizers": {"well": {"type": "utf8_bytes"}},
        "suites": {"toy_questions": {"until": "go"}},
        "limits": {},
    }
    wanted, interrupted = tmp_path / "undisturbed", tmp_path / "interrupted"
    for folder in (wanted, interrupted):
        folder.mkdir()
    (wanted / "go").touch()
    run(config, folder=wanted)
    for name in ("rows.jsonl", "asking.yaml"):
        (interrupted / name).write_bytes((wanted / name).read_bytes())
    command = [sys.executable, "-m", "tokbench", "run", "asking.yaml"]
    process = subprocess.Popen(command, cwd=interrupted, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("suite toy_questions" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "interrupted" in said
    assert not list(interrupted.rglob("run.json"))
    (interrupted / "go").touch()
    run(config, folder=interrupted)
    first, second = (exact_files(folder / "runs" / "asking-1") for folder in (wanted, interrupted))
    assert first == second


@pytest.mark.parametrize("command", ["inspect", "which"])
def test_one_text_is_looked_at_with_every_tokenizer_that_outlives_it(
    toys_known: None, tmp_path: Path, tokbench: Any, command: str
) -> None:
    config = {
        "name": "looked",
        "corpora": {"c": {"source": "builtin", "dataset": "sentences"}},
        "tokenizers": {
            **faulty("raise", "panic", "die", "crash", "hang", "hoard"),
            "no_load": {"type": "toy_faulty", "how": "crash", "where": "load"},
            "well": {"type": "utf8_bytes"},
        },
        "limits": {"seconds": SECONDS, "memory": "400 MB"},
    }
    (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
    text = "the boom"
    done = tokbench(tmp_path, command, text, "--config", "c.yaml")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "well" in done.stdout
    lines = {line.partition(": ")[0]: line for line in done.stderr.splitlines()}
    for how, reason in FAULTS.items():
        if how != "interrupt":
            assert reason in lines[how]
    assert "was killed by SIGSEGV while loading" in lines["no_load"]
    assert "well" not in lines
