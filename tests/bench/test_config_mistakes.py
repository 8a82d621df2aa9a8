"""Mistakes of a first config are answered in its own words, each with its line and a mark."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError

GOOD = """\
name: mine
corpora:
  news:
    source: files
    languages: [en, sw]
    path: "news.{language}.txt"
tokenizers:
  a: {type: tiktoken, encoding: gpt2}
"""


def told(text: str | bytes, tmp_path: Path) -> ConfigError:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return caught.value


ANSWERS = [
    (("languages", "langs"), "corpora.news.langs: unknown key; did you mean 'languages'?"),
    (("name: mine", "name: mine\nsuits: []"), "suits: unknown key; did you mean 'suites'?"),
    (("encoding: gpt2", "name: o200k_base"), "a.name: unknown key; did you mean 'encoding'?"),
    (("[en, sw]", "en"), "corpora.news.languages: write a list: [en]"),
    (("path:", "limit: 100\n    path:"), "limit: must be a mapping, not 100; write {rows: 100}"),
    (("path:", "join: ' '\n    path:"), 'join: must be a mapping, not " "; write {rows: " "}'),
    (("name: mine", "name: mine\nresamples: many"), 'must be a whole number, not "many"'),
    (("[en, sw]", "[en, swahili]"), "'swahili' is not a language code; did you mean 'sw'?"),
    (("[en, sw]", "[en, xx_Yyyy]"), "languages.xx_Yyyy: 'xx_Yyyy' is not a language code"),
    (("type: tiktoken", "type: hf"), "unknown name 'hf'; did you mean 'huggingface'?"),
    (
        ("type: tiktoken", "type: bpe"),
        "did you mean 'byte_bpe' or 'event_bpe' or 'sentencepiece_bpe'?",
    ),
    (("type: tiktoken", "type: AutoTokenizer"), "did you mean 'transformers'?"),
    (("gpt2", "gpt-4o"), "'gpt-4o' is a model; its encoding is o200k_base"),
    (
        ("{type: tiktoken, encoding: gpt2}", "gpt2x"),
        "unknown tokenizer 'gpt2x'; did you mean 'gpt2'",
    ),
    (("name: mine", "name: mine\nsuites: [speed]"), "did you mean 'throughput'?"),
    (("name: mine", "name: mine\nsuites: [fertility]"), "a metric of the suite 'efficiency'"),
    (("corpora:", "datasets:"), "datasets: unknown key; did you mean 'corpora'?"),
    (("source: files", "type: files"), "write `source: files` in place of `type`"),
    (("name: mine", "name: mine\nlimits: {memory: lots}"), "such as 4 GB or 512 MiB, not"),
    (("name: mine", "name: mine\ngate: base.json"), "write {baseline: base.json}"),
    (("name: mine", "name: mine\nreports: cost"), "reports: write a list: [cost]"),
    (("languages: [en", "language: [en"), "must be one language; write `languages: [en, sw]`"),
    (("path:", "limit: '100'\n    path:"), "write {rows: 100}"),
    (("{language}", "{lang}"), "path: unknown placeholder {lang}; write {language}"),
    (("path:", "file:"), "corpora.news.file: unknown key; did you mean 'path'?"),
    (("path:", "split: x\n    path:"), "it belongs to `source: huggingface`"),
    (("name: mine", "name: mine\nfocus: [en]"), "focus: must be a mapping, not ["),
    (("name: mine", "name: mine\nlimits: {memory: 4}"), "must be at least 100,000,000, not 4"),
    (("encoding: gpt2", "encoding: gpt4"), "'gpt4' is a model; its encoding is cl100k_base"),
    (("\n  a: {type: tiktoken, encoding: gpt2}", " gpt2"), "write a list: [gpt2]"),
    (("  a: {", "  A: utf8_bytes\n  a: {"), "tokenizers.a: differs from 'A' in case only"),
    (("  a: {", "  nul.v1: {"), "'nul.v1' is not a file name on Windows"),
    (("  news:", "  news.:"), "'news.' is not a file name on Windows"),
    (("path:", "kind: source\n    path:"), "unknown value 'source'; use natural or code"),
]


@pytest.mark.parametrize(("change", "answer"), ANSWERS, ids=[answer for _, answer in ANSWERS])
def test_a_mistake_is_answered_with_what_to_write(
    change: tuple[str, str], answer: str, tmp_path: Path
) -> None:
    [line] = str(told(GOOD.replace(*change), tmp_path)).split("\n")
    assert answer in line


def test_a_misspelt_path_of_a_tokenizer_is_answered_with_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").touch()
    text = GOOD.replace("\n  a: {type: tiktoken, encoding: gpt2}", " [./tokenizr.json]")
    assert "the file does not exist; did you mean './tokenizer.json'?" in str(told(text, tmp_path))


def test_a_pivot_by_its_name_is_answered_with_the_key_of_that_language(tmp_path: Path) -> None:
    text = GOOD.replace("[en, sw]", "[eng_Latn, sw]").replace(
        "path:", "parallel: true\n    pivot: english\n    path:"
    )
    assert "corpora.news.pivot" in str(told(text, tmp_path))
    assert "did you mean 'eng_Latn'?" in str(told(text, tmp_path))


def test_a_placeholder_without_quotes_in_braces_is_answered_with_quotes(tmp_path: Path) -> None:
    text = "corpora: {news: {source: files, language: en, path: news.{language}.txt}}\n"
    assert 'write it in quotes: "news.{language}.txt"' in str(told(text, tmp_path))


def test_all_mistakes_are_told_in_the_order_of_the_file_with_their_lines(tmp_path: Path) -> None:
    text = "resamples: many\n" + GOOD.replace("[en, sw]", "[en, swahili]").replace("gpt2", "gpt9")
    error = told(text, tmp_path)
    assert [line.split(":")[1] for line in str(error).split("\n")] == ["1", "6", "9"]
    assert "6 |     languages: [en, swahili]\n  |                     ^^^^^^^\n" in error.shown
    assert error.shown.endswith("3 mistakes in " + str(tmp_path / "c.yaml"))


def test_no_message_speaks_of_the_library_that_validates(tmp_path: Path) -> None:
    for change, _ in ANSWERS:
        message = str(told(GOOD.replace(*change), tmp_path))
        assert "Input should be" not in message
        assert "valid dictionary" not in message


def test_a_character_may_be_written_in_two_halves_as_json_does(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    config = {"name": "mine", "description": "\N{GRINNING FACE}"} | SMALL
    path.write_text(json.dumps(config), encoding="utf-8")
    read = load_config(path)
    assert read.run.description == "\N{GRINNING FACE}"
    assert len(read.sha256()) == 64


@pytest.mark.parametrize("half", ["\\ud800", "\\ude00\\ud83d", "a\\ud83d"])
def test_half_a_character_is_located(tmp_path: Path, half: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f'name: mine\ndescription: "{half}"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c.yaml:2:14: holds half a character"):
        load_config(path)
    with pytest.raises(ConfigError, match="holds half a character"):
        load_config({"name": "mine", "description": "\ud800"} | SMALL)


def test_a_mistake_is_one_line_whatever_its_key(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text('name: mine\n"a\\n::error::b": 1\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert any("a\\u{A}::error::b: unknown key" in line for line in str(caught.value).splitlines())


SMALL: dict[str, Any] = {
    "corpora": {"s": {"source": "builtin", "dataset": "sentences"}},
    "tokenizers": {"b": {"type": "utf8_bytes"}},
}


def test_standard_tags_of_yaml_are_honoured(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(GOOD.replace("mine", "!!str 123") + 'seed: !!int "5"\n', encoding="utf-8")
    run = load_config(path).run
    assert (run.name, run.seed) == ("123", 5)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a: " + "[" * 100_000, "nests more than 50 levels deep"),
        ("- " * 100_000 + "x", "nests more than 50 levels deep"),
        ("".join(" " * n + "a:\n" for n in range(400)), "nests more than 50 levels deep"),
        ("# " + "x" * 600_000, "is larger than 500,000 bytes"),
        (b"name: \xff\xfe", "is not UTF-8"),
    ],
)
def test_a_config_that_is_too_deep_or_too_large_is_refused_at_once(
    text: str | bytes, answer: str, tmp_path: Path
) -> None:
    begun = time.process_time()
    assert answer in str(told(text, tmp_path))
    assert time.process_time() - begun < 5


def test_what_is_not_a_file_is_not_read(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no FIFO")
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(ConfigError, match=f"cannot be read: it is {kind}"):
            load_config(path)
