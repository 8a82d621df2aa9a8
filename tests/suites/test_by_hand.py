"""Each metric against numbers counted by hand, through a config and a run.

The toy tokenizer takes the longest of its pieces, else single bytes (or one unknown token for a
character): what it makes of three short texts can be written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View

Measure = Callable[..., RunOutcome]


def corpus(*languages: str, parallel: bool = True, **options: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "source": "files",
        "path": "{language}.jsonl",
        "languages": list(languages),
        "id": "id",
        **options,
    }
    return {**entry, "parallel": True, "pivot": languages[0]} if parallel else entry


# pieces: |the| |cat| ␣the ␣cat        tokens   words
EN = ["the cat", "the cat sat", "a cat"]  # the| cat; the| cat| |s|a|t; a| cat
DE = ["die Katze", "die Katze saß", "eine Katze"]


@pytest.fixture(scope="module")
def view(measure: Measure) -> View:
    config = {
        "corpora": {"texts": corpus("en", "de")},
        "tokenizers": {
            "toy": {"type": "toy_pieces", "pieces": ["the", " the", " cat"]},
            "unknown": {"type": "toy_pieces", "pieces": ["the", " ", "cat"], "unknown": True},
            "lowercase": {"type": "toy_pieces", "pieces": ["die", " katze"], "lowercase": True},
            "bytes": {"type": "utf8_bytes"},
        },
    }
    return View(measure(config, {"en.jsonl": EN, "de.jsonl": DE}).results)


def at(view: View, metric: str, tokenizer: str, language: str = "en", **params: Any) -> Any:
    return view.value(metric, tokenizer, "texts", language, **params)


def test_sizes_are_ratios_of_totals(view: View) -> None:
    # 7 + 11 + 5 bytes in 2 + 6 + 2 tokens
    assert at(view, "tokens", "toy") == 10
    assert at(view, "bytes_per_token", "toy") == 2.3
    assert at(view, "characters_per_token", "toy") == 2.3
    # 9 + 14 + 10 bytes, the ß has two, so one character less
    assert at(view, "bytes_per_token", "bytes", "de") == 1
    assert at(view, "characters_per_token", "bytes", "de") == 32 / 33
    row = view.row("bytes_per_token", "toy", "texts", "en")
    assert row is not None
    assert row["n"] == 3
    assert row["ci_low"] <= 2.3 <= row["ci_high"]


def test_words_are_counted_by_the_tokens_over_them(view: View) -> None:
    # words: the cat | the cat sat | a cat = 7; only "sat" is cut, into three
    assert at(view, "fertility", "toy") == (6 + 3) / 7
    assert at(view, "tokens_per_word", "toy") == 10 / 7  # the space before "sat" is a token too
    assert at(view, "proportion_of_continued_words", "toy") == 1 / 7
    assert at(view, "single_token_word_share", "toy") == 6 / 7
    row = view.row("fertility", "toy", "texts", "en")
    assert row is not None
    assert (row["n"], row["params"]["unit_of_n"]) == (7, "words")


def test_words_of_a_tokenizer_that_changes_text_are_found_by_offsets(view: View) -> None:
    # die| katze; die| katze| |s|a|ß|ß; e|i|n|e| katze
    assert at(view, "fertility", "lowercase", "de") == (1 + 1 + 1 + 1 + 4 + 4 + 1) / 7
    assert at(view, "single_token_word_share", "lowercase", "de") == 5 / 7


def test_utf8_bytes_has_closed_forms(view: View) -> None:
    for language, texts in (("en", EN), ("de", DE)):
        n_bytes = sum(len(text.encode()) for text in texts)
        assert at(view, "tokens", "bytes", language) == n_bytes
        assert at(view, "bytes_per_token", "bytes", language) == 1
        words = [word for text in texts for word in text.split()]
        n_word_bytes = sum(len(word.encode()) for word in words)
        assert at(view, "fertility", "bytes", language) == n_word_bytes / len(words)
        assert at(view, "byte_fallback_rate", "bytes", language) in (0, 1)
        assert at(view, "unk_rate", "bytes", language) == 0
        assert at(view, "round_trip", "bytes", language, **{"class": "exact"}) == 1
        distinct = len({b for text in texts for b in text.encode()})
        assert at(view, "vocabulary_utilization", "bytes", language) == distinct / 256
    assert at(view, "partial_character_rate", "bytes", "de") == 2 / 33
    row = view.row("bytes_per_token", "bytes", "texts", "de")
    assert row is not None
    assert (row["ci_low"], row["ci_high"]) == (1, 1)


def test_premium_is_tokens_over_tokens_of_the_pivot(view: View) -> None:
    assert at(view, "premium", "bytes", "de") == 33 / 23
    assert at(view, "overhead", "bytes", "de") == pytest.approx(33 / 23 - 1)
    assert at(view, "premium", "bytes", "en") == 1
    assert at(view, "overhead", "bytes", "en") == 0
    row = view.row("premium", "bytes", "texts", "de")
    assert row is not None
    assert row["n"] == 3
    # ratios of the three documents are 9/7, 14/11 and 10/5
    assert 14 / 11 <= row["ci_low"] < 33 / 23 < row["ci_high"] <= 2
    overhead = view.row("overhead", "bytes", "texts", "de")
    assert overhead is not None
    assert overhead["ci_low"] == row["ci_low"] - 1
    assert at(view, "characters_ratio", "bytes", "de") == 32 / 23


def test_unknown_tokens_and_the_bytes_under_them(view: View) -> None:
    # the| |cat; the| |cat| |?|?|?; ?| |cat — 4 of 13 tokens, 4 of 23 bytes
    assert at(view, "tokens", "unknown") == 13
    assert at(view, "unk_rate", "unknown") == 4 / 13
    assert at(view, "lost_byte_share", "unknown") == 4 / 23
    assert at(view, "lost_byte_share", "unknown", cause="unknown") == 4 / 23
    classes = {
        kind: at(view, "round_trip", "unknown", **{"class": kind})
        for kind in ("exact", "normalized", "lossy")
    }
    assert classes == {"exact": 1 / 3, "normalized": 0, "lossy": 2 / 3}
    assert at(view, "byte_sum_breaches", "unknown") is None
    assert at(view, "byte_sum_breaches", "toy") == 0


def test_lower_casing_is_a_loss_by_case(view: View) -> None:
    assert at(view, "lost_byte_share", "lowercase", "de", cause="case") == 3 / 33
    assert at(view, "lost_byte_share", "lowercase", "de") == 3 / 33
    assert at(view, "lost_byte_share", "lowercase", "en") == 0


def test_utilization_is_of_entries_that_are_not_special(view: View) -> None:
    # seen in English: the, ␣cat, ␣, s, a, t; entries: 256 bytes and three pieces
    assert at(view, "vocabulary_utilization", "toy") == 6 / 259
    row = view.row("vocabulary_utilization", "toy", "texts", "en")
    assert row is not None
    assert (row["n"], row["params"]) == (
        10,
        {**row["params"], "unit_of_n": "tokens", "seen": 6, "entries": 259},
    )
    both = view.value("vocabulary_utilization", "toy", "texts", None)
    # German adds d i e K z n, both bytes of ß; t, a, s and the space are there already
    assert both == (6 + 8) / 259


def test_a_lossy_tokenizer_has_no_premium_and_no_rank(view: View) -> None:
    for language in ("en", "de"):
        assert at(view, "rank", "unknown", language) is None
        row = view.row("premium", "unknown", "texts", language)
        assert row is not None
        assert (row["value"], row["status"]) == (None, "refused")
        assert "the text does not survive" in row["detail"]


# ranks


def test_a_rank_is_one_more_than_the_tokenizers_surely_better(measure: Measure) -> None:
    """Sharing a rank by overlap is not transitive: who is beaten by nobody is first."""
    texts = ["aa bb " * (n % 7 + 1) + "cd " * (n % 3) for n in range(150)]
    pieces = {
        "best": ["aa bb ", "cd "],
        "same": ["aa bb ", "cd "],
        "middle": ["aa ", "bb ", "cd "],
        "worse": ["aa", "bb"],
        "bytes": [],
    }
    config = {
        "corpora": {"texts": corpus("en", parallel=False)},
        "tokenizers": {
            name: {"type": "toy_pieces", "pieces": list(own)} for name, own in pieces.items()
        }
        | {"lossy": {"type": "toy_pieces", "pieces": ["aa bb "], "unknown": True}},
        "lost_limit": 0.01,
    }
    view = View(measure(config, {"en.jsonl": texts}).results)
    ranks = {name: at(view, "rank", name) for name in [*pieces, "lossy"]}
    # `best` and `same` are one tokenizer under two names
    assert ranks == {"best": 1, "same": 1, "middle": 2, "worse": 3, "bytes": 4, "lossy": None}
    row = view.row("rank", "best", "texts", "en")
    assert row is not None
    assert row["params"]["of"] == 4


def test_tokenizers_that_cannot_be_told_apart_share_a_rank(measure: Measure) -> None:
    texts = ["xy ab" if n % 2 else "ab xy ab" for n in range(40)] + ["xy xy xy"] * 20
    config = {
        "corpora": {"texts": corpus("en", parallel=False)},
        "tokenizers": {
            "ab": {"type": "toy_pieces", "pieces": ["ab"]},
            "xy": {"type": "toy_pieces", "pieces": ["xy"]},
            "bytes": {"type": "utf8_bytes"},
        },
    }
    view = View(measure(config, {"en.jsonl": texts}).results)
    tokens = {name: at(view, "tokens", name) for name in ("ab", "xy")}
    assert tokens["ab"] != tokens["xy"]
    assert [at(view, "rank", name) for name in ("ab", "xy", "bytes")][2] == 3
    assert min(at(view, "rank", name) for name in ("ab", "xy")) == 1


# premiums that are refused


def test_no_premium_where_the_corpus_is_not_parallel(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de", parallel=False)},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"en.jsonl": EN, "de.jsonl": DE})
    view = View(run.results)
    assert not [row for row in view.rows if row["metric"] in ("premium", "overhead")]
    [refusal] = [f for f in view.findings if f["kind"] == "refusal"]
    assert "not parallel" in refusal["message"]
    assert run.exit_code == 0


@pytest.mark.parametrize(
    "german",
    [
        [{"id": "0", "text": "die"}, {"id": "1", "text": "Katze"}],
        [{"id": str(n), "text": "x"} for n in (0, 1, 3)],
        [{"id": str(n), "text": "x"} for n in range(4)],
    ],
    ids=["one lacks", "one differs", "one more"],
)
def test_no_premium_where_ids_differ(measure: Measure, german: list[dict[str, str]]) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de")},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"en.jsonl": EN, "de.jsonl": german})
    view = View(run.results)
    for language in ("en", "de"):
        row = view.row("premium", "bytes", "texts", language)
        assert row is not None
        assert (row["value"], row["status"]) == (None, "refused")
        assert "ids differ from those of the pivot en" in row["detail"]
    assert at(view, "bytes_per_token", "bytes", "de") == 1
    assert run.exit_code == 0
    report = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    assert "ids differ from those of the pivot" in report
    assert "parallel by id with pivot" not in report


def test_a_premium_over_the_ids_in_common_says_how_many(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de", missing_ids="intersect")},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    german = [{"id": "2", "text": "eine Katze"}, {"id": "0", "text": "die Katze"}]
    view = View(measure(config, {"en.jsonl": EN, "de.jsonl": german}).results)
    assert at(view, "premium", "bytes", "de") == 19 / 12
    row = view.row("premium", "bytes", "texts", "de")
    assert row is not None
    assert row["n"] == 2


def test_a_premium_of_a_partial_cell_is_over_the_documents_both_have(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de")},
        "tokenizers": {"faulty": {"type": "toy_faulty"}},
    }
    files = {"en.jsonl": ["ab", "abc", "abcd"], "de.jsonl": ["abcd", "boom", "abcdefgh"]}
    run = measure(config, files)
    view = View(run.results)
    row = view.row("premium", "faulty", "texts", "de")
    assert row is not None
    assert (row["value"], row["n"], row["status"]) == (12 / 6, 2, "partial")
    assert at(view, "rank", "faulty", "de") is None
    assert run.exit_code == 3


def test_no_premium_where_the_pivot_was_not_counted(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de")},
        "tokenizers": {"faulty": {"type": "toy_faulty"}, "bytes": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"en.jsonl": ["boom"], "de.jsonl": ["abc"]})
    view = View(run.results)
    row = view.row("premium", "faulty", "texts", "de")
    assert row is not None
    assert (row["value"], row["status"]) == (None, "refused")
    assert "the pivot en was not counted: 1 of 1 documents failed" in row["detail"]
    assert at(view, "premium", "bytes", "de") == 3 / 4


def test_programs_have_a_program_premium_beside_the_ratio_of_characters(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("python", "c", kind="code")},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    view = View(measure(config, {"python.jsonl": ["x = 1"], "c.jsonl": ["int x = 1;"]}).results)
    assert at(view, "program_premium", "bytes", "c") == 2
    assert at(view, "characters_ratio", "bytes", "c") == 2
    assert at(view, "premium", "bytes", "c") is None
    row = view.row("fertility", "bytes", "texts", "c")
    assert row is not None
    assert row["value"] is None
    assert row["detail"]


# nothing to divide by


def test_a_corpus_of_empty_texts_has_no_ratios_and_says_why(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", "de")},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"en.jsonl": ["", ""], "de.jsonl": ["", "a"]})
    view = View(run.results)
    for metric in (
        "bytes_per_token",
        "fertility",
        "unk_rate",
        "lost_byte_share",
        "rank",
        "premium",
    ):
        row = view.row(metric, "bytes", "texts", "en")
        assert row is not None, metric
        assert row["value"] is None, metric
        assert row["detail"], metric
    assert at(view, "tokens", "bytes") == 0
    assert run.exit_code == 0


def test_one_document_has_a_value_and_no_interval(measure: Measure) -> None:
    config = {
        "corpora": {"texts": corpus("en", parallel=False)},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    }
    view = View(measure(config, {"en.jsonl": ["abc"]}).results)
    row = view.row("bytes_per_token", "bytes", "texts", "en")
    assert row is not None
    assert (row["value"], row["ci_low"], row["ci_high"]) == (1, None, None)
