"""What a stranger asks of `report.md` alone: five questions, each answered in one place."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.focus import rates, standings
from tokbench.reports.view import View, has_place

N = 110
SCREEN = 60
"""Lines that are seen at once."""
TEXTS = {
    "eng_Latn": ["the cat", "a cat is the cat", "The end of the the", "sat"],
    "hin_Deva": ["बिल्ली यहाँ है", "वह घर", "the बिल्ली"],
    "tha_Thai": ["แมวอยู่ที่นี่", "บ้าน", "the แมว"],
    "kor_Hang": ["고양이", "집에 고양이", "고양이가 있다"],
}
CONFIG: dict[str, Any] = {
    "focus": {"hin_Deva": 0.6, "eng_Latn": 0.4},
    "corpora": {
        "texts": {
            "source": "files",
            "path": "{language}.jsonl",
            "languages": list(TEXTS),
            "id": "id",
            "parallel": True,
            "pivot": "eng_Latn",
        }
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "hindi": {"type": "toy_pieces", "pieces": ["बिल्ली", " यहाँ", "the"]},
        "english": {"type": "toy_pieces", "pieces": ["the", " the", " cat"]},
        "lossy": {"type": "toy_pieces", "pieces": ["the", " cat", "고양이"], "lowercase": True},
    },
    "suites": ["efficiency", "multilingual", "fidelity"],
    "reports": ["markdown"],
}


@pytest.fixture(scope="module")
def run(measure: Callable[..., RunOutcome]) -> Results:
    files = {
        f"{language}.jsonl": [
            {"id": str(i), "text": f"{words[i % len(words)]} {i % 7}"} for i in range(N)
        ]
        for language, words in TEXTS.items()
    }
    return measure(CONFIG, files).results


@pytest.fixture(scope="module")
def page(run: Results) -> str:
    return (run.folder / "report.md").read_text(encoding="utf-8").replace("\u00a0", " ")


def below(page: str, heading: str) -> str:
    """What stands below a heading, one step of the outline away."""
    return page.split(f"# {heading}\n")[1].split("\n#")[0]


def test_which_tokenizer_for_hindi_and_english_and_by_how_much(run: Results, page: str) -> None:
    view = View(run)
    ranked = {
        name: all(
            (row := view.row("rank", name, "texts", k)) is not None and has_place(row)
            for k in CONFIG["focus"]
        )
        for name in view.tokenizers
    }
    found = standings(
        rates(view, "texts", view.run["intervals"]["resamples"]), CONFIG["focus"], ranked
    )
    best, other = [one for one in found if one.rank is not None][:2]
    first_screen = "\n".join(page.splitlines()[:SCREEN])
    (answer,) = [line for line in first_screen.splitlines() if "60 % hin_Deva" in line][:1]
    assert f"{best.tokenizer} needs the fewest tokens: {best.cost:.2f}" in answer
    assert f"{other.tokenizer} with {100 * (other.ratio - 1):.1f} % more" in answer


def test_what_thai_pays_and_how_sure_that_is(run: Results, page: str) -> None:
    view = View(run)
    row = view.row("premium", "english", "texts", "tha_Thai")
    assert row is not None
    text = below(page, "Premium")
    (line,) = [line for line in text.splitlines() if line.startswith("| tha_Thai")]
    names = [cell.strip(" †") for cell in text.split("| language |")[1].split("\n")[0].split("|")]
    cells = [cell.strip(" †") for cell in line.split("|")[2:]]
    assert cells[names.index("english")] == f"{row['value']:.2f}"
    ends = re.search(r"is ([\d.]+) to ([\d.]+) around ([\d.]+)", text)
    assert ends is not None
    low, high, value = map(float, ends.groups())
    assert (row["ci_high"] - row["ci_low"]) / row["value"] <= (high - low) / value + 0.01


def test_which_tokenizers_lose_text_where_and_how(page: str) -> None:
    (sentence,) = [line for line in page.splitlines()[:SCREEN] if "not ranked because" in line]
    assert "lossy in 1 of 4" in sentence
    text = below(page, "Does the text survive?")
    assert re.search(r"\| lossy † \| texts \|.*case 100 %", text)
    by_language = text.split("| language | lossy † |")[1]
    assert re.findall(r"^\| (\w+) \| (\d+) \|$", by_language, re.MULTILINE) == [("eng_Latn", "27")]


def test_which_pairs_cannot_be_told_apart_in_korean(run: Results, page: str) -> None:
    view = View(run)
    pairs = set()
    for name in ("bytes", "hindi", "english"):
        for row in view.rows_at("token_ratio", name, "texts", "kor_Hang"):
            if (
                row["ci_low"] <= 1 <= row["ci_high"]
                and row["params"]["other"] in CONFIG["tokenizers"]
            ):
                pairs.add(frozenset((name, row["params"]["other"])))
    (line,) = [line for line in page.splitlines() if line.startswith("- kor_Hang: ")]
    said = re.split(", | and ", line.removeprefix("- kor_Hang: "))
    told = {frozenset(pair.split(" ≈ ")) for pair in said}
    assert told == {pair for pair in pairs if "lossy" not in pair or not view.unranked}
    assert frozenset(("hindi", "english")) in told


def test_how_to_reproduce_it(run: Results, page: str) -> None:
    text = below(page, "How to reproduce")
    assert "tokbench run" in text
    assert run.run["digest"][:16] in text
    assert "parallel: true" in text


def test_alike_refusals_are_one_line_here_and_all_in_detail(
    measure: Callable[..., RunOutcome],
) -> None:
    languages = ["en", "de", "fr", "it", "es"]
    corpus = {"source": "files", "path": "{language}.jsonl", "languages": languages, "id": "id"}
    run = measure(
        {
            "corpora": {"texts": corpus},
            "tokenizers": {"lossy": {"type": "toy_pieces", "pieces": ["the"], "lowercase": True}},
            "suites": ["efficiency", "fidelity"],
            "reports": ["markdown", "detail"],
        },
        {
            f"{language}.jsonl": [
                {"id": f"{language}-1", "text": "The cat"},
                {"id": f"{language}-2", "text": "the cat"},
            ]
            for language in languages
        },
    )
    said = "different texts have the same ids"
    brief, detail = (
        (run.results.folder / name).read_text(encoding="utf-8").splitlines()
        for name in ("report.md", "detail.md")
    )
    assert len([line for line in detail if said in line]) == len(languages)
    (line,) = [line for line in brief if said in line]
    assert line.endswith("(4 more lines of this kind in `detail.md`)")
