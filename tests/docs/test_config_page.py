"""docs/config.md names every key with its default, and its examples are valid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pages import PAGES, REPOSITORY, blocks, names_in, sections, table
from tokbench.bench import plugins
from tokbench.bench.config.corpora import Corpus, LanguageOptions, corpus_models
from tokbench.bench.config.gate import Gate, Rule, SpeedLimits
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.schema import RunConfig, TrainEntry, load_config

PAGE = "docs/config.md"


def shown(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, str) and default:
        return default
    if isinstance(default, BaseModel):
        return "see below"
    return json.dumps(dict(default) if isinstance(default, dict) else default, ensure_ascii=False)


def options(*models: type[BaseModel], without: Sequence[str] = ()) -> dict[str, str]:
    return {
        name: shown(field)
        for model in models
        for name, field in model.model_fields.items()
        if name not in without
    }


def described(text: str) -> dict[str, str]:
    return {row[0]: row[1] for row in table(text)}


KINDS: dict[str, type[plugins.Plugin]] = {
    "Type": plugins.TokenizerPlugin,
    "Trainer": plugins.TrainerPlugin,
    "Suite": plugins.SuitePlugin,
}


def section_of(kind: str, name: str) -> tuple[str, list[str]]:
    """Return the section that describes something, on whatever page, and the names it shares."""
    for path in PAGES:
        for heading, text in sections(path.relative_to(REPOSITORY).as_posix()).items():
            if heading.startswith(kind) and name in names_in(heading):
                return text, names_in(heading)
    raise AssertionError(f"no page has a heading {kind} `{name}` with a table of its options")


def test_limits_are_described() -> None:
    page = {k: v.replace(".0", "") for k, v in options(Limits).items()}
    assert described(sections(PAGE)["Limits"]) == page


def test_the_gate_and_its_rules_are_described() -> None:
    first, _, second = sections(PAGE)["Gate"].partition("A rule has selectors")
    assert described(first) == {name: v.replace("()", "[]") for name, v in options(Gate).items()}
    assert described(second) == options(Rule)


def test_limits_of_speed_are_described() -> None:
    assert described(sections(PAGE)["Gate: speed"]) == options(SpeedLimits)


def test_top_level_keys_are_described() -> None:
    assert described(sections(PAGE)["Top level"]) == options(RunConfig)


def test_keys_of_every_corpus_are_described() -> None:
    assert described(sections(PAGE)["Every corpus"]) == options(Corpus)


def test_keys_of_a_language_are_described() -> None:
    second = sections(PAGE)["Every corpus"].partition("A language in a map may have these keys:")[2]
    assert described(second) == options(LanguageOptions)


@pytest.mark.parametrize("model", corpus_models())
def test_keys_of_a_source_are_described(model: type[Corpus]) -> None:
    own = options(model, without=["source", *Corpus.model_fields])
    [name] = get_args(model.model_fields["source"].annotation)
    text, _ = section_of("Source", name)
    assert described(text) == own


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in plugins.names(KINDS[kind])]
)
def test_options_of_a_plug_in_are_described(kind: str, name: str) -> None:
    text, shared = section_of(kind, name)
    models: list[Any] = [plugins.find(KINDS[kind], one) for one in shared]
    assert described(text) == options(*models)


def test_keys_of_a_train_block_are_described() -> None:
    assert described(sections(PAGE)["Train blocks"]) == options(TrainEntry, without=["options"])


EXAMPLES = [
    pytest.param(block, id=f"{path.name}-{i}")
    for path in PAGES
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
