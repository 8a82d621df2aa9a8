"""What a terminal shows of a run: it fits, whatever the width, and its best and lossy rows tell."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tokbench.bench.cli import main
from tokbench.bench.console import result_painted
from tokbench.bench.errors import UsageError
from tokbench.bench.files import parse_json
from tokbench.bench.markup import cell_width
from tokbench.bench.results.report import Lookup, screen
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.results.seal import sealed_text
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.terminal.layout import ScreenColumn, lay, wrapped

Lines = list[str]
WIDTHS = (60, 80, 100, 140)


def shown(run: RunOutcome, width: int, **asked: Any) -> Lines:
    return [
        "".join(text for text, _ in line)
        for line in screen().show(run.results, Lookup(**asked), width)
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("asked", [{}, {"languages": ["en"]}, {"metrics": ["round_trip"]}])
def test_every_line_fits_the_terminal(
    width: int, asked: dict[str, Any], good_run: RunOutcome, broken_run: RunOutcome
) -> None:
    for run in (good_run, broken_run):
        for line in shown(run, width, **asked):
            assert cell_width(line) <= width or line.startswith("report: "), line


def test_columns_go_in_their_order_and_are_named(good_run: RunOutcome) -> None:
    narrow, wide = shown(good_run, 60), shown(good_run, 140)
    [head] = [line for line in wide if line.startswith("tokenizer ")]
    assert re.split(r"\s{2,}", head) == [
        "tokenizer", "× best", "tokens", "place", "lost", "premium", "first in", "exact",
        "vocabulary", "highest premium",
    ]  # fmt: skip
    assert not any("Hidden" in line for line in wide)
    hidden = " ".join(narrow).split("Hidden at this width: ")[1]
    assert hidden.startswith("first in, exact, vocabulary, highest premium.")


def test_rows_are_stacked_where_the_narrowest_table_is_too_wide() -> None:
    columns = [ScreenColumn("name", ["n" * 25, "東" * 15], 0), ScreenColumn("x", ["1.5", "–"], 0)]
    lines = ["".join(text for text, _ in line) for line in lay(columns, ["best", None], 20).lines]
    assert lines == ["n" * 20, "n" * 5, "  x 1.5", "東" * 10, "東" * 5, "  x –"]


def test_sentences_break_between_words_and_never_before_a_per_cent_sign() -> None:
    assert wrapped("lost by 12.5 % of all", 12) == ["lost by", "12.5 % of", "all"]


def test_the_best_is_bold_and_first_and_lossy_rows_have_a_mark(good_run: RunOutcome) -> None:
    styles = {
        line[0][0].split("  ")[0]: line[0][1]
        for line in screen().show(good_run.results, Lookup(), 100)
        if re.match(r"(pieces|bytes|lossy)( †)?  ", line[0][0])
    }
    assert styles == {"pieces": "best", "bytes": None, "lossy †": "unranked"}


def test_without_a_terminal_nothing_is_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    result_painted([[("a", "best"), ("b", None)]])
    assert capsys.readouterr().out == "ab\n"


@pytest.mark.parametrize(("no_color", "said"), [("", b"\x1b[1;32ma\x1b[0mb"), ("1", b"ab")])
def test_no_color_is_kept_on_a_terminal(
    no_color: str, said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = os.openpty()
    with os.fdopen(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        result_painted([[("a", "best"), ("b", None)]])
        assert os.read(reader, 100).strip() == said
    os.close(reader)


def test_one_value_is_shown_with_its_interval_and_count(good_run: RunOutcome) -> None:
    lines = shown(good_run, 80, languages=["en"], tokenizers=["bytes"], metrics=["tokens"])
    assert lines[0].startswith("tokens (")
    assert lines[2].split() == ["en", "bytes", "34.00", "–", "3"]


def test_show_gives_the_same_to_a_program(good_run: RunOutcome) -> None:
    """Costs are those of the table for a mix: bytes need 11.75 tokens per document."""
    show = ["show", str(good_run.results.folder), "--json"]
    done = CliRunner().invoke(main, [*show, "--focus", "en=3", "--focus", "ja=1"])
    said = json.loads(done.output)["corpora"]["texts"]
    assert said["weights"] == {"en": 0.75, "ja": 0.25}
    assert {one["tokenizer"]: one["cost"] for one in said["standings"]}["bytes"] == 11.75
    done = CliRunner().invoke(main, [*show, "--metric", "tokens", "--tokenizer", "bytes"])
    rows = json.loads(done.output)["values"]
    assert [(r["language"], r["value"], r["n"], r["ranked"]) for r in rows] == [
        (r["language"], r["value"], r["n"], r["ranked"])
        for r in good_run.results.measurements.to_pylist()
        if (r["metric"], r["tokenizer"]) == ("tokens", "bytes")
    ]


def test_a_run_names_the_report_that_it_wrote(good_run: RunOutcome, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(good_run.results.folder, folder)
    run = parse_json((folder / "run.json").read_bytes())
    for reports, name in (({"html": {}}, "report.html"), ({"summary": {}}, None)):
        run["config"]["reports"] = reports
        (folder / "run.json").write_text(sealed_text({k: v for k, v in run.items() if k != "seal"}))
        lines = screen().show(load_results(folder), Lookup(), 100)
        last = "".join(text for text, _ in list(lines)[-1])
        assert last == f"report: {folder / name}" if name else "report: " not in last


def test_refused_values_show_their_reason(good_run: RunOutcome) -> None:
    lines = shown(good_run, 80, tokenizers=["lossy"], metrics=["premium"])
    assert any("refused: lost_text" in line for line in lines)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics": ["premum"]}, "--metric: no 'premum' in this run; did you mean 'premium'?"),
        ({"languages": ["ene"]}, "--language: no 'ene' in this run; did you mean 'en'?"),
        ({"tokenizers": ["byte"]}, "--tokenizer: no 'byte' in this run; did you mean 'bytes'?"),
        ({"focus": {"eng": 1.0}}, "--focus: no language 'eng' in this run; did you mean 'en'?"),
    ],
)
def test_a_name_that_is_not_in_the_run_is_answered_with_a_near_one(
    asked: dict[str, Any], message: str, good_run: RunOutcome
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        shown(good_run, 80, **asked)


def test_show_ranks_for_a_mix_of_languages(good_run: RunOutcome) -> None:
    """Bytes need (34 × 3 + 39) ÷ 4 ÷ 3 documents = 11.75 for a mix of 3 parts en and 1 part ja."""
    arguments = ["show", str(good_run.results.folder), "--focus", "en=3", "--focus", "ja=1"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "For text of 75 % en and 25 % ja, pieces needs the fewest tokens" in done.output
    [line] = [line for line in done.output.splitlines() if line.startswith("bytes ")]
    assert line.split()[2] == "11.75"


@pytest.mark.parametrize("share", ["en", "en=", "en=0", "en=-1", "en=inf", "=1", "en=x"])
def test_a_share_that_cannot_be_read_is_wrong_usage(share: str, good_run: RunOutcome) -> None:
    done = CliRunner().invoke(main, ["show", str(good_run.results.folder), "--focus", share])
    assert done.exit_code == 2
    assert "is not LANGUAGE=SHARE" in done.output


def test_a_run_prints_what_show_prints(
    measure: Callable[..., RunOutcome], tmp_path: Path, good_run: RunOutcome
) -> None:
    done = CliRunner().invoke(main, ["show", str(good_run.results.folder)], env={"COLUMNS": "80"})
    assert done.output.splitlines() == shown(good_run, 80)
