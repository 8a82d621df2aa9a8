"""A run as a data set repository: equal values, a valid card, and no text unless it is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard, DatasetCardData

from command_line import tokbench
from tokbench.bench.commands.sharing.hub import tables
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome

SECRET = "unmistakable"
"""A word of the corpus that must not leave with an export of numbers."""


@pytest.fixture(scope="module")
def run(measure: Callable[..., RunOutcome]) -> Results:
    """A run with stored texts, kept ids and a text that a tokenizer loses."""
    texts = {
        "en.jsonl": ["the cat", f"the {SECRET} CAT"],
        "x.jsonl": ["das Ende", f"{SECRET} É"],
    }
    languages = {"en": {"file": "en.jsonl"}, "</b>: - x": {"file": "x.jsonl", "tag": "fr"}}
    corpus = {"source": "files", "path": "{file}", "languages": languages, "id": "id"}
    config = {
        "name": "hostile",
        "description": "--- # |x|\n<script>",
        "corpora": {"c": corpus},
        "tokenizers": {
            "toy": {"type": "toy_pieces", "pieces": ["the", "cat"], "lowercase": True},
            "bytes": {"type": "utf8_bytes"},
            "quotes": {"type": "toy_faulty", "word": SECRET, "how": "quote"},
        },
        "suites": {"efficiency": {}, "fidelity": {}},
        "keep_ids": True,
        "texts": 2,
        "reports": [],
        "resamples": 200,
    }
    return measure(config, texts).results


def export(run: Results, folder: Path, *more: object) -> Path:
    done = tokbench("export", "hub", run.folder, "--output", folder, *more)
    assert done.exit_code == 0, done.output
    return folder


def test_no_text_leaves_unless_it_is_wanted(run: Results, tmp_path: Path) -> None:
    folder = export(run, tmp_path / "numbers")
    cells = [
        str(cell)
        for path in folder.rglob("*.parquet")
        if "vocabulary" not in path.parts
        for column in pq.read_table(path).columns
        for cell in column.to_pylist()
    ]
    assert not [cell for cell in cells if SECRET in cell or "Ende" in cell]
    assert SECRET in (run.folder / "run.json").read_text()  # the library that failed quoted it
    config = json.dumps(run.run["config"]["tokenizers"]["quotes"]["word"])
    text = (folder / "provenance.json").read_text() + (folder / "README.md").read_text()
    assert SECRET not in text.replace(f'"word": {config}', "")
    assert not (folder / "data" / "segments").exists()
    whole = export(run, tmp_path / "texts", "--texts")
    assert SECRET in str(pq.read_table(whole / "data" / "segments" / "c.parquet").to_pylist())


def test_text_of_an_earlier_export_does_not_stay_unseen(run: Results, tmp_path: Path) -> None:
    folder = export(run, tmp_path / "x", "--texts")
    done = tokbench("export", "hub", run.folder, "--output", folder)
    assert done.exit_code == 2
    assert "holds text of an earlier export; remove it, or export with --texts" in done.output


def test_a_card_of_somebody_else_is_not_overwritten(run: Results, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    done = tokbench("export", "hub", run.folder, "--output", tmp_path)
    assert done.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_the_card_says_licence_languages_configs_provenance_and_citation(
    run: Results, tmp_path: Path
) -> None:
    cited = tmp_path / "me.bib"
    cited.write_text("@misc{me}\n```\n# not a heading\n")
    folder = export(run, tmp_path / "x", "--license", "cc-by-4.0", "--citation", cited)
    card = DatasetCard.load(folder / "README.md")
    assert isinstance(card.data, DatasetCardData)
    assert (card.data.license, card.data.language) == ("cc-by-4.0", ["en", "fr"])
    assert card.data.size_categories == ["n<1K"]
    configs = {one["config_name"]: one for one in card.data.to_dict()["configs"]}
    assert list(configs) == ["measurements", "findings", "documents", "vocabulary"]
    assert [name for name, one in configs.items() if one.get("default")] == ["measurements"]
    assert run.run["digest"] in card.text
    assert run.run["tokenizers"]["toy"]["fingerprint"] in card.text
    assert "@misc{me}" in card.text
    assert "<script>" not in card.text
    assert "\n````bibtex\n@misc{me}" in card.text  # a longer fence: what is cited cannot end it


@pytest.mark.parametrize("wrong", ["CC BY", "", "a: b", "../x"])
def test_a_licence_that_the_hub_cannot_know_is_wrong_usage(
    run: Results, tmp_path: Path, wrong: str
) -> None:
    done = tokbench("export", "hub", run.folder, "--output", tmp_path / "x", "--license", wrong)
    assert done.exit_code == 2
    assert "write an identifier of the Hub" in done.output
    assert not (tmp_path / "x").exists()


@pytest.mark.long
def test_datasets_opens_every_config_with_equal_values(run: Results, tmp_path: Path) -> None:
    from datasets import get_dataset_config_names, load_dataset

    folder = export(run, tmp_path / "x", "--texts")
    wanted: dict[str, list[pa.Table]] = {}
    for one in tables(run, texts=True):
        wanted.setdefault(one.config, []).append(one.table)
    assert set(get_dataset_config_names(str(folder))) == set(wanted)
    for name, parts in wanted.items():
        found: Any = load_dataset(str(folder), name, split="train", cache_dir=str(tmp_path / "c"))
        assert json.dumps(found.to_list(), default=bytes.hex) == json.dumps(
            pa.concat_tables(parts).to_pylist(), default=bytes.hex
        )
