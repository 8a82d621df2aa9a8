"""What the pages on WordPiece, Unigram and SentencePiece show is what the code prints."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"


@pytest.mark.parametrize("page", ["wordpiece.md", "unigram.md", "sentencepiece.md"])
def test_the_examples_print_what_the_page_says(page: str) -> None:
    found = doctest.testfile(
        str(PAGES / page),
        module_relative=False,
        encoding="utf-8",
        optionflags=doctest.NORMALIZE_WHITESPACE,
    )
    assert found.attempted > 5
    assert found.failed == 0
