"""How a run says how far it is: by time, in few lines, and as JSON for machines."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench import console
from tokbench.bench.config.schema import load_config
from tokbench.bench.console import ConsoleProgress
from tokbench.bench.progress import Parts
from tokbench.bench.run import runner

CELLS: Mapping[str, int] = {"a": 2, "b": 1}


@dataclass(frozen=True)
class Done:
    key: tuple[str, str, str]
    status: str = "ok"
    detail: str | None = None


def three_cells(progress: ConsoleProgress) -> None:
    progress.step("run mine-1: 3 cells")
    progress.expect({"counting": 30.0, "timing": 10.0}, CELLS)
    progress.step("corpus s, en: reading")
    for number, key in enumerate((("a", "s", "en"), ("a", "s", "fr"), ("b", "s", "en")), 1):
        failed = key[0] == "b"
        cell = Done(key, *(("failed", "it broke") if failed else ()))
        progress.cell(cell, number, 3, reused=False)
        progress.part("counting", number / 3)


def test_a_pipe_gets_one_line_for_each_tokenizer_and_the_first_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ConsoleProgress() as progress:
        three_cells(progress)
    assert capsys.readouterr().err.splitlines() == [
        "run mine-1: 3 cells",
        "a: 2 cells: 2 ok",
        "b: failed: it broke",
        "b: 1 cell: 1 failed",
    ]


def test_verbose_gives_a_line_for_each_cell_and_quiet_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ConsoleProgress(verbose=True) as progress:
        three_cells(progress)
    assert "[2/3] a × s × fr: ok" in capsys.readouterr().err.splitlines()
    with ConsoleProgress(quiet=True, verbose=True) as progress:
        three_cells(progress)
    assert capsys.readouterr().err == ""


def test_every_ten_seconds_a_line_says_how_far_the_run_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "QUIET_SECONDS", 0.2)
    with ConsoleProgress() as progress:
        progress.expect({"counting": 30.0, "timing": 10.0}, {})
        progress.part("counting", 1)
        progress.step("timing, process 1 of 1, round 1 of 9")
        progress._over.wait(1.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert lines[0].startswith("75 %, ")
    assert lines[0].endswith(": timing, process 1 of 1, round 1 of 9")


def test_the_log_holds_every_event_as_a_line_of_json_and_no_secret() -> None:
    log = io.StringIO()
    with ConsoleProgress(quiet=True, log=log) as progress:
        three_cells(progress)
        progress.warning("https://user:hf_abcdefghijklmnopqrstuvwxyz012345@host was refused")
    events = [json.loads(line) for line in log.getvalue().splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds == ["step", "expect", "step", *["cell", "part"] * 3, "warning", "end"]
    assert events[-3]["total"] == 0.75
    assert "hf_abcdef" not in log.getvalue()


def test_time_decides_how_far_the_bar_is_and_what_is_left() -> None:
    parts = Parts(seconds={"counting": 1.0, "timing": 3.0}, done={"counting": 1.0})
    assert (parts.share, parts.left(5.0)) == (0.25, 15.0)
    assert Parts().left(5.0) is None


def test_a_run_moves_through_all_its_parts_to_the_end(tmp_path: Path, listener: type[Any]) -> None:
    (tmp_path / "s.txt").write_text("one two\n" * 3, encoding="utf-8")
    heard = listener()
    config = load_config(
        {
            "name": "mine",
            "corpora": {"s": {"source": "files", "path": "s.txt", "language": "en"}},
            "tokenizers": {"bytes": {"type": "utf8_bytes"}},
            "suites": {"efficiency": {}, "throughput": {"rounds": 3, "processes": 1}},
            "reports": [],
        },
        folder=tmp_path,
    )
    runner.run(config, output=tmp_path, progress=heard)
    assert list(heard.expected) == ["corpora", "counting", "suites", "timing", "reports"]
    timing = [share for name, share in heard.parts if name == "timing"]
    assert timing == sorted(timing)
    assert (timing[0], timing[-1], len(timing) > 3) == (0.0, 1, True)
    assert {name for name, _ in heard.parts} == set(heard.expected)
