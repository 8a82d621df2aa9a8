"""Every key of a config is described, in the schema and on the page, and examples are valid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import PAGES, REPOSITORY, blocks
from tokbench.bench import plugins
from tokbench.bench.commands.listing import config_schema
from tokbench.bench.commands.pages.key_tables import tables
from tokbench.bench.config.schema import load_config
from tokbench.bench.results.report import ReportPlugin

TELLS_APART = {"type", "trainer", "source", "method"}
"""Keys that have one legal value in each shape because they tell the shapes apart."""

KINDS: list[type[plugins.Plugin]] = [
    plugins.TokenizerPlugin,
    plugins.TrainerPlugin,
    plugins.SuitePlugin,
    ReportPlugin,
]


def own(name: str) -> bool:
    """Whether a plug-in of that name, if it is one, is part of tokbench."""
    found = [plugins.find(k, name) for k in KINDS if name in plugins.names(k)]
    return all(model.__module__.startswith("tokbench.") for model in found)


def keys(node: Any, path: str = "") -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the place, the name and the schema of every key below a node of the schema."""
    if isinstance(node, dict):
        for name, below in node.get("properties", {}).items():
            yield f"{path}.{name}", name, below
        for part, below in node.items():
            yield from keys(below, f"{path}.{part}")
    if isinstance(node, list):
        for position, below in enumerate(node):
            yield from keys(below, f"{path}.{position}")


KEYS = [pytest.param(*key, id=key[0]) for key in keys(config_schema()) if own(key[1])]


def test_the_schema_has_the_keys_of_every_level() -> None:
    assert {"corpora", "memory", "max_processes", "vocab_size", "id_offset", "tied_embeddings"} <= {
        key.values[1] for key in KEYS
    }


def test_the_schema_allows_suites_and_reports_as_a_list_and_as_a_map() -> None:
    for key in ("suites", "reports"):
        schema = config_schema()["properties"][key]
        assert "type" not in schema
        assert [shape["type"] for shape in schema["anyOf"]] == ["array", "object"]


@pytest.mark.parametrize(("place", "name", "schema"), KEYS)
def test_no_key_lacks_a_description(place: str, name: str, schema: dict[str, Any]) -> None:
    assert schema.get("description", "").strip(), place


@pytest.mark.parametrize(("place", "name", "schema"), KEYS)
def test_no_key_has_one_legal_value(place: str, name: str, schema: dict[str, Any]) -> None:
    alone = "const" in schema or len(schema.get("enum", "ab")) == 1
    assert name in TELLS_APART or not alone, place


@pytest.mark.parametrize("part", [part for part in tables() if own(part.split(" ")[-1])])
def test_every_table_of_keys_is_on_a_page(part: str) -> None:
    shared = part.replace("spm_bpe", "spm_unigram")
    pages = [path.read_text(encoding="utf-8") for path in PAGES]
    assert any(f"<!-- generated: {p} -->" in page for page in pages for p in (part, shared))


EXAMPLES = [
    pytest.param(block, id=f"{path.name}-{i}")
    for path in PAGES
    if path.name != "budget.md"  # a budget is no config; its own test reads it
    for i, block in enumerate(blocks(path.relative_to(REPOSITORY).as_posix(), "yaml"))
]


REST = {
    "name": "name: example\n",
    "corpora": "corpora: {sentences: {source: builtin, dataset: sentences}}\n",
    "tokenizers": "tokenizers: {utf8_bytes: {type: utf8_bytes}}\n",
}


@pytest.mark.parametrize("block", EXAMPLES)
def test_every_example_is_a_valid_config(block: str, tmp_path: Path) -> None:
    rest = (text for key, text in REST.items() if f"\n{key}:" not in f"\n{block}")
    path = tmp_path / "example.yaml"
    path.write_text(block + "".join(rest), encoding="utf-8")
    assert load_config(path).tokenizers
