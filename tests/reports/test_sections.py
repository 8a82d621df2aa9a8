"""The sections of a report that tell what every suite found, on texts countable by hand."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.report import render_reports
from tokbench.bench.run.runner import RunOutcome

markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")

HARD = "|`<i>\n\u202e"
ENTRIES = [bytes([b]) for b in range(256)] + [b"bc", b"ab", b"cd", b"the", HARD.encode()]
"""No pair of entries joins to the last two: only a look-up of the whole piece gives them."""
RANKS = "".join(f"{base64.b64encode(e).decode()} {rank}\n" for rank, e in enumerate(ENTRIES))
CUT = r"\w+|\W"
CONFIG: dict[str, Any] = {
    "corpora": {
        "texts": {
            "source": "files",
            "path": "{language}.jsonl",
            "languages": ["en", "de"],
            "id": "id",
            "parallel": True,
            "pivot": "en",
        },
        "programs": {"source": "files", "path": "code.jsonl", "language": "python", "kind": "code"},
    },
    "tokenizers": {
        "ranks": {"type": "tiktoken", "file": "toy.tiktoken", "pattern": CUT},
        "again": {"type": "byte_bpe", "file": "toy.tiktoken", "pattern": CUT},
        "lossy": {"type": "toy_pieces", "pieces": ["the", " ", "a", "|"], "unknown": True},
    },
    "suites": {
        "efficiency": {"reference": "ranks"},
        "multilingual": {},
        "information": {},
        "fidelity": {},
        "witnesses": {"fuzz": 5},
        "vocabulary": {"widths": [1000]},
        "probes": {},
        "headroom": {},
        "differential": {"pairs": [{"first": "ranks", "second": "again"}], "fuzz": 5},
    },
    "reports": ["markdown", "detail"],
}
FILES = {
    "en.jsonl": ["abcd abcd", "the | cat"],
    "de.jsonl": ["abcd|", "die Katze"],
    "code.jsonl": ["def get_value(maxLen):\n    return maxLen|0\n"],
    "toy.tiktoken": RANKS,
}
Table = list[list[str]]


@pytest.fixture(scope="module")
def run(measure: Callable[..., RunOutcome]) -> RunOutcome:
    return measure(CONFIG, FILES)


@pytest.fixture(scope="module")
def report(run: RunOutcome) -> str:
    return (run.results.folder / "detail.md").read_text(encoding="utf-8")


def tables(markdown: str) -> list[Table]:
    """Every table as a GitHub-style renderer shows it, folded ones too."""
    found: list[Table] = []
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False, "html": True})
    for token in parser.parse(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.level > 3:
            cells = [c.content for c in token.children if c.type != "html_inline"]
            found[-1][-1].append("".join(cells).replace("\u00a0", " "))
    return found


def section(report: str, title: str) -> str:
    for mark in ("##", "###"):
        if f"\n{mark} {title}\n" in report:
            return report.split(f"\n{mark} {title}\n")[1].split("\n## ")[0].split("\n### ")[0]
    raise AssertionError(f"no section {title!r}")


def first(report: str, title: str) -> dict[str, list[str]]:
    """Return the first table of a section by the first cell of its rows."""
    return {row[0]: row[1:] for row in tables(section(report, title))[0]}


def test_every_table_is_whole(report: str) -> None:
    found = tables(report)
    assert len(found) > 30
    for table in found:
        assert len({len(row) for row in table}) == 1


def test_the_page_opens_with_what_each_suite_found(report: str) -> None:
    opening = report.split("\n## ")[0]
    assert "With the same vocabulary and pre-tokens, " in opening
    assert "could have written the sample of texts in 11.1 % fewer tokens" in opening
    assert "- ranks and again give the same ids for every document." in opening
    assert (
        "Entries that merging does not reach: again has 2 of 261 and ranks has 2 of 261." in opening
    )
    assert (
        "- Every document of texts comes back exactly from again and ranks; not from lossy"
        in opening
    )
    assert "- No tokenizer cuts numbers into threes from the right" in opening


def test_headroom_is_over_all_languages_and_its_refusal_is_said(report: str) -> None:
    # en: a bc d, space, a bc d; the, space, |, space, c a t: 14, and 12 with ab cd
    # de: a bc d |; d i e, space, K a t z e: 13, and 12
    table = first(report, "What another way of cutting would save")
    assert table["ranks"] == table["again"] == ["27", "24", "11.1 %", "14.3 % en"]
    assert "lossy" not in table
    skipped = section(report, "What was skipped, refused or failed")
    assert "lossy: no headroom: the tokenizer does not say" in skipped


def test_vocabularies_are_counted(report: str) -> None:
    kinds = first(report, "What the vocabularies hold")
    # 261 ids × 1000
    assert kinds["ranks"] == ["261", "261", "0", "0", "0", "0", "0.3 M"]
    assert kinds["lossy"][:5] == ["261", "261", "0", "0", "256"]
    dead = first(report, "Entries that may be dead weight")
    assert [dead[name][3] for name in ("ranks", "again", "lossy")] == ["2", "2", "–"]
    common = first(report, "Entries in common")
    assert common["ranks"][:2] == ["100 %", ""]
    pairs = tables(section(report, "Entries in common"))[1]
    assert ["ranks", "again", "261", "0", "0", "0"] in pairs


def test_pieces_of_a_table_are_shown_as_text(report: str) -> None:
    examples = tables(section(report, "Entries that may be dead weight"))[1]
    # the cell is two pieces of code, and what a reader cannot see is spelled out
    assert ["ranks", "not merged", "the |`<i>\\u{A}\\u{202E}"] in examples
    assert "<i>" not in report


def test_two_tokenizers_of_one_vocabulary_agree(report: str) -> None:
    table = tables(section(report, "One vocabulary, two tokenizers"))[0]
    rows = {row[2]: row[3:6] for row in table[1:]}
    assert rows["texts"] == ["4", "100 %", "0"]
    assert rows["programs"] == ["1", "100 %", "0"]


def test_losses_are_told_by_kind_with_a_smallest_string(report: str) -> None:
    why = first(report, "Why documents of texts do not come back")
    assert why["characters became an unknown token"] == ["4"]
    smallest = tables(section(report, "Smallest strings that do not come back"))[0]
    rows = [row for row in smallest if row[:2] == ["lossy", "characters became an unknown token"]]
    [row] = rows
    assert len(row[2]) == 1
    assert row[3] == "[?]"
    assert row[4] == f"U+{ord(row[2]):04X}"


def test_probes_show_tokens_and_cuts(report: str) -> None:
    digits = first(report, "Numbers")
    assert digits["12"] == ["12.00", "12.00", "12.00"]
    by_name = {row[0]: row for row in tables(section(report, "Numbers"))[1]}
    assert by_name["ranks"][1:4] == ["100 %", "0 %", "0 %"]
    assert by_name["ranks"][4].count("·") == 6
    assert first(report, "Indentation")["4 spaces"][0] == "4"


def test_code_is_told_apart(report: str) -> None:
    code = first(report, "How code is cut")
    # 13 + 5 symbols of the first line, 4 + 6 + 1 + 8 + ... of the second: over 2 lines
    assert float(code["tokens per line"][0]) == pytest.approx(len(FILES["code.jsonl"][0]) / 2)
    assert code["identifiers kept whole"][0] == "0 %"


def test_languages_are_compared_by_content(report: str) -> None:
    # premiums 1 and 13/14
    spread = {row[0]: row for row in tables(section(report, "How unequal the languages are"))[0]}
    assert spread["ranks"][1:3] == ["2", "0.96"]
    fits = first(report, "What fits into 8,192 tokens")
    assert fits["ranks"][0] == f"{8192 * 18 / 14:,.0f}"
    assert fits["ranks"][-1] == "107.7 % de"


def test_information_is_over_all_languages(report: str) -> None:
    used = first(report, "How the vocabulary is used")
    assert used["ranks"] == used["again"]
    assert used["ranks"][5] == "12"  # a bc d space the | c t i e K z, and nothing else


def test_a_run_of_few_suites_has_no_empty_sections(measure: Callable[..., RunOutcome]) -> None:
    small = {**CONFIG, "suites": ["efficiency"], "reports": ["markdown"]}
    run = measure(small, FILES)
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    titles = [line for line in report.splitlines() if line.startswith("##")]
    for title, following in zip(titles, titles[1:], strict=False):
        assert section(report, title.lstrip("# ")).strip() or following.startswith("###"), title
    assert "- On texts, no ranked tokenizer is significantly better than another: 2 doc" in report
    assert "## What the vocabularies hold" not in titles
    assert "## Does the text survive?" not in titles


def test_the_detail_page_lists_every_witness(run: RunOutcome) -> None:
    detail = render_reports(["detail"], run.results)["detail.md"]
    witnesses = tables(section(detail, "Witnesses"))[0]
    assert {row[0] for row in witnesses[1:]} == {"lossy"}
    lengths = first(detail, "Bytes of the tokens emitted")
    assert lengths["1"][0] == lengths["1"][1] != "–"


def test_characters_say_why_they_are_so_many(
    measure: Callable[..., RunOutcome], tmp_path: Path
) -> None:
    config = {
        **CONFIG,
        "tokenizers": {"characters": {"type": "characters"}},
        "suites": {"vocabulary": {"search": False}},
        "reports": ["markdown"],
    }
    run = measure(config, FILES)
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    told = section(report, "What the vocabularies hold")
    assert "characters: 1,112,064 entries: every Unicode scalar value, assigned or not" in told
