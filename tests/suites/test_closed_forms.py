"""Under `utf8_bytes` every number has a closed form: a token is a byte."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tokbench.bench.results.run_folder import Results
from tokbench.suites.anchors.measuring import results_of, values_of

TEXTS = {
    "eng_Latn": ["one two", "abc", "e"],  # 7 + 3 + 1 bytes
    "ell_Grek": ["ένα δύο", "αβγ", "ε"],  # 13 + 6 + 2 bytes, 7 + 3 + 1 characters
}
BYTES = {"eng_Latn": 11, "ell_Grek": 21}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    folder = tmp_path_factory.mktemp("texts")
    for language, texts in TEXTS.items():
        rows = [json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts)]
        (folder / f"{language}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    corpus = {
        "source": "files",
        "languages": {language: f"{language}.jsonl" for language in TEXTS},
        "id": "id",
        "parallel": True,
        "pivot": "eng_Latn",
    }
    suites = {
        "efficiency": {"reference": "characters"},
        "multilingual": {"contexts": [210], "limits": [1.5, 2]},
        "information": {},
        "fidelity": {},
    }
    tokenizers = {name: {"type": name} for name in ("utf8_bytes", "characters")}
    config = {
        "name": "small",
        "corpora": {"corpus": corpus},
        "tokenizers": tokenizers,
        "suites": suites,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKBENCH_CACHE", str(folder / "cache"))
        with results_of(config, folder) as made:
            yield made


def value(results: Results, metric: str, language: str, **params: Any) -> float:
    return values_of(results, metric, **params)["utf8_bytes", language]


def test_a_token_is_a_byte(results: Results) -> None:
    for language, n_bytes in BYTES.items():
        assert value(results, "bytes_per_token", language) == 1
        assert value(results, "tokens", language) == n_bytes
        assert value(results, "characters_per_token", language) == 11 / n_bytes
        assert value(results, "graphemes_per_token", language) == 11 / n_bytes
        assert value(results, "tokens_per_character", language) == n_bytes / 11


def test_the_mean_over_documents_is_not_the_ratio_of_totals(results: Results) -> None:
    mean = (13 / 7 + 6 / 3 + 2 / 1) / 3
    assert value(results, "mean_tokens_per_character", "ell_Grek") == pytest.approx(mean)
    assert value(results, "tokens_per_character", "ell_Grek") == 21 / 11


def test_fertility_is_the_mean_length_of_words_in_bytes(results: Results) -> None:
    assert value(results, "fertility", "eng_Latn") == (3 + 3 + 3 + 1) / 4
    assert value(results, "fertility", "ell_Grek") == (6 + 6 + 6 + 2) / 4
    assert value(results, "proportion_of_continued_words", "eng_Latn") == 3 / 4
    assert value(results, "single_token_word_share", "eng_Latn") == 1 / 4


def test_the_premium_is_the_ratio_of_bytes(results: Results) -> None:
    assert value(results, "premium", "ell_Grek") == 21 / 11
    assert value(results, "overhead", "ell_Grek") == pytest.approx(10 / 11)
    assert value(results, "context_share", "ell_Grek") == 11 / 21
    assert value(results, "characters_ratio", "ell_Grek") == 1
    assert value(results, "premium", "eng_Latn") == 1


def test_a_context_of_bytes_holds_as_many_characters_as_fit(results: Results) -> None:
    assert value(results, "context_characters", "ell_Grek", tokens=210) == pytest.approx(110)
    assert value(results, "context_words", "ell_Grek", tokens=210) == pytest.approx(40)


def test_the_sequence_length_is_normalized_by_code_points(results: Results) -> None:
    assert value(results, "normalized_sequence_length", "ell_Grek") == 21 / 11
    assert value(results, "normalized_sequence_length", "eng_Latn") == 1


def test_every_token_is_one_byte_long(results: Results) -> None:
    assert value(results, "token_length", "ell_Grek", quantile=1.0) == 1
    assert values_of(results, "token_length_share", bytes=1)["utf8_bytes", None] == 1


def test_spaces_are_counted_as_tokens_that_start_with_one(results: Results) -> None:
    assert value(results, "space_initial_share", "eng_Latn") == 1 / 11


def test_entropy_is_that_of_the_bytes(results: Results) -> None:
    # one two + abc + e: o, e twice; space, n, t, w, a, b, c once -> o 2, n 1, e 2
    counts = [2, 1, 2, 1, 1, 1, 1, 1, 1]
    shares = [count / 11 for count in counts]
    shannon = -sum(p * math.log2(p) for p in shares)
    renyi = math.log2(sum(p**2.5 for p in shares)) / (1 - 2.5)
    assert value(results, "shannon_entropy", "eng_Latn") == pytest.approx(shannon)
    assert value(results, "renyi_entropy", "eng_Latn", alpha=2.5) == pytest.approx(renyi)
    observed = value(results, "renyi_efficiency", "eng_Latn", basis="observed")
    assert observed == pytest.approx(renyi / math.log2(9))
    nominal = value(results, "renyi_efficiency", "eng_Latn", basis="nominal")
    assert nominal == pytest.approx(renyi / 8)


def test_utilization_counts_the_distinct_bytes(results: Results) -> None:
    assert value(results, "vocabulary_utilization", "eng_Latn") == 9 / 256


def test_nothing_is_lost_and_ranks_are_shared_on_ascii(results: Results) -> None:
    assert value(results, "lost_byte_share", "ell_Grek") == 0
    ranks = values_of(results, "rank")
    assert ranks["utf8_bytes", "eng_Latn"] == ranks["characters", "eng_Latn"] == 1
    assert ranks["characters", "ell_Grek"] == 1
    assert ranks["utf8_bytes", "ell_Grek"] == 2
