"""FLOPs, cache and shares of a model: closed forms, and sizes that were published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import tokbench
from tokbench.bench.results.compute import Architecture, Decoder, attended
from tokbench.bench.results.costs import ModelCost
from tokbench.bench.results.run_folder import Results
from tokbench.reports.cost.plugin import Cost

NORMS = 65 * 4096
"""Both models have two norms in each of 32 layers and one at the end, of 4,096 weights."""


def decoder(width: int, vocabulary: int, *, tied: bool = False, **sizes: Any) -> Decoder:
    shape = Architecture.model_validate(sizes)
    return Decoder(architecture=shape, width=width, vocabulary=vocabulary, tied=tied)


LLAMA_2_7B = decoder(4096, 32_000, layers=32, heads=32, feed_forward=11_008, bytes_per_value=2)
LLAMA_3_8B = decoder(
    4096, 128_256, layers=32, heads=32, kv_heads=8, feed_forward=14_336, bytes_per_value=2
)


@pytest.mark.parametrize(
    ("model", "parameters"), [(LLAMA_2_7B, 6_738_415_616), (LLAMA_3_8B, 8_030_261_248)]
)
def test_parameters_are_those_of_the_published_checkpoints(model: Decoder, parameters: int) -> None:
    """The sizes are what the checkpoints of Llama 2 7B and Llama 3 8B hold."""
    assert model.layer_parameters + model.vocabulary_parameters + NORMS == parameters


def test_cache_per_token_of_llama_2_7b_is_half_a_mebibyte() -> None:
    assert LLAMA_2_7B.cache_per_token == 2**19
    assert LLAMA_3_8B.cache_per_token == 2**17


def test_gpt2_ties_its_layers_and_has_no_gate() -> None:
    """124,439,808 parameters, less positions (1024 × 768), norms and biases."""
    gpt2 = decoder(768, 50_257, tied=True, layers=12, heads=12, feed_forward=3072, gated=False)
    norms, biases = 25 * 2 * 768, 12 * (3 * 768 + 768 + 3072 + 768)
    whole = gpt2.layer_parameters + gpt2.vocabulary_parameters
    assert whole + 1024 * 768 + norms + biases == 124_439_808


def test_flops_of_a_long_document_approach_the_formula_of_palm() -> None:
    """2N + 4LHQT a token, where every token attends to all T; ours to half of them on average."""
    n = 4096
    flops = LLAMA_2_7B.flops(np.array([n]))
    matrices = 2 * (LLAMA_2_7B.layer_parameters + 32_000 * 4096)
    whole_context = 4 * 32 * 32 * 128 * n
    assert float(flops.layers[0] + flops.output[0]) == matrices * n
    assert float(flops.attention[0]) == pytest.approx(whole_context * n / 2, rel=1 / n)


@pytest.mark.parametrize("window", [None, 1, 3, 100])
def test_attended_tokens_are_counted_one_by_one(window: int | None) -> None:
    tokens = np.arange(12)
    expected = [sum(min(i, window or i) for i in range(1, n + 1)) for n in tokens]
    assert attended(tokens, window).tolist() == expected


SMALL = {"layers": 3, "heads": 2, "kv_heads": 1, "feed_forward": 5, "bytes_per_value": 2}
CONFIG = {
    "name": "small",
    "corpora": {"corpus": {"source": "files", "languages": {"en": "en.txt"}}},
    "tokenizers": {"utf8_bytes": {"type": "utf8_bytes"}, "characters": {"type": "characters"}},
    "reports": [],
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run for all tests."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TOKBENCH_CACHE", str(folder / "cache"))
        (folder / "en.txt").write_text(
            "äbc\nä\n", encoding="utf-8"
        )  # 4 + 2 bytes, 3 + 1 characters
        return tokbench.run(CONFIG, jobs=0).folder.absolute()


@pytest.fixture
def results(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """The run, read from a working folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tokbench.load_results(measured)


def test_the_report_counts_as_one_would_by_hand(results: Results) -> None:
    """Width 4, 2 heads of 2, one with keys: 4 × (4 + 4 + 2 + 2) + 3 × 4 × 5 = 108 a layer."""
    model = {"tokenizer": "characters", "width": 4, "architecture": SMALL}
    files = Cost.model_validate({"currency": "EUR", "models": {"m": model}}).render(results)
    found = json.loads(files["cost.json"])
    ids = results.run["tokenizers"]["characters"]["n_ids"]
    [size], [text] = found["models"], found["texts"]
    assert size["layer_parameters"] == 3 * 108
    assert size["embedding_share"] == 2 * ids * 4 / (2 * ids * 4 + 324)
    layers, output, attention = 2 * 324 * 4, 2 * 4 * ids * 4, 4 * 3 * 2 * 2 * (6 + 1)
    total = layers + output + attention
    assert text["flops_per_byte"] == pytest.approx(total / 6, rel=1e-12)
    assert text["flops_per_document"] == pytest.approx(total / 2, rel=1e-12)
    assert text["output_layer_share"] == pytest.approx(output / total, rel=1e-12)
    assert text["attention_share"] == pytest.approx(attention / total, rel=1e-12)
    assert text["kv_cache_per_byte"] == pytest.approx(2 * 3 * 1 * 2 * 2 * 4 / 6, rel=1e-12)
    assert "FLOPs / byte" in files["cost.md"]


def test_a_padded_vocabulary_is_the_users(results: Results) -> None:
    model = {"tokenizer": "utf8_bytes", "width": 4, "architecture": SMALL | {"vocabulary": 320}}
    files = Cost.model_validate({"currency": "EUR", "models": {"m": model}}).render(results)
    assert json.loads(files["cost.json"])["models"][0]["vocabulary"] == 320


def test_without_an_architecture_nothing_is_computed(results: Results) -> None:
    options = {"currency": "EUR", "models": {"m": {"tokenizer": "utf8_bytes", "width": 4}}}
    files = Cost.model_validate(options).render(results)
    assert "FLOPs" not in files["cost.md"]
    assert "flops_per_byte" not in json.loads(files["cost.json"])["texts"][0]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"architecture": SMALL}, "requires the model's width"),
        ({"width": 5, "architecture": SMALL}, "give head_width"),
        ({"width": 4, "architecture": SMALL | {"heads": 3, "kv_heads": 2}}, "multiple of kv_heads"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(model: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ModelCost.model_validate({"tokenizer": "t", **model})
