"""Where tokens end, from a run: words, characters, and what fertility presupposes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tokbench
from byte_tokenizer import Bytes
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.loose_texts import batch_of
from tokbench.bench.environment import Stopwatch
from tokbench.bench.results.report import render_reports
from tokbench.reports.view import View


def measured(corpora: dict[str, Any], tokenizers: dict[str, Any], folder: Path) -> Any:
    config = {
        "name": "boundaries",
        "corpora": corpora,
        "tokenizers": tokenizers,
        "suites": ["efficiency", "boundaries"],
        "reports": [],
    }
    return tokbench.run(config, output=folder, jobs=1)


def two_vocabularies(size: int) -> dict[str, Any]:
    """Return two trainings that differ in their cuts only."""
    shared = {"trainer": "byte_bpe", "corpus": "text", "vocab_size": size}
    return {
        "no_cuts": {"train": {**shared, "pre_tokenization": "none"}},
        "cuts": {"train": {**shared, "pre_tokenization": "gpt2"}},
    }


def rounded(view: View, language: str) -> dict[str, dict[str, float]]:
    metrics = (
        "tokens_per_word",
        "fertility",
        "multi_word_token_share",
        "word_end_inside_token_share",
        "single_token_word_share",
    )
    return {
        name: {m: round(view.value(m, name, "text", language) or 0.0, 2) for m in metrics}
        for name in ("no_cuts", "cuts")
    }


def test_a_vocabulary_over_words_is_shorter_and_fertility_calls_it_worse(tmp_path: Path) -> None:
    text = {"source": "builtin", "dataset": "sentences", "language": "eng_Latn"}
    results = measured({"text": text}, two_vocabularies(700), tmp_path)
    found = rounded(View(results), "eng_Latn")
    assert found["no_cuts"]["tokens_per_word"] < found["cuts"]["tokens_per_word"]
    assert found["no_cuts"]["fertility"] > found["cuts"]["fertility"]
    assert found["cuts"]["multi_word_token_share"] == 0
    assert found == BUNDLED
    for name, page in render_reports(["markdown"], results).items():
        if name in ("report.md", "detail.md"):
            assert page.count("no_cuts writes tokens that span words") == 1
            assert "**cuts writes" not in page
            assert page.count("English hardly separates tokenizers") == 1
            assert page.count("Compression alone does not make a better model") == 1


BUNDLED = {
    "no_cuts": {
        "tokens_per_word": 2.41,
        "fertility": 2.33,
        "multi_word_token_share": 0.06,
        "word_end_inside_token_share": 0.47,
        "single_token_word_share": 0.16,
    },
    "cuts": {
        "tokens_per_word": 2.43,
        "fertility": 2.2,
        "multi_word_token_share": 0.0,
        "word_end_inside_token_share": 0.0,
        "single_token_word_share": 0.41,
    },
}


def test_words_may_be_undefined_where_characters_are_not(tmp_path: Path) -> None:
    (tmp_path / "th.txt").write_text("ภาษาไทย\n", encoding="utf-8")
    corpora = {
        "text": {"source": "files", "path": str(tmp_path / "th.txt"), "language": "tha_Thai"}
    }
    results = measured(corpora, {"bytes": {"type": "utf8_bytes"}}, tmp_path)
    view = View(results)
    row = view.row("word_end_inside_token_share", "bytes", "text", "tha_Thai")
    assert row is not None
    assert (row["value"], row["reason"]) == (None, "words_undefined")
    for metric in ("split_character_share", "inside_character_token_share", "split_grapheme_share"):
        assert view.value(metric, "bytes", "text", "tha_Thai") == 1.0  # each is three bytes
    pages = render_reports(["markdown"], results)
    assert "English hardly" not in pages["report.md"] + pages["detail.md"]


def test_what_is_not_asked_for_is_not_counted() -> None:
    """The places of tokens cost time: only the suite that needs them has them counted."""
    counter = Counter(tokenizer=Bytes(), watch=Stopwatch())
    tally = counter.count(batch_of(["é"], words=True))
    assert (tally.total("placed"), tally.total("split_characters")) == (0, 0)


@pytest.mark.real
def test_the_novel_has_fewer_tokens_a_word_and_a_higher_fertility(
    data_folder: Path, tmp_path: Path
) -> None:
    path = data_folder / "corpora" / "prose" / "pride_and_prejudice.en.txt"
    text = {"source": "files", "path": str(path), "language": "en"}
    results = measured({"text": text}, two_vocabularies(4096), tmp_path)
    found = rounded(View(results), "en")
    assert [found[n]["tokens_per_word"] for n in ("no_cuts", "cuts")] == [1.20, 1.31]
    assert [found[n]["fertility"] for n in ("no_cuts", "cuts")] == [1.35, 1.15]
    assert "1.20 tokens per word in en" in render_reports(["markdown"], results)["report.md"]
