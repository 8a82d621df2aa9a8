"""The detail report: spread, pairs and tokens by use, from Parquet alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import tokbench
from tokbench.reports.detail import Detail

CONFIG = {
    "name": "small",
    "corpora": {
        "corpus": {
            "source": "files",
            "languages": {"eng_Latn": "eng.txt", "ell_Grek": "ell.txt"},
            "parallel": True,
            "pivot": "eng_Latn",
        }
    },
    "tokenizers": {"utf8_bytes": {"type": "utf8_bytes"}, "characters": {"type": "characters"}},
    "reports": [],
}


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eng.txt").write_text("ab|d\nab\n", encoding="utf-8")
    (tmp_path / "ell.txt").write_text("αβ|δ\nαβ\n", encoding="utf-8")
    text = Detail().render(tokbench.run(CONFIG, jobs=0))["detail.md"]
    assert text.startswith("# small, in detail\n")
    return text


def rows(page: str, title: str) -> list[list[str]]:
    section = page.split(f"### {title}\n")[1].split("\n#")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_each_pair_says_in_how_many_languages_it_is_settled(page: str) -> None:
    matrix = {row[0]: row[1:] for row in rows(page, "Pairs of tokenizers")}
    assert matrix == {"characters": ["", "1"], "utf8_bytes": ["0", ""]}


def test_tokens_never_break_the_table(page: str) -> None:
    used = {row[0]: row[1] for row in rows(page, "Most used tokens")}
    assert "<code>&#124;</code> 2" in used["utf8_bytes"]
    assert "<code>&#92;xCE</code> 5" in used["utf8_bytes"]
