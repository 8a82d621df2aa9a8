"""What is generated is fresh, links lead somewhere, the pages name every metric and command."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pages import PAGES, REPOSITORY
from tokbench.bench.config.schema import load_config

CONFIGS = sorted((REPOSITORY / "configs").glob("*.yaml"))


def script(name: str) -> ModuleType:
    """Return a module of the folder `docs`."""
    spec = importlib.util.spec_from_file_location(name, REPOSITORY / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def refresh() -> ModuleType:
    """Return the module that writes the generated parts."""
    return script("refresh")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal requires POSIX")
def test_the_picture_of_a_terminal_shows_what_the_command_prints() -> None:
    picture = script("picture")
    rows = re.findall(r"<text[^>]*clip-path[^>]*>(.*?)</text>", picture.PICTURE.read_text("utf-8"))
    shown = re.sub(r"\s", "", html.unescape("".join(rows)))
    printed = re.sub(r"\x1b\[[\d;]*m|\s", "", picture.in_terminal())
    assert re.sub(r"\s", "", f"${picture.SHOWN}") + printed == shown, "run `make picture`"


def test_generated_parts_of_pages_are_fresh(refresh: ModuleType) -> None:
    for path, text in refresh.pages().items():
        if path.suffix != ".json":
            assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_the_schemas_are_fresh(refresh: ModuleType) -> None:
    schemas = {path: text for path, text in refresh.pages().items() if path.suffix == ".json"}
    assert len(schemas) == 3
    for path, text in schemas.items():
        stored = path.read_text(encoding="utf-8")
        if f"pydantic {refresh.pydantic_minor()}." not in json.loads(stored)["$comment"]:
            pytest.skip(
                "the schema was made with another version of pydantic, which words it otherwise"
            )
        assert stored == text, "run `make docs`"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.stem))
def test_ready_configs_are_valid_and_name_the_schema(path: Path) -> None:
    config = load_config(path)
    assert config.run.name == path.stem
    assert config.run.description
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=schema/tokbench.schema.json"


def test_examples_in_comments_of_ready_configs_are_valid(tmp_path: Path) -> None:
    entries = {path.stem: _commented_corpus(path) for path in CONFIGS}
    found = {name: entry for name, entry in entries.items() if entry}
    assert set(found) >= {"multilingual", "code"}
    for name, entry in found.items():
        example = tmp_path / f"{name}.yaml"
        example.write_text(
            f"name: x\ncorpora:\n{entry}tokenizers:\n  b: {{type: utf8_bytes}}\n", encoding="utf-8"
        )
        load_config(example)


def _commented_corpus(path: Path) -> str:
    """Return the lines of a config's comments that are indented like a corpus entry."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "".join(f"{line[2:]}\n" for line in lines if line.startswith("#   "))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_links_within_the_repository_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
