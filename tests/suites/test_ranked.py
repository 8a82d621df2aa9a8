"""First places are for tokenizers that give the text back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from tokbench.bench.errors import ConfigError
from tokbench.bench.reasons import UNRANKED
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.markdown import Markdown
from tokbench.reports.summary import Summary

Measure = Callable[..., RunOutcome]

TEXTS = ["The cat sat on the mat", "the cat sat on the mat", "the mat"]
"""51 bytes; without its capital the first is the second."""


def lower_casing(words: list[str]) -> str:
    library = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token=words[0]))
    library.normalizer = normalizers.Lowercase()
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    return library.to_str()


@pytest.fixture(scope="module")
def run(measure: Measure) -> RunOutcome:
    """A lower-casing tokenizer, one trained on the text, and one honest one under two names."""
    return measure(
        {
            "corpora": {"c": {"source": "files", "path": "{language}.jsonl", "languages": ["en"]}},
            "tokenizers": {
                "lower": {"type": "huggingface", "file": "lower.json"},
                "trained": {"train": {"trainer": "byte_bpe", "corpus": "c", "vocab_size": 260}},
                "bytes": {"type": "utf8_bytes"},
                "octets": {"type": "utf8_bytes"},
            },
        },
        {
            "en.jsonl": TEXTS,
            "lower.json": lower_casing(["[UNK]", "the", "cat", "sat", "on", "mat"]),
        },
    )


def rows(results: Results, **wanted: Any) -> list[dict[str, Any]]:
    found = results.measurements.to_pylist()
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def test_the_best_by_bytes_per_token_is_not_ranked_when_it_loses_the_text(run: RunOutcome) -> None:
    values = {r["tokenizer"]: r for r in rows(run.results, metric="bytes_per_token")}
    assert values["lower"]["value"] == 51 / 14  # two texts of six words and one of two
    assert max(values.values(), key=lambda r: r["value"])["tokenizer"] == "lower"
    assert {name: row["ranked"] for name, row in values.items()} == {
        "lower": False,
        "trained": False,
        "bytes": True,
        "octets": True,
    }
    assert values["lower"]["reason"] == "lossy"  # one byte of 51
    assert values["trained"]["reason"] == "trained_on_text"


def test_no_ranked_row_is_of_a_tokenizer_that_loses_more_than_the_limit(run: RunOutcome) -> None:
    assert run.results.run["policy"]["rank_lost_limit"] == 0.001
    for row in rows(run.results, corpus="c"):
        assert row["tokenizer"] in ("bytes", "octets") or not row["ranked"], row
        if not row["ranked"] and row["value"] is not None:
            assert row["reason"] in UNRANKED


def test_the_same_tokenizer_under_two_keys_is_one(run: RunOutcome) -> None:
    ranks = {r["tokenizer"]: (r["value"], r["params"]) for r in rows(run.results, metric="rank")}
    assert ranks["bytes"] == ranks["octets"]
    assert ranks["bytes"][0] == 1
    assert '"of": 1' in ranks["bytes"][1]
    summary = Summary().render(run.results)["summary.txt"]
    assert "bytes and octets are the same tokenizer under 2 keys." in summary
    assert "only bytes and octets could be ranked" in summary


def test_marks_stand_beside_every_name_and_value(run: RunOutcome) -> None:
    report = Markdown().render(run.results)["detail.md"]
    shown = report[: report.index("one example of each kind")].splitlines()
    lines = [line for line in shown if line.startswith(("| lower", "| trained"))]
    assert len(lines) > 4
    for line in lines:
        assert line.startswith(("| lower † |", "| trained ‡ |")), line
    assert "trained was trained on c itself and is not ranked there." in report


def test_texts_that_have_the_same_ids_are_a_collision(run: RunOutcome) -> None:
    [finding] = [f for f in run.results.findings.to_pylist() if f["reason"] == "collision"]
    assert (finding["tokenizer"], finding["document_id"]) == ("lower", "0")
    assert "different texts have the same ids: 0 and 1" in finding["message"]


def test_a_limit_for_places_above_the_limit_of_loss_is_an_error(
    measure: Measure, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"must be at most lost_limit \(0.01\)"):
        measure(
            {
                "corpora": {
                    "c": {"source": "files", "path": "{language}.jsonl", "languages": ["en"]}
                },
                "tokenizers": {"bytes": {"type": "utf8_bytes"}},
                "lost_limit": 0.01,
                "rank_lost_limit": 0.02,
            },
            {"en.jsonl": TEXTS},
        )


def test_code_without_its_lines_has_no_place(measure: Measure) -> None:
    """A tokenizer that splits at white space gives a program back on one line."""
    program = "if cat:\n    sat\n    mat"  # 23 bytes; 2 line breaks and 6 of 8 spaces are lost
    outcome = measure(
        {
            "corpora": {
                "p": {
                    "source": "files",
                    "kind": "code",
                    "path": "{language}.jsonl",
                    "languages": ["python"],
                }
            },
            "tokenizers": {
                "lines": {"type": "huggingface", "file": "lines.json"},
                "bytes": {"type": "utf8_bytes"},
            },
        },
        {
            "python.jsonl": [program],
            "lines.json": lower_casing(["[UNK]", "if", "cat:", "sat", "mat"]),
        },
    )
    lost = {r["params"]: r["value"] for r in rows(outcome.results, metric="lost_byte_share")}
    assert lost['{"cause": "line_ends"}'] == 2 / 23
    assert lost['{"cause": "indentation"}'] == 6 / 23
    ranks = {r["tokenizer"]: r["reason"] for r in rows(outcome.results, metric="rank")}
    assert ranks == {"lines": "lost_text", "bytes": None}


def test_values_by_word_are_refused_where_too_much_text_is_lost(measure: Measure) -> None:
    """Of 7 bytes "dog" is unknown, 3 of them: each word one token, which is no fertility of 1."""
    run = measure(
        {
            "corpora": {"c": {"source": "files", "path": "en.jsonl", "language": "en"}},
            "tokenizers": {
                "words": {"type": "huggingface", "file": "words.json"},
                "bytes": {"type": "utf8_bytes"},
            },
        },
        {"en.jsonl": ["the dog"], "words.json": lower_casing(["[UNK]", "the"])},
    )
    for metric, expected in (
        ("fertility", 3.0),
        ("tokens_per_word", 3.5),
        ("proportion_of_continued_words", 1.0),
        ("single_token_word_share", 0.0),
    ):
        found = {r["tokenizer"]: r for r in rows(run.results, metric=metric)}
        assert found["bytes"]["value"] == expected
        lost = found["words"]
        assert (lost["value"], lost["status"], lost["reason"]) == (None, "refused", "lost_text")
    assert {r["value"] for r in rows(run.results, metric="tokens")} == {2, 7}
