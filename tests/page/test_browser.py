"""The page of a run in a real browser: it answers, follows the focus, shows tokens, and is inert."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import Results
from tokbench.reports.focus import rates, standings
from tokbench.reports.page.data import DRAWS
from tokbench.reports.page.figures import spreads
from tokbench.reports.view import View, has_place

pytestmark = pytest.mark.browser

Open = Callable[..., Any]

LANGUAGES = ["arb_Arab", "eng_Latn", "hin_Deva", "kor_Hang", "tha_Thai"]


def expected(run: Results, weights: dict[str, float]) -> dict[str, Any]:
    """What Python says for a mix, by tokenizer, from as many draws as the page has."""
    view = View(run)
    rows = {
        name: [view.row("rank", name, "texts", language) for language in weights]
        for name in view.tokenizers
    }
    ranked = {
        name: all(row is not None and has_place(row) for row in found)
        for name, found in rows.items()
    }
    found = standings(rates(view, "texts", DRAWS), weights, ranked)
    return {one.tokenizer: one for one in found}


def shown(page: Any) -> dict[str, Any]:
    lines = page.value(
        "standings().lines.map((l) => ({key: data.tokenizers[l.t].key, cost: l.cost, ratio: l.ratio,"
        " low: l.interval[0], high: l.interval[1], rank: l.rank}))"
    )
    return {line["key"]: line for line in lines}


def add(page: Any, language: str, weight: str | None = None) -> None:
    page.page.select_option("#add-language", label=language)
    if weight is not None:
        field = page.page.locator(f'#weights input[data-language="{language}"]')
        field.fill(weight)
        field.dispatch_event("change")
    page.settle()


def cell(page: Any, language: str, tokenizer: str) -> Any:
    place, t = page.value(
        f"[data.corpora[0].languages.findIndex((one) => one[0] === {json.dumps(language)}),"
        f" data.tokenizers.findIndex((one) => one.key === {json.dumps(tokenizer)})]"
    )
    return page.page.locator(f'#heat td[data-l="{place}"][data-t="{t}"]')


# focus


@pytest.mark.parametrize("weights", [{"hin_Deva": 60, "eng_Latn": 40}, {"tha_Thai": 1}])
def test_a_focus_stands_as_python_says(
    visit: Open, page_file: Path, small_run: Results, weights: dict[str, float]
) -> None:
    page = visit(page_file)
    for language, weight in weights.items():
        add(page, language, str(weight))
    found, wanted = shown(page), expected(small_run, weights)
    assert found.keys() == wanted.keys()
    for name, one in wanted.items():
        assert found[name]["rank"] == one.rank
        for key in ("cost", "ratio"):
            assert found[name][key] == pytest.approx(getattr(one, key), rel=1e-6)
        for key in ("low", "high"):  # draws are kept in steps of 1/127 of their range
            assert found[name][key] == pytest.approx(getattr(one, key), abs=2e-3)


def test_the_config_may_set_the_focus_and_an_address_keeps_it(
    visit: Open, page_file: Path, tmp_path: Path
) -> None:
    page = visit(page_file)
    add(page, "hin_Deva", "60")
    add(page, "eng_Latn", "40")
    sentence, address = page.text("#focus-sentence"), page.value("window.location.hash")
    assert sentence.startswith("For 60 % hin_Deva and 40 % eng_Latn: ")
    again = visit(page_file)
    again.page.goto(page_file.as_uri() + address)
    again.page.reload()
    again.page.wait_for_selector("html[data-ready=yes]", state="attached")
    assert again.text("#focus-sentence") == sentence
    again.asked[:] = again.asked[:1]


def test_the_table_and_the_heat_map_show_the_languages_in_focus_alone(
    visit: Open, page_file: Path, small_run: Results
) -> None:
    page = visit(page_file)
    add(page, "hin_Deva")
    assert page.page.locator("#heat tbody tr:not(.script-row)").count() == 1
    tokens = View(small_run).value("tokens", "bytes", "texts", "hin_Deva")
    row = page.page.locator("#tokenizers tr", has_text="bytes").filter(has=page.page.locator("td"))
    assert f"{tokens:,.0f}" in row.first.inner_text()


READ_CHART = """(kind) => {
  const figure = document.querySelector(`#charts figure[data-figure="${kind}"]`);
  const axis = [...figure.querySelectorAll(".down text")].map((one) => [
    Number(one.textContent), Number(one.getAttribute("y")) - 4]);
  const [[a, top], [b, bottom]] = [axis[0], axis.at(-1)];
  return Object.fromEntries([...figure.querySelectorAll(".mark:not(.absent):not(.hidden)")].map((mark) => [
    data.tokenizers[Number(mark.dataset.t)].key,
    {y: a + (Number(mark.querySelector("circle").getAttribute("cy")) - top) / (bottom - top) * (b - a),
     front: mark.classList.contains("front"), unranked: mark.classList.contains("unranked")}]));
}"""
"""Values of a chart as a reader takes them from its axis, by tokenizer."""


def test_trade_offs_follow_the_focus(visit: Open, page_file: Path, small_run: Results) -> None:
    page = visit(page_file)
    whole = page.page.evaluate(READ_CHART, "trade-entries")
    add(page, "hin_Deva", "60")
    add(page, "eng_Latn", "40")
    found = page.page.evaluate(READ_CHART, "trade-entries")
    wanted = expected(small_run, {"hin_Deva": 60, "eng_Latn": 40})
    assert found.keys() == {name for name, one in wanted.items() if one.ratio is not None}
    for name, one in found.items():
        assert one["y"] == pytest.approx(wanted[name].ratio, abs=0.01)
        assert one["unranked"] == (wanted[name].rank is None)
    placed = {n: (small_run.run["tokenizers"][n]["n_entries"], wanted[n].ratio)
              for n, one in wanted.items() if one.rank is not None}  # fmt: skip
    best = {
        name
        for name, (x, y) in placed.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in placed.values())
    }
    assert {name for name, one in found.items() if one["front"]} == best
    page.page.click("#all-languages")
    page.settle()
    assert page.page.evaluate(READ_CHART, "trade-entries") == whole


def test_how_documents_differ_follows_the_focus(
    visit: Open, page_file: Path, small_run: Results
) -> None:
    page = visit(page_file)
    add(page, "kor_Hang", "1")
    add(page, "eng_Latn", "3")
    view = View(small_run)
    for t, name in enumerate(view.tokenizers):
        counts = spreads(view, "texts", name)
        places = [view.languages("texts").index(one) for one in ("kor_Hang", "eng_Latn")]
        hill = sum(w * counts[at] / counts[at].sum() for w, at in zip((1, 3), places, strict=True))
        path = page.value(
            f'document.querySelector(`#charts figure[data-figure="spread"] .ridge[data-t="{t}"]`)'
            '.getAttribute("d")'
        )
        base = float(re.findall(r"M[\d.]+ ([\d.]+)", path)[0])
        heights = [base - float(v) for v in re.findall(r"V([\d.]+)H", path)]
        assert heights == pytest.approx((20 * hill / hill.max()).tolist(), abs=0.01)


def test_a_mark_of_a_chart_leads_to_its_row(visit: Open, page_file: Path) -> None:
    page = visit(page_file, reduced_motion="reduce")
    mark = page.page.locator('figure[data-figure="premium"] .mark:not(.hidden)').first
    place, t = mark.get_attribute("data-l"), mark.get_attribute("data-t")
    mark.focus()
    page.page.keyboard.press("Enter")
    assert page.value("[document.activeElement.dataset.l, document.activeElement.dataset.t]") == [
        place,
        t,
    ]
    assert page.value("state.metric") == "premium"
    page.page.locator('figure[data-figure="trade-entries"] .mark').first.focus()
    page.page.keyboard.press("Enter")
    assert page.value("document.activeElement.tagName") == "TR"


# sorting


def test_the_heat_map_is_sorted_by_a_column_both_ways(visit: Open, page_file: Path) -> None:
    page = visit(page_file)

    def column() -> list[float]:
        cells = page.page.locator('#heat tbody td[data-t="1"]').all_inner_texts()
        return [float(text.split()[0]) for text in cells]

    head = page.page.locator('#heat thead th[data-t="1"] button')
    head.click()
    assert column() == sorted(column(), reverse=True)
    assert page.page.locator('#heat thead th[aria-sort="descending"]').count() == 1
    head.click()
    assert column() == sorted(column())


# tokens


def open_document(page: Any, language: str, place: int, tokenizers: list[str]) -> None:
    keys = [one["key"] for one in page.value("data.tokenizers")]
    page.value(
        f"(explorer.columns = {[keys.index(name) for name in tokenizers]}, go(data.corpora[0]"
        f".languages.findIndex((one) => one[0] === {json.dumps(language)}), {place}))"
    )


def test_tokens_show_id_bytes_and_text_under_the_mouse(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    open_document(page, "eng_Latn", 0, ["english", "bytes"])
    first = page.page.locator("#columns .column").first
    assert first.locator(".token").all_inner_texts() == ["the", "␣cat", "␣", "0"]
    first.locator(".token").nth(1).hover()
    assert page.text("#tip").split("\n") == [
        "english, token 2 of 4",
        "id 259",
        "text ␣cat",
        "bytes 20 63 61 74",
    ]


def test_tokens_are_walked_by_keyboard_from_one_tab_stop(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    open_document(page, "eng_Latn", 0, ["english", "bytes"])
    page.page.locator("#columns .token").first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.page.keyboard.press(key)
    assert page.text("#tip").split("\n")[:2] == ["english, token 3 of 4", "id 32"]
    page.page.keyboard.press("Escape")
    assert page.page.locator("#tip").is_hidden()
    page.page.keyboard.press("Tab")
    assert page.value("document.activeElement.dataset.t") == "0"  # the other tokenizer's tokens


def test_right_to_left_text_is_walked_the_way_it_is_read(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    open_document(page, "arb_Arab", 0, ["english", "bytes"])
    assert page.value("getComputedStyle(document.querySelector('.flow')).direction") == "rtl"
    page.page.locator("#columns .token").first.focus()
    page.page.keyboard.press("ArrowLeft")
    assert "token 2 of" in page.text("#tip")


def test_tokens_that_the_first_tokenizer_has_not_are_marked(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    open_document(page, "eng_Latn", 0, ["english", "bytes"])
    columns = page.page.locator("#columns .column")
    assert columns.nth(0).locator(".differs").count() == 0
    # of the bytes of "the cat 0", only those of " " and "0" are tokens of both
    assert columns.nth(1).locator(".differs").all_inner_texts() == list("the␣cat")


def test_worst_and_lossy_documents_of_a_cell_are_at_hand(
    visit: Open, page_file: Path, small_run: Results
) -> None:
    page = visit(page_file)
    cell(page, "eng_Latn", "english").click()
    page.page.wait_for_selector("#columns .token:focus")
    rows = small_run.segments("texts").to_pylist()
    texts = {r["document_id"]: r["text"] for r in rows if r["language"] == "eng_Latn" and r["text"]}
    cost = {
        r["document_id"]: len(r["ids"]) / len(texts[r["document_id"]].encode())
        for r in rows
        if r["language"] == "eng_Latn" and r["tokenizer"] == "english"
    }
    worst = next(d for d in texts if cost[d] == max(cost.values()))
    assert f"document {worst}:" in page.text("#text-note")
    page.value(
        "go(data.corpora[0].languages.findIndex((one) => one[2] === 'Latn' && one[0] !== 'eng_Latn'), 0)"
    )
    page.settle()
    page.page.get_by_role("button", name=re.compile("^Lossy: ")).first.click()
    page.settle()
    assert "an example of what a round trip loses" in page.text("#text-note")


def test_text_is_found_in_every_language(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.page.fill("#text-search", "बिल्ली")
    page.page.locator("#text-found button").first.click()
    page.settle()
    assert page.text("#text-note").startswith("hin_Deva, document ")
    page.page.fill("#text-search", "no such words")
    page.page.get_by_text("nothing found").wait_for()


@pytest.mark.parametrize(
    ("text", "written"),
    [(" the", "␣the"), ("a\u200bb", "a\\u{200B}b"), ("\x00\\", "\\u{0}\\\\"), ("\u0301e", "◌\u0301e")],
)  # fmt: skip
def test_characters_are_spelled_as_in_python(
    visit: Open, page_file: Path, text: str, written: str
) -> None:
    from tokbench.bench.markup import visible

    assert visit(page_file).value(f"visible({json.dumps(text)})") == written == visible(text)


# looks


def test_a_dark_page_is_dark_and_a_phone_shows_cards(visit: Open, page_file: Path) -> None:
    dark = visit(page_file, color_scheme="dark")
    ground = dark.value("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", ground))) < 64
    phone = visit(page_file, viewport={"width": 390, "height": 800})
    assert phone.value("document.documentElement.scrollWidth") <= 390
    assert (
        phone.value("getComputedStyle(document.querySelector('.by-tokenizer td')).display")
        == "flex"
    )


def test_a_printed_page_has_answer_table_and_charts(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.page.emulate_media(media="print")
    for selector in ("#answer li", ".by-tokenizer", "#heat", "figure svg"):
        assert page.page.locator(selector).first.is_visible(), selector
    assert not page.page.locator("#explorer").is_visible()
    assert page.page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(visit: Open, page_file: Path, scheme: str) -> None:
    assert visit(page_file, color_scheme=scheme, reduced_motion="reduce").faults() == []


# hostile names


def test_nothing_of_a_stranger_runs_or_becomes_an_element(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.value("go(data.corpora[0].languages.findIndex((one) => one[0].startsWith('<')), 0)")
    page.settle()
    assert "</script>" in "".join(page.page.locator("#columns .token").all_inner_texts())
    assert page.page.locator("img").count() == 0
    assert page.page.locator("script").count() == 4  # data, draws, texts and the page's own
    assert page.page.locator("[style], [onerror], [onclick]").count() == 0


# what a stranger asks: one screen, or three clicks


def test_which_tokenizer_for_hindi_and_english_and_by_how_much(
    visit: Open, page_file: Path, small_run: Results
) -> None:
    page = visit(page_file)
    add(page, "hin_Deva")  # 1
    add(page, "eng_Latn")  # 2
    best, other = [
        one
        for one in expected(small_run, {"hin_Deva": 1, "eng_Latn": 1}).values()
        if one.rank is not None
    ][:2]
    sentence = page.text("#focus-sentence")
    assert f"{best.tokenizer} needs the fewest tokens, {best.cost:.2f} per document" in sentence
    assert f"Next is {other.tokenizer}, with {100 * (other.ratio - 1):.1f} % more" in sentence


def test_what_thai_pays_and_how_sure_that_is(
    visit: Open, page_file: Path, small_run: Results
) -> None:
    page = visit(page_file)
    page.page.get_by_role("link", name="By language").click()  # 1
    page.page.select_option("#heat-metric", label="premium")  # 2
    cell(page, "tha_Thai", "english").hover()  # 3
    row = View(small_run).row("premium", "english", "texts", "tha_Thai")
    assert row is not None
    told = f"premium: {row['value']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
    assert page.text("#tip").split("\n")[1:3] == [told, f"n = {row['n']} documents"]


def test_which_tokenizers_lose_text_where_and_how(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    marked = page.page.locator(".by-tokenizer tr.marked th").all_inner_texts()
    assert [name.split()[0] for name in marked] == ["lossy"]
    page.page.get_by_role("link", name="By language").click()  # 1
    page.page.select_option("#heat-metric", label="bytes lost")  # 2
    lossy = page.value("data.tokenizers.findIndex((one) => one.key === 'lossy')")
    cells = page.page.locator(f'#heat td[data-t="{lossy}"]').all_inner_texts()
    assert len([text for text in cells if not text.startswith("0 %")]) == 1
    bar = page.page.locator(f'figure[data-figure="loss"] [data-t="{lossy}"]')
    assert bar.get_attribute("data-part") == "case"


def test_which_pairs_cannot_be_told_apart_in_korean(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    add(page, "kor_Hang")  # 1
    note = page.text("#pairs-note")
    assert "For 100 % kor_Hang: cannot be told apart: " in note
    assert "hindi and english" in note or "english and hindi" in note


def test_how_to_reproduce_it(visit: Open, page_file: Path, small_run: Results) -> None:
    page = visit(page_file)
    page.page.get_by_role("link", name="Reproduce").click()  # 1
    page.page.get_by_text("Config", exact=True).click()  # 2
    assert small_run.run["digest"] in page.text("#reproduce")
    assert "parallel: true" in page.text("#reproduce pre")
