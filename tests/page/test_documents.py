"""A comparison and a history as pages: they say what the tables say, sort, and stay inert."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench import plugins
from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.compare.sides import compare_sides, load_side
from tokbench.bench.config.gate import Gate
from tokbench.bench.results.report import HistoryPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome

HOSTILE = "</script><img src=x onerror=alert(1)>"
TEXTS = {"en.jsonl": ["the cat", "the cat and the cat"], "x.jsonl": ["the dog", HOSTILE]}


@pytest.fixture(scope="module")
def runs(measure: Callable[..., RunOutcome]) -> list[Results]:
    """Two runs: the second tokenizer has lost the piece ``the``."""

    def run(pieces: list[str]) -> Results:
        languages = {"en": {"file": "en.jsonl"}, HOSTILE: {"file": "x.jsonl", "tag": "fr"}}
        corpus = {"source": "files", "path": "{file}", "languages": languages, "id": "id"}
        toy = {"type": "toy_pieces", "pieces": pieces}
        config = {
            "corpora": {"c": corpus},
            "tokenizers": {"toy": toy},
            "keep_ids": True,
            "texts": 9,
        }
        return measure({**config, "reports": []}, TEXTS).results

    return [run(["the", " cat"]), run([" cat"])]


@pytest.fixture(scope="module")
def comparison(runs: list[Results]) -> Comparison:
    base, candidate = (load_side(one.folder) for one in runs)
    return compare_sides(base, candidate, Gate())


@pytest.fixture(scope="module")
def pages(
    runs: list[Results], comparison: Comparison, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    files = {
        **plugins.find(ComparisonPlugin, "html")().render(comparison),
        **plugins.find(HistoryPlugin, "html")().render(runs, ["tokens"]),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in files}


def test_a_comparison_opens_with_the_tokens_and_shows_segments(pages: dict[str, Path]) -> None:
    text = pages["comparison.html"].read_text(encoding="utf-8")
    # "the" costs three bytes instead of one token: 4 times 2 more on the 10 tokens there were in en
    assert "toy: +" in text[text.index('id="answer"') :]
    assert "<td>t · h · e</td>" in text


def test_a_comparison_shows_texts_as_both_sides_cut_them(
    pages: dict[str, Path], comparison: Comparison
) -> None:
    """`the cat and the cat` loses two pieces `the`, each of which is t, h, e now."""
    pair = comparison.texts[0]
    assert (pair.language, pair.document_id, pair.change) == ("en", "1", 4)
    assert [t.content for t in pair.base if not t.shared] == [b"the", b"the"]
    assert [t.content for t in pair.candidate if not t.shared] == [b"t", b"h", b"e"] * 2
    text = pages["comparison.html"].read_text(encoding="utf-8")
    assert "toy on c, en, document 1: 9 → 13 tokens" in text
    assert re.search(r'<span class="token k0 differs" title="id \d+, 3 bytes">the</span>', text)


@pytest.mark.parametrize("name", ["comparison.html", "history.html"])
def test_names_are_escaped(pages: dict[str, Path], name: str) -> None:
    text = pages[name].read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert "&lt;/script&gt;" in text
    assert "<img" not in text


def test_a_history_has_a_column_for_each_run(pages: dict[str, Path]) -> None:
    text = pages["history.html"].read_text(encoding="utf-8")
    row = re.search(r"<tr><th scope=\"row\">toy</th><td>c</td><td>en</td>.*?</tr>", text)
    assert row is not None
    # "the cat": the, ␣cat; "the cat and the cat": the, ␣cat, ␣, a, n, d, ␣, the, ␣cat
    assert re.findall(r'<td class="n">(.*?)</td>', row[0]) == ["11", "17"]


@pytest.mark.browser
@pytest.mark.parametrize("name", ["comparison.html", "history.html"])
def test_tables_are_sorted_by_a_click_and_nothing_runs(
    visit: Any, pages: dict[str, Path], name: str
) -> None:
    page = visit(pages[name])
    table = page.page.locator("table.sorted").last
    before = table.locator("tbody tr").all_inner_texts()
    head = table.locator("thead button").first
    head.click()
    assert table.locator("thead th").first.get_attribute("aria-sort") == "descending"
    first = table.locator("tbody th").all_inner_texts()
    assert first == sorted(first, reverse=True)
    head.click()
    head.click()
    assert table.locator("tbody tr").all_inner_texts() == before
    assert page.page.locator("img").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["comparison.html", "history.html"])
def test_nothing_stands_in_the_way_of_assistive_technology(
    visit: Any, pages: dict[str, Path], name: str, scheme: str
) -> None:
    assert visit(pages[name], color_scheme=scheme, reduced_motion="reduce").faults() == []


@pytest.mark.browser
def test_a_text_is_unfolded_by_a_click(visit: Any, pages: dict[str, Path]) -> None:
    page = visit(pages["comparison.html"]).page
    second = page.locator("details").nth(1)
    assert not second.locator(".token").first.is_visible()
    second.locator("summary").click()
    assert second.locator(".flow").first.inner_text() == "the␣dog"
