"""The cost report: a user's prices on the counts of a finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tokbench
from tokbench.bench.cli import main
from tokbench.bench.errors import UsageError
from tokbench.bench.results.report import render_reports
from tokbench.bench.results.run_folder import Results
from tokbench.reports.cost.plugin import Cost

CONFIG = {
    "name": "small",
    "corpora": {
        "corpus": {
            "source": "files",
            "languages": {"eng_Latn": "eng.txt", "ell_Grek": "ell.txt"},
            "parallel": True,
            "pivot": "eng_Latn",
        }
    },
    "tokenizers": {"utf8_bytes": {"type": "utf8_bytes"}},
    "reports": [],
}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eng.txt").write_text("abcd\nab\n", encoding="utf-8")
    (tmp_path / "ell.txt").write_text("αβγδ\nαβ\n", encoding="utf-8")
    return tokbench.run(CONFIG, jobs=0)


def cost(results: Results, **model: Any) -> dict[str, Any]:
    options = {"currency": "EUR", "models": {"m": {"tokenizer": "utf8_bytes", **model}}}
    files = Cost.model_validate(options).render(results)
    assert files["cost.md"].startswith("# Cost: small-1")
    found: dict[str, Any] = json.loads(files["cost.json"])
    return found


def text(found: dict[str, Any], language: str) -> dict[str, Any]:
    line: dict[str, Any] = next(x for x in found["texts"] if x["language"] == language)
    return line


def test_prices_are_tokens_times_the_users_price(results: Results) -> None:
    found = cost(results, input_per_million=500_000)
    greek = text(found, "ell_Grek")
    assert (greek["tokens"], greek["input_price"], greek["output_price"]) == (12, 6.0, None)
    assert greek["input_price_per_million_characters"] == 1_000_000


def test_attention_grows_with_the_square_of_the_premium(results: Results) -> None:
    greek = text(cost(results), "ell_Grek")
    assert (greek["premium"], greek["attention_ratio"]) == (2, 4)


def test_the_longest_document_is_held_against_the_context(results: Results) -> None:
    greek = text(cost(results, context=5), "ell_Grek")
    assert greek["longest_document_context_used"] == 8 / 5
    assert greek["documents_over_context"] == 1


def test_embedding_and_output_layer_count_twice_unless_tied(results: Results) -> None:
    assert cost(results, width=10)["models"][0]["embedding_and_output_parameters"] == 2 * 2560
    tied = cost(results, width=10, tied_embeddings=True)
    assert tied["models"][0]["embedding_and_output_parameters"] == 2560


def test_there_is_no_price_built_in(results: Results) -> None:
    with pytest.raises(UsageError, match="cost requires options: currency, models"):
        render_reports(["cost"], results)


def test_a_model_of_another_tokenizer_is_refused(results: Results) -> None:
    options = {"currency": "EUR", "models": {"m": {"tokenizer": "gpt2"}}}
    with pytest.raises(UsageError, match="has no tokenizer 'gpt2'; there are: utf8_bytes"):
        Cost.model_validate(options).render(results)


def test_the_command_reads_prices_from_a_file_and_places_mistakes(results: Results) -> None:
    path = Path("costs.yaml")
    path.write_text("currency: EUR\nmodels:\n  m: {tokeniser: x}\n", encoding="utf-8")
    command = ["report", str(results.folder), "--format", "cost", "--options", str(path)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "costs.yaml:3:7: models.m.tokeniser" in done.stderr
    path.write_text("currency: EUR\nmodels: {m: {tokenizer: utf8_bytes}}\n", encoding="utf-8")
    assert CliRunner().invoke(main, command).exit_code == 0
    assert (results.folder / "cost.md").exists()
