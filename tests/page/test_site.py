"""Runs as a static site: every page is one file, and the leaderboard filters in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import tokbench
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.page.plugin import Html
from tokbench.reports.site.plugin import page_names
from tokbench.reports.site.rows import ALL, board_rows
from tokbench.reports.view import View

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def runs(measure: Callable[..., RunOutcome]) -> list[Results]:
    """Two runs: the same text twice, the second run with a better tokenizer and a longer French."""

    def run(pieces: dict[str, list[str]], french: str) -> Results:
        languages = {"en": {"file": "en.jsonl"}, HOSTILE: {"file": "x.jsonl", "tag": "fr"}}
        corpus = {"source": "files", "path": "{file}", "languages": languages, "id": "id"}
        toys = {name: {"type": "toy_pieces", "pieces": found} for name, found in pieces.items()}
        config = {"description": HOSTILE, "corpora": {"c": corpus}, "tokenizers": toys}
        suites = {"efficiency": {}, "fidelity": {}}
        files = {"en.jsonl": ["the cat"], "x.jsonl": [french]}
        return measure({**config, "suites": suites, "reports": [], "resamples": 200}, files).results

    return [
        run({"bytes": [], "cats": [" cat"]}, "le chat"),
        run({"bytes": [], "best": ["the cat"]}, "le chat noir"),
    ]


@pytest.fixture(scope="module")
def site(runs: list[Results], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = tokbench("export", "site", *(run.folder for run in runs), "--output", folder)
    assert done.exit_code == 0, done.output
    return folder


def test_places_are_among_all_runs_on_equal_text(runs: list[Results]) -> None:
    rows = board_rows(zip("ab", map(View, runs), strict=True))
    english = [(r.place, r.tokenizer, r.runs, r.tokens) for r in rows if r.language == "en"]
    # "the cat" is 7 bytes; t·h·e·␣cat are 4 tokens
    assert english == [
        (1, "best", ("b",), 1),
        (2, "cats", ("a",), 4),
        (3, "bytes", ("a", "b"), 7),
    ]
    french = [(r.text, r.place, r.tokenizer) for r in rows if r.language == HOSTILE]
    assert len({text for text, _, _ in french}) == 2
    assert sorted(place or 0 for _, place, _ in french) == [1, 1, 1, 1]
    over_all = [
        (r.tokens, r.bytes_per_token) for r in rows if r.language == ALL and r.runs == ("b",)
    ]
    assert over_all == [(13, 19 / 13), (19, 1.0)]


def test_a_tokenizer_that_loses_text_has_no_place_and_takes_none(good_run: RunOutcome) -> None:
    rows = board_rows([("good", View(good_run.results))])
    japanese = {row.tokenizer: row.place for row in rows if row.language == "ja"}
    assert japanese == {"pieces": 1, "bytes": 2, "lossy": None}


def test_the_page_of_a_run_is_its_report(site: Path, runs: list[Results]) -> None:
    [report] = Html().render(runs[0]).values()
    names = page_names(runs)
    assert len(set(names)) == 2
    assert (site / "runs" / f"{names[0]}.html").read_text(encoding="utf-8") == report


def test_links_lead_to_pages_of_the_site_and_nothing_is_loaded(site: Path) -> None:
    for name in ("index.html", "leaderboard.html"):
        text = (site / name).read_text(encoding="utf-8")
        links = [one for one in re.findall(r'href="([^"]+)"', text) if not one.startswith("#")]
        assert links
        assert all((site / one).is_file() for one in links)
        assert "src=" not in text.replace("img src=x", "")
        assert HOSTILE not in text
        assert "default-src 'none'" in text


@pytest.mark.browser
def test_the_leaderboard_filters_sorts_and_says_how_many_rows_it_shows(
    visit: Any, site: Path
) -> None:
    page = visit(site / "leaderboard.html")
    rows = "#board tbody tr:not([hidden])"

    def tokenizers() -> list[str]:
        found: list[str] = page.page.locator(f"{rows} th").all_inner_texts()
        return found

    assert sorted(tokenizers()) == ["best", "bytes", "bytes", "cats"]
    page.page.select_option("#filter-language", label="en")
    assert tokenizers() == ["best", "cats", "bytes"]
    assert page.text("#shown") == "3 of 11 rows"
    page.page.select_option("#filter-run", index=1)
    assert tokenizers() == ["cats", "bytes"]
    page.page.fill("#filter-tokenizer", "BYT")
    assert tokenizers() == ["bytes"]
    page.page.fill("#filter-tokenizer", "")
    page.page.locator("#board thead button", has_text="tokens").last.click()
    assert tokenizers() == ["bytes", "cats"]


@pytest.mark.browser
@pytest.mark.parametrize("name", ["index.html", "leaderboard.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_assistive_technology(
    visit: Any, site: Path, name: str, scheme: str
) -> None:
    assert visit(site / name, color_scheme=scheme, reduced_motion="reduce").faults() == []
