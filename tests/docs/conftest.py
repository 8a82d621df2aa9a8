"""A small finished run, for pages that read one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokbench.bench.config.schema import load_config
from tokbench.bench.run.runner import run

CONFIG = """
name: quick
corpora:
  sentences: {source: builtin, dataset: sentences, languages: [eng_Latn, fra_Latn, tha_Thai], parallel: true, pivot: eng_Latn}
tokenizers:
  utf8_bytes: {type: utf8_bytes}
  characters: {type: characters}
suites: {efficiency: {}, multilingual: {}, information: {}, fidelity: {}, throughput: {rounds: 3, warm_ups: 1}}
"""


@pytest.fixture(scope="session")
def folder_with_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that holds `runs/quick-1`: two tokenizers on three languages."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "quick.yaml").write_text(CONFIG, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKBENCH_CACHE", str(folder / "cache"))
        config = load_config(folder / "quick.yaml")
        run(config, output=folder / "runs")
    return folder
