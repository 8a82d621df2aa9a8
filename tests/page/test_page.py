"""What the page of a run holds: the same bytes every time, and figures that are rows of the run."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import pytest

from tokbench.bench.markup import count, number, percent
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.reports.page.data import GRID, payload
from tokbench.reports.page.shell import page
from tokbench.reports.page.texts import derived, texts_of
from tokbench.reports.view import View, median_premium, summarize

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def html(small_run: Results) -> str:
    return (small_run.folder / "report.html").read_text(encoding="utf-8")


def unpacked(packed: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_same_tables_give_the_same_page(small_run: Results, html: str) -> None:
    again = View(load_results(small_run.folder))
    assert page(again) == html == page(again)


def test_a_stranger_s_text_ends_no_element(html: str) -> None:
    assert HOSTILE not in html
    assert html.count("<img") == 0
    assert html.count("</script>") == html.count("<script") == 4


def test_the_policy_lets_nothing_in_but_the_page_s_own(html: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    allowed = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert allowed["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", allowed["script-src"])
    # what a name spells is escaped, so only tags of the page itself are looked at
    tags = re.findall(r"<[a-z][^<>]*>", html.split("<script")[0])
    assert not [tag for tag in tags if re.search(r"\s(on\w+|style|src)=|https?://", tag)]


def test_every_value_of_the_heat_map_is_a_row(small_run: Results) -> None:
    view = View(small_run)
    params = {metric: given for metric, _, given in GRID}
    seen = 0
    for part in payload(view)["corpora"]:
        languages = view.languages(part["key"])
        for grid in part["grids"]:
            for t, name in enumerate(view.tokenizers):
                for l, language in enumerate(languages):  # noqa: E741
                    metric = grid["metric"]
                    row = view.row(metric, name, part["key"], language, **params[metric])
                    for key, column in (("value", "value"), ("low", "ci_low"), ("high", "ci_high")):
                        stored = None if row is None else row[column]
                        told = grid[key][t][l]
                        assert told == (stored and pytest.approx(stored, rel=1e-5))
                    assert (grid["why"][t][l] is None) == (row is None or row["value"] is not None)
                    seen += 1
    assert seen > 100


def test_every_figure_of_the_table_by_tokenizer_is_that_of_its_summary(
    small_run: Results, html: str
) -> None:
    view = View(small_run)
    table = html[html.index('class="by-tokenizer"') : html.index('id="languages"')]
    rows = re.findall(r'<tr data-t="(\d+)".*?</tr>', table, re.DOTALL)
    lines = summarize(view, "texts")
    assert [view.tokenizers[int(t)] for t in rows] == [line.tokenizer for line in lines]
    bodies = re.findall(r"<tr data-t=.*?</tr>", table, re.DOTALL)
    for line, body in zip(lines, bodies, strict=True):
        cells = re.findall(r"<td[^>]*>(.*?)</td>", body)
        assert cells[:4] == [
            count(line.n_entries),
            count(line.tokens),
            number(line.pivot_bytes_per_token),
            median_premium(line),
        ]
        assert cells[-2:] == [
            percent(line.exact).replace("<", "&lt;").replace(">", "&gt;"),
            percent(line.lost_share).replace("<", "&lt;").replace(">", "&gt;"),
        ]


def test_what_loses_text_is_drawn_apart_and_never_on_a_front(html: str) -> None:
    charts = html[html.index('id="charts"') : html.index('id="explorer"')]
    marks = re.findall(r'<g class="(mark[^"]*)" data-t="3"><circle[^>]*></circle><text', charts)
    assert marks
    assert set(marks) == {"mark unranked"}


def test_tokens_of_the_page_add_up_to_the_text_and_are_those_that_were_stored(
    small_run: Results,
) -> None:
    view = View(small_run)
    [held] = texts_of(view)
    stored = {
        (row["language"], row["document_id"], row["tokenizer"]): row
        for row in small_run.segments("texts").to_pylist()
    }
    for place, packed in held["languages"].items():
        language = view.languages("texts")[int(place)]
        chunk = unpacked(packed)
        for (name, _, text), cuts in zip(chunk["documents"], chunk["cuts"], strict=True):
            for tokenizer, cut in zip(view.tokenizers, cuts, strict=True):
                assert cut[0] == stored[language, name, tokenizer]["ids"]
                gaps = cut[2] if len(cut) > 2 else [0]
                assert sum(cut[1]) + sum(gaps) == len(text.encode())


def test_an_entry_is_in_the_page_unless_its_bytes_tell_it() -> None:
    assert derived("level", "é\n".encode()) == "Ã©Ċ"
    assert derived("space", b"\xff") is None


def test_the_page_says_what_text_it_holds_and_why(html: str, small_run: Results) -> None:
    n = sum(row["tokenizer"] is None for row in small_run.segments("texts").to_pylist())
    assert f"holds the text of {n} documents of texts, because the config asks for it" in html


def test_a_page_without_text_says_so(small_run: Results, tmp_path: Any) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(small_run.folder, copy)
    shutil.rmtree(copy / "segments")
    written = page(View(load_results(copy)))
    assert "This page holds no text." in written
    assert 'id="texts"' not in written


def test_the_config_of_the_page_is_that_of_the_run_folder(html: str, small_run: Results) -> None:
    from html import unescape

    shown = unescape(html[html.index("<pre>") + 5 : html.index("</pre>")])
    stored = (small_run.folder / "config.yaml").read_text(encoding="utf-8")
    assert shown == stored.split("\n", 1)[1]


def test_definitions_are_whole(html: str) -> None:
    definition = html[html.index('id="metric-premium"') :]
    definition = definition[: definition.index("</details>")]
    for title in ("Formula", "Source", "What it does not mean", "Unit"):
        assert f"<dt>{title}</dt>" in definition


def test_a_tokenizer_that_cannot_be_loaded_is_named_once_at_the_top(measure: Any) -> None:
    corpus = {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}
    gone = {"type": "huggingface", "file": "gone.json"}
    tokenizers = {"well": {"type": "utf8_bytes"}, "gone": gone}
    results = measure(
        {"corpora": {"c": corpus}, "tokenizers": tokenizers},
        {"en.jsonl": ["the cat"], "gone.json": "{}"},
    ).results
    written = (results.folder / "report.html").read_text(encoding="utf-8")
    answer = written[written.index('id="answer"') : written.index('id="focus"')]
    assert answer.count("gone") == 2  # its name, and that of its file
    failed = written[written.index('id="failed"') : written.index('id="reproduce"')]
    assert failed.count("<li>") == 1


def test_a_document_without_tokens_is_shown_like_any_other(measure: Any) -> None:
    """An empty text has no token, and bytes no start or end for it."""
    corpus = {"source": "files", "path": "en.jsonl", "language": "en", "id": "id"}
    run = measure(
        {"corpora": {"c": corpus}, "tokenizers": {"b": {"type": "utf8_bytes"}}, "texts": 5},
        {"en.jsonl": ["the cat", ""]},
    )
    assert run.exit_code == 0
    assert run.results.segments("c").num_rows == 4  # text and tokens of two documents
    assert (run.results.folder / "report.html").is_file()
