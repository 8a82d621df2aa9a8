"""A list of words with frequencies trains like the text that it counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokbench.bench.cli import main

ROWS = [("lower", 5), ("lowest", 2), ("newest", 6)]
PRINTED = ["13 w + e", "8 we + s", "8 wes + t", "7 l + o", "6 n + e", "6 ne + west"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    lines = [f"{word},{n}" for word, n in ROWS]
    (tmp_path / "words.csv").write_text("\n".join(["word,n", *lines]), encoding="utf-8")
    objects = [json.dumps({"word": word, "n": n}) for word, n in ROWS]
    (tmp_path / "words.jsonl").write_text("\n".join(objects), encoding="utf-8")
    text = "\n".join(word for word, n in ROWS for _ in range(n))
    (tmp_path / "words.txt").write_text(text, encoding="utf-8")
    return tmp_path


def config(folder: Path, file: str, train: str, more: str = "text: word, weight: n") -> None:
    (folder / "c.yaml").write_text(
        f"name: c\ncorpora: {{w: {{source: files, language: en, path: {file}, {more}}}}}\n"
        f"tokenizers: {{it: {{train: {{corpus: w, {train}}}}}}}\nsuites: [efficiency]\n",
        encoding="utf-8",
    )


BYTES = "trainer: byte_bpe, vocab_size: 262, pre_tokenization: none, ties: first_seen"


@pytest.mark.parametrize("file", ["words.csv", "words.jsonl"])
def test_the_textbook_example_comes_out_of_a_file_with_weights(folder: Path, file: str) -> None:
    config(folder, file, BYTES)
    done = CliRunner().invoke(main, ["train", "c.yaml", "--trace"])
    assert done.exit_code == 0, done.output
    merges = [" ".join(line.split()[1:5]) for line in done.stdout.splitlines()[1:7]]
    assert merges == PRINTED
    assert "13 documents, 73 bytes" in done.stdout


@pytest.mark.parametrize(
    "train",
    [
        BYTES,
        "trainer: wordpiece, vocab_size: 20, min_frequency: 1",
        "trainer: sentencepiece_bpe, vocab_size: 280",
        "trainer: unigram, vocab_size: 275",
        "trainer: tokenizers_bpe, vocab_size: 262",
        "trainer: words, vocab_size: 3",
    ],
)
def test_every_trainer_learns_what_the_written_out_text_gives(folder: Path, train: str) -> None:
    models = []
    for file, more in (("words.csv", "text: word, weight: n"), ("words.txt", "unit: line")):
        config(folder, file, train, more)
        done = CliRunner().invoke(main, ["train", "c.yaml", "--json"])
        assert done.exit_code == 0, done.output
        [one] = json.loads(done.stdout)
        models.append((one["files"], one["documents"], one["bytes"]))
    assert models[0] == models[1]


def test_other_weights_are_another_model(folder: Path) -> None:
    config(folder, "words.csv", BYTES)
    assert CliRunner().invoke(main, ["train", "c.yaml"]).exit_code == 0
    (folder / "words.csv").write_text("word,n\nlower,1\nlowest,1\nnewest,1\n", encoding="utf-8")
    assert "trained now" in CliRunner().invoke(main, ["train", "c.yaml"]).stdout


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", ""])
def test_a_weight_that_is_no_whole_number_is_refused(folder: Path, value: str) -> None:
    (folder / "words.csv").write_text(f"word,n\nlower,{value}\n", encoding="utf-8")
    config(folder, "words.csv", BYTES)
    done = CliRunner().invoke(main, ["train", "c.yaml"])
    assert done.exit_code == 3
    assert "row 0 (line 2), column 'n' holds" in done.stderr
    assert "weights are whole numbers from 1 on" in done.stderr


def test_measuring_counts_each_row_once(folder: Path) -> None:
    config(folder, "words.csv", BYTES)
    assert CliRunner().invoke(main, ["run", "c.yaml"]).exit_code == 0
    run = json.loads((folder / "runs/c-1/run.json").read_text(encoding="utf-8"))
    assert run["corpora"]["w"]["en"]["documents"] == 3
