"""A run as CSV, JSON, LaTeX and SVG: all values, and no name that does anything there."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tokbench.bench.results.report import render_reports
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View

HOSTILE = '=1+1 \\input{x} $x$ & % # ^ ~ "q" <b> 東 é'
PREAMBLE = (
    "\\documentclass{article}\\usepackage[utf8]{inputenc}\\usepackage[T1]{fontenc}\n"
    "\\usepackage{textcomp}\\usepackage{booktabs}\\begin{document}\n\\input{tables.tex}\n"
    "\\end{document}\n"
)


@pytest.fixture(scope="module")
def hostile_run(measure: Callable[..., RunOutcome]) -> RunOutcome:
    """A run whose language key is a formula, a LaTeX command and markup."""
    languages = {HOSTILE: {"tag": "en", "file": "a.jsonl"}, "de": {"file": "b.jsonl"}}
    corpus = {
        "source": "files",
        "languages": languages,
        "id": "id",
        "parallel": True,
        "pivot": "de",
    }
    tokenizers = {"a_2": {"type": "utf8_bytes"}, "b#": {"type": "characters"}}
    config = {"corpora": {"c": corpus}, "tokenizers": tokenizers}
    texts = ["ab é", "cd"]
    return measure(config, {"a.jsonl": texts, "b.jsonl": texts})


def rendered(kind: str, run: RunOutcome) -> dict[str, str]:
    return render_reports([kind], run.results)


def test_csv_holds_every_row_as_measured(good_run: RunOutcome) -> None:
    rows = list(csv.DictReader(io.StringIO(rendered("csv", good_run)["measurements.csv"])))
    stored = View(good_run.results).rows
    assert len(rows) == len(stored)
    for row, of in zip(rows, stored, strict=True):
        assert row["metric"] == of["metric"]
        assert (float(row["value"]) if row["value"] else None) == of["value"]
        assert json.loads(row["params"]) == of["params"]


def test_no_cell_of_csv_is_a_formula(hostile_run: RunOutcome) -> None:
    text = rendered("csv", hostile_run)["measurements.csv"]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert f"'{HOSTILE}" in {row["language"] for row in rows}
    for row in rows:
        assert not any(cell[:1] in set("=+@") for cell in row.values())


def test_json_is_strict_and_holds_every_row(hostile_run: RunOutcome) -> None:
    text = rendered("json", hostile_run)["measurements.json"]
    data = json.loads(text, parse_constant=pytest.fail)
    stored = View(hostile_run.results).rows
    assert [(r["language"], r["value"]) for r in data["measurements"]] == [
        (r["language"], r["value"]) for r in stored
    ]


def test_svg_is_well_formed_and_shows_names_as_text(hostile_run: RunOutcome) -> None:
    files = rendered("svg", hostile_run)
    assert set(files) == {"figures/c-bytes_per_token.svg", "figures/c-premium.svg"}
    for text in files.values():
        tree = ElementTree.fromstring(text)
        kinds = {element.tag.rpartition("}")[2] for element in tree.iter()}
        assert kinds <= {"svg", "title", "style", "g", "text", "rect", "path", "circle"}
        shown = [element.text or "" for element in tree.iter()]
        assert any("<b>" in one for one in shown)


def test_latex_is_text_and_tables_only(hostile_run: RunOutcome) -> None:
    text = rendered("latex", hostile_run)["tables.tex"]
    assert "\\input{x}" not in text
    assert "\\textbackslash{}input\\{x\\}" in text
    assert "U+6771" in text
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 3


@pytest.mark.parametrize("which", ["good_run", "broken_run", "hostile_run"])
def test_latex_compiles(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: apt-get install texlive-latex-recommended")
    run: RunOutcome = request.getfixturevalue(which)
    (tmp_path / "tables.tex").write_text(rendered("latex", run)["tables.tex"], encoding="utf-8")
    (tmp_path / "paper.tex").write_text(PREAMBLE, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["csv", "json", "latex", "svg", "markdown", "detail"])
def test_the_same_files_give_the_same_bytes(kind: str, good_run: RunOutcome) -> None:
    from tokbench.bench.results.run_folder import load_results

    again = render_reports([kind], load_results(good_run.results.folder))
    assert again == rendered(kind, good_run)
