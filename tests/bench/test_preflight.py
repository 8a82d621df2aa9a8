"""Files that a config names are looked for before a run, and a run without any is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main

CONFIG = """\
name: mine
corpora:
  news: {source: files, languages: [en, sw], path: "nws.{language}.txt"}
  part: {source: files, languages: {en: part.en.txt, fr: part.fr.txt}}
tokenizers:
  json: {type: huggingface, file: tokeniser.json}
  model: {type: sentencepiece, file: tokenizer.json}
  page: {type: tiktoken, file: page.tiktoken, pattern: x}
  bytes: {type: utf8_bytes}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with some of the files, and the config."""
    monkeypatch.chdir(tmp_path)
    for name in ("news.en.txt", "part.en.txt"):
        (tmp_path / name).write_text("one line\n", encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}', encoding="utf-8")
    (tmp_path / "page.tiktoken").write_text("<!DOCTYPE html><html>", encoding="utf-8")
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    return tmp_path


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def test_validate_names_every_file_that_is_missing_or_something_else(folder: Path) -> None:
    done = invoke("validate", "c.yaml", "--offline")
    assert done.exit_code == 3
    for told in (
        "c.yaml:3:52: corpora.news.path: file 'nws.en.txt' does not exist; did you mean "
        "'news.en.txt'?",
        "corpora.part.languages.fr: file 'part.fr.txt' does not exist",
        "tokenizers.json.file: file 'tokeniser.json' does not exist; did you mean 'tokenizer.json'?",
        "tokenizers.model.file: 'tokenizer.json' is JSON; use `type: huggingface`",
        "tokenizers.page.file: 'page.tiktoken' is an HTML page",
    ):
        assert told in done.output
    assert "fine" not in done.output


def test_validate_finds_text_that_is_empty_or_not_utf8_in_its_first_bytes(folder: Path) -> None:
    corpus = "name: a\ncorpora: {n: {source: files, language: en, path: a.txt%s}}\n"
    tokenizers = "tokenizers: [utf8_bytes]\n"

    def answer(content: bytes, limit: str = "") -> str:
        (folder / "a.txt").write_bytes(content)
        (folder / "c.yaml").write_text(corpus % limit + tokenizers, encoding="utf-8")
        return invoke("validate", "c.yaml", "--offline").output

    assert "a.txt, line 2 is not UTF-8: byte 0xe9 at byte 7" in answer(b"one\ncaf\xe9\n")
    assert answer(b"one\ncaf\xe9\n", ", limit: {rows: 1}").endswith(": fine\n")
    assert "a.txt is empty" in answer(b"")
    cut = b"a" * 4095 + "é".encode()  # the first 4,096 bytes end in half a character
    assert answer(cut).endswith(": fine\n")


def test_validate_ends_with_2_for_a_mistake_and_with_0_where_all_is_there(folder: Path) -> None:
    good = "name: a\ncorpora: {n: {source: files, language: en, path: news.en.txt}}\n"
    good += "tokenizers: {b: {type: utf8_bytes}}\n"
    (folder / "good.yaml").write_text(good, encoding="utf-8")
    assert invoke("validate", "good.yaml", "--offline").exit_code == 0
    (folder / "bad.yaml").write_text(good + "sede: 1\n", encoding="utf-8")
    assert invoke("validate", "bad.yaml", "--offline").exit_code == 2


def test_plan_shows_the_plan_and_names_what_is_missing(folder: Path) -> None:
    done = invoke("plan", "c.yaml")
    assert done.exit_code == 3
    assert "file 'nws.en.txt' does not exist" in done.output


def test_a_run_that_could_measure_nothing_makes_no_folder(folder: Path) -> None:
    for lost in ("corpora.part={source: files, language: en, path: none.txt}",):
        done = invoke("run", "c.yaml", "--output", "runs", "--set", lost)
        assert done.exit_code == 3
        assert "nothing to measure: no corpus can be read" in done.output
        assert not (folder / "runs").exists()


def test_few_rounds_and_documents_are_remarked_on(folder: Path) -> None:
    text = (
        "name: a\ncorpora: "
        "{n: {source: files, language: en, path: news.en.txt, limit: {rows: 9}}}\n"
    )
    text += "tokenizers: [utf8_bytes]\nsuites: {throughput: {processes: 2, rounds: 3}}\n"
    (folder / "few.yaml").write_text(text, encoding="utf-8")
    done = invoke("validate", "few.yaml", "--offline")
    assert done.exit_code == 0
    assert "corpora.n.limit.rows: 9 documents are few" in done.output
    assert "3 rounds in 2 processes are too few for an interval; set rounds to 6" in done.output


def test_offline_is_not_too_late_where_the_libraries_were_imported_offline() -> None:
    code = (
        "import huggingface_hub.constants\n"
        "from tokbench.bench.workers.hub_access import set_up_hub\n"
        "set_up_hub(offline=True)\n"
    )
    command = [sys.executable, "-c", code]
    for value, expected in (("1", 0), ("0", 1)):
        environment = {**os.environ, "HF_HUB_OFFLINE": value}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, "comes too late" in done.stderr) == (expected, bool(expected))
