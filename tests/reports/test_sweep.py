"""The sweep report: what a larger vocabulary buys and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tokbench
from pages import sections, table
from tokbench.bench.commands.match import bytes_per_token
from tokbench.bench.commands.train import training_text
from tokbench.bench.config.bundled import config_path
from tokbench.bench.config.schema import TrainEntry, load_config
from tokbench.bench.errors import UsageError
from tokbench.bench.plugins import NestedTrainer
from tokbench.bench.results.costs import embedding_parameters
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.trained_models import obtain, trainer_of
from tokbench.reports.sweep import Sweep, millions, saved_by_doubling

CONFIG = """
name: small
corpora:
  text: {source: files, language: en, path: text.txt}
tokenizers:
  utf8_bytes: {type: utf8_bytes}
  mine: {train: {trainer: byte_bpe, corpus: text, vocab_size: [258, 256, 300]}}
reports: []
suites: [efficiency]
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "text.txt").write_text("abcd\nabcd\n", encoding="utf-8")
    return tokbench.run("small.yaml", jobs=0)


def sweep(results: Results, **options: Any) -> Any:
    return json.loads(Sweep.model_validate(options).render(results)["sweep.json"])


def test_points_go_from_the_smallest_size_to_the_largest(results: Results) -> None:
    [curve] = sweep(results)
    assert (curve["sweep"], curve["corpus"]) == ("mine", "text")
    assert [(p["tokenizer"], p["ids"], p["tokens"]) for p in curve["points"]] == [
        ("mine-256", 256, 8),
        ("mine-258", 258, 4),
        ("mine-300", 259, 2),
    ]
    assert [p["bytes_per_token"] for p in curve["points"]] == [1, 2, 4]


def test_parameters_are_ids_times_width_and_twice_that_with_an_output_layer(
    results: Results,
) -> None:
    point = sweep(results, widths=[10])[0]["points"][0]
    assert point["parameters"] == [{"width": 10, "embedding": 2560, "embedding_and_output": 5120}]


def test_published_sizes_have_the_parameters_they_are_quoted_with() -> None:
    large, small = (embedding_parameters(n, 4096, tied=True) for n in (128_000, 32_000))
    assert large == 524_288_000
    assert small == 131_072_000
    assert millions(524_288_000) == "524 million"


def test_a_doubling_saves_a_share_of_the_tokens() -> None:
    assert saved_by_doubling((512, 100), (1024, 80)) == pytest.approx(0.2)
    assert saved_by_doubling((512, 100), (2048, 64)) == pytest.approx(0.2)  # twice 20 %
    assert saved_by_doubling((512, 100), (512, 100)) is None


def test_the_page_says_what_flatters_and_what_to_compare_with(results: Results) -> None:
    page = Sweep().render(results)["sweep.md"]
    assert "| mine-258 ‡ | 258 | 4 | 2.00 |" in page
    assert "Trained on this very text" in page
    assert "utf8&#95;bytes 1.00 with 256 ids" in page or "utf8_bytes 1.00 with 256 ids" in page


def test_a_run_without_a_sweep_has_no_such_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(CONFIG.replace("[258, 256, 300]", "258"), encoding="utf-8")
    (tmp_path / "text.txt").write_text("abcd\n", encoding="utf-8")
    results = tokbench.run("small.yaml", jobs=0)
    with pytest.raises(UsageError, match="small-1 has no sweep"):
        Sweep().render(results)


def test_the_curve_in_the_docs_is_that_of_the_ready_config() -> None:
    config = load_config(config_path("vocabulary_sweep"))
    [*_, key] = [key for key, entry in config.tokenizers.items() if isinstance(entry, TrainEntry)]
    entry = config.tokenizers[key]
    assert isinstance(entry, TrainEntry)
    trainer, text = trainer_of(entry), training_text(config, entry)
    assert isinstance(trainer, NestedTrainer)
    folder = obtain(key, entry, text).source.folder
    rows = table(sections("docs/training.md")["Sweeps"])
    assert [row[1] for row in rows] == ["512", "1,024", "2,048", "4,096", "5,183"]
    for row in rows:
        size = int(row[1].replace(",", ""))
        shown = f"{bytes_per_token(trainer.beginning(folder, size), key, text):.2f}"
        assert row[3] == shown
