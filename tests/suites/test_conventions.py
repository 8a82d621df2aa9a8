"""Ratios by the conventions of publications: by hand, and outside ranks and gates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hand_made import tallies, tally
from tokbench.bench.compare.comparison import compare
from tokbench.bench.compare.snapshot import snapshot_of
from tokbench.bench.config.gate import Gate
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import CellKey
from tokbench.bench.model import Finding, Measurement
from tokbench.bench.plugins import LoadContext, TokenizerPlugin, find
from tokbench.bench.run.runner import RunOutcome
from tokbench.suites.conventions.suite import Conventions
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace


def two(english: list[int], german: list[int], added: int = 0) -> Tallies:
    counts = {"bytes": [9] * len(english), "characters": [9] * len(english)}
    made = tallies(
        {
            ("t", "eng_Latn"): tally({"tokens": english, **counts}),
            ("t", "deu_Latn"): tally({"tokens": german, **counts}),
        }
    )
    facts = {name: replace(f, added_special_tokens=added) for name, f in made.tokenizers.items()}
    return replace(made, tokenizers=facts)


def parity(made: Tallies, **options: Any) -> Measurement:
    suite = Conventions.model_validate(options)
    rows = [row for row in suite.measure(made) if isinstance(row, Measurement)]
    [found] = [row for row in rows if row.language == "deu_Latn"]
    return found


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 15 / 12),
        ({"mean_of_ratios": True}, (6 / 3 + 9 / 9) / 2),
        ({"special_tokens": "count"}, 17 / 14),
        ({"special_tokens": "count", "mean_of_ratios": True}, (7 / 4 + 10 / 10) / 2),
        ({"special_tokens": "count", "added_special_tokens": {"t": 3}}, 21 / 18),
    ],
)
def test_special_tokens_are_counted_and_ratios_averaged_where_a_publication_did(
    options: dict[str, Any], expected: float
) -> None:
    row = parity(two([3, 9], [6, 9], added=1), **options)
    assert row.value == pytest.approx(expected)
    assert row.params["special_tokens"] == options.get("special_tokens", "leave_out")
    assert row.params["mean_of_ratios"] is options.get("mean_of_ratios", False)
    assert row.reason == "published_convention"


def test_a_document_without_tokens_in_the_pivot_has_no_ratio() -> None:
    row = parity(two([0, 9], [6, 9]), mean_of_ratios=True)
    assert (row.value, row.reason) == (None, "no_tokens")
    assert parity(two([0, 9], [6, 9])).value == 15 / 9


def test_numbers_of_special_tokens_require_that_they_are_counted() -> None:
    with pytest.raises(ValidationError, match="requires special_tokens: count"):
        Conventions.model_validate({"added_special_tokens": {"t": 1}})


def test_a_number_for_a_tokenizer_that_is_not_there_is_a_warning() -> None:
    suite = Conventions(special_tokens="count", added_special_tokens={"x": 1})
    [warning] = [f for f in suite.measure(two([1], [1])) if isinstance(f, Finding)]
    assert "names x, which is not a tokenizer of the run" in warning.message


@pytest.fixture(scope="module")
def runs(measure: Callable[..., RunOutcome]) -> list[RunOutcome]:
    """Two runs that differ in the convention only."""
    corpus = {
        "source": "files",
        "path": "{language}.jsonl",
        "languages": ["en", "de"],
        "id": "id",
        "parallel": True,
        "pivot": "en",
    }
    config = {
        "corpora": {"c": corpus},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
        "reports": [],
    }
    files = {"en.jsonl": ["ab", "abcd"], "de.jsonl": ["abcd", "abcd"]}
    return [
        measure({**config, "suites": {"efficiency": {}, "conventions": {"mean_of_ratios": mean}}}, files)
        for mean in (False, True)
    ]  # fmt: skip


def test_rows_are_never_ranked_and_say_the_convention(runs: list[RunOutcome]) -> None:
    rows = runs[1].results.measurements.to_pylist()
    [row] = [r for r in rows if r["metric"] == "published_parity" and r["language"] == "de"]
    assert (row["value"], row["ranked"], row["status"]) == (1.5, False, "ok")
    assert json.loads(row["params"])["mean_of_ratios"] is True
    assert all(r["ranked"] for r in rows if r["metric"] == "bytes_per_token")


def test_no_gate_looks_at_them(runs: list[RunOutcome]) -> None:
    base, candidate = (snapshot_of(run.results) for run in runs)
    assert not [key for key in base.values if key.metric == "published_parity"]
    compared = compare(base, candidate, Gate())
    assert {v.outcome for v in compared.verdicts} == {"same"}
    assert CellKey("bytes", "c", "de") in {CellKey(*v.key[:3]) for v in compared.verdicts}


@pytest.mark.parametrize("kind", ["huggingface", "transformers"])
def test_counting_special_tokens_is_no_option_of_a_tokenizer(kind: str) -> None:
    plugin = find(TokenizerPlugin, kind)
    place = {"huggingface": {"file": "tokenizer.json"}, "transformers": {"path": "x"}}[kind]
    with pytest.raises(ValidationError, match=r"suites: {conventions: {special_tokens: count}}"):
        plugin.model_validate({**place, "special_tokens": "count"})


def test_a_template_says_how_many_special_tokens_it_adds(tmp_path: Path) -> None:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    loaded = HuggingFace(file="vocab.txt", lowercase=False).load(LoadContext(folder=tmp_path))
    assert loaded.added_special_tokens == 2
    assert [list(ids) for ids in loaded.encode_batch(["a"])] == [[5]]
    template = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    spec = {**json.loads(loaded.library.to_str()), "post_processor": template}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    other = HuggingFace(file="tokenizer.json").load(LoadContext(folder=tmp_path))
    assert other.added_special_tokens == 2
