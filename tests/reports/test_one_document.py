"""One document: nothing can be told apart by it; and special tokens that a text spells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models

from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.focus import rates
from tokbench.reports.view import View


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """`<s>ab<s>` by one tokenizer with characters as entries, spelled out and matched."""
    path = tmp_path_factory.mktemp("special") / "tokenizer.json"
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate("abs<>")}, []))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    tokenizer.save(str(path))
    measure: Any = request.getfixturevalue("measure")
    outcome: RunOutcome = measure(
        {
            "corpora": {"c": {"source": "files", "path": "c.txt", "language": "en"}},
            "tokenizers": {
                "matched": {"type": "huggingface", "file": str(path), "special_tokens": "match"},
                "spelled": {"type": "huggingface", "file": str(path)},
            },
            "reports": ["markdown", "html"],
        },
        {"c.txt": "<s>ab<s>\n"},
    )
    return outcome


def page_of(run: RunOutcome) -> str:
    return (Path(run.results.folder) / "report.md").read_text(encoding="utf-8")


def test_one_document_gives_no_interval_and_separates_no_tokenizers(run: RunOutcome) -> None:
    page = page_of(run)
    assert "no ranked tokenizer is significantly better than another: 1 document" in page
    assert (
        "matched needs the fewest tokens: 500.00 per 1,000 bytes; spelled cannot be distinguished "
        "from it (100.0 %, no interval: a language has a single document)" in page
    )
    assert "| spelled | 6 | 1,000.00 | 2.000 | 1 |" in page
    found = rates(View(run.results), "c")
    assert found.measured.ravel().tolist() == [500.0, 1000.0]


def test_the_page_carries_no_draws_of_one_document(run: RunOutcome) -> None:
    page = (Path(run.results.folder) / "report.html").read_text(encoding="utf-8")
    draws = page.split('id="draws"', 1)[1].split(">", 1)[1].split("</script>", 1)[0]
    assert json.loads(draws)[0]["scale"] == [[None], [None]]


def test_special_tokens_read_out_of_the_text_are_told_first(run: RunOutcome) -> None:
    told = (
        "On c, matched reads special tokens that the text spells as special tokens, in 1 document."
    )
    assert told in page_of(run)
    detail = (Path(run.results.folder) / "detail.md").read_text(encoding="utf-8")
    assert (
        "1 document spells a special token; it was read as the special token (1 of them" in detail
    )
    assert "spelled on c: 1 document spells a special token; it was read as ordinary text" in detail
