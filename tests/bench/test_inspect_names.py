"""`tokbench inspect` and `which` with tokenizers by name, file and repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main
from tokbench.bench.commands import inspect_text
from tokbench.bench.commands.inspect import Inspection, Piece
from tokbench.bench.count.lineage import lineage, written
from tokbench.bench.markup import cell_width
from tokbench.bench.model import Merging

WORDS = ["[UNK]", "the", "##n", "x"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    bpe: dict[str, Any] = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4},
                  "merges": [["a", "b"], ["ab", "c"]]},
    }  # fmt: skip
    (tmp_path / "bpe.json").write_text(json.dumps(bpe), encoding="utf-8")
    return tmp_path


@pytest.fixture
def tokbench(folder: Path) -> Callable[..., Result]:
    return lambda *arguments: CliRunner().invoke(main, list(arguments))


def test_tokenizers_are_named_behind_the_text(tokbench: Callable[..., Result]) -> None:
    done = tokbench("inspect", "then x", "./vocab.txt", "utf8_bytes", "--format", "json")
    assert done.exit_code == 0, done.output
    words, as_bytes = json.loads(done.stdout)
    assert (words["tokenizer"], words["raw"]) == ("vocab", ["the", "##n", "x"])
    assert (as_bytes["tokenizer"], as_bytes["tokens"]) == ("utf8_bytes", 6)


def test_with_a_file_all_arguments_are_tokenizers(
    tokbench: Callable[..., Result], folder: Path
) -> None:
    (folder / "t.txt").write_text("then", encoding="utf-8")
    done = tokbench(
        "inspect", "--file", "t.txt", "vocab.txt", "-t", "utf8_bytes", "--format", "json"
    )
    assert [view["tokens"] for view in json.loads(done.stdout)] == [2, 4]


def test_raw_spelling_stands_beside_text_and_bytes_on_request(
    tokbench: Callable[..., Result],
) -> None:
    done = tokbench("inspect", "then", "vocab.txt", "--pieces")
    assert done.stdout.splitlines()[-2:] == [" 1  the   the  74 68 65", " 2  n     ##n  6e"]
    assert "##n" not in tokbench("inspect", "then", "vocab.txt").stdout


def test_lineage_shows_the_merges_that_made_a_token(tokbench: Callable[..., Result]) -> None:
    done = tokbench("inspect", "abca", "bpe.json", "--lineage")
    assert done.stdout.splitlines()[-4:] == [
        "4 abc:",
        "  a + b (merge 0) → ab c",
        "  ab + c (merge 1) → abc",
        "0 a: an initial symbol",
    ]
    assert "not BPE" in tokbench("inspect", "the", "vocab.txt", "--lineage").stdout


def test_a_lineage_joins_the_lowest_rank_first() -> None:
    ranks = {("b", "c"): 0, ("a", "b"): 1, ("a", "bc"): 2}

    def join(left: str, right: str) -> tuple[int, str] | None:
        rank = ranks.get((left, right))
        return None if rank is None else (rank, left + right)

    steps = lineage(Merging(entries=list, join=join), "abcab")
    assert [written(step) for step in steps] == [
        "b + c (merge 0) → a bc a b",
        "a + b (merge 1) → a bc ab",
        "a + bc (merge 2) → abc ab",
    ]


def test_a_key_of_the_config_comes_first(tokbench: Callable[..., Result], folder: Path) -> None:
    (folder / "c.yaml").write_text(
        "name: x\ncorpora:\n  s: {source: builtin, dataset: sentences, languages: [eng_Latn]}\n"
        "tokenizers: {gpt2: {type: utf8_bytes}}\n",
        encoding="utf-8",
    )
    done = tokbench("inspect", "é", "gpt2", "vocab.txt", "--config", "c.yaml", "--format", "json")
    assert [view["tokens"] for view in json.loads(done.stdout)] == [2, 1]


@pytest.mark.parametrize("command", ["inspect", "which"])
def test_an_unknown_tokenizer_is_answered_with_near_names(
    command: str, tokbench: Callable[..., Result]
) -> None:
    done = tokbench(command, "x", "gpt2x")
    assert done.exit_code == 2
    assert "did you mean 'gpt2'" in done.stderr


@pytest.mark.parametrize("command", ["inspect", "which"])
@pytest.mark.parametrize("text", [" ", "\t", "\n", "a", "\0", "\x1b[31m", "\u202e", "​"])
def test_any_short_text_has_an_answer(
    command: str, text: str, tokbench: Callable[..., Result]
) -> None:
    done = tokbench(command, text, "utf8_bytes", "vocab.txt", "characters")
    assert done.exit_code == 0, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "\x1b" not in done.stdout


def test_white_space_that_costs_no_token_is_named(tokbench: Callable[..., Result]) -> None:
    done = tokbench("which", " ", "utf8_bytes", "vocab.txt")
    assert done.stdout.splitlines()[:2] == [
        "utf8_bytes: 1 token, the fewest, and the text survives the round trip.",
        "vocab is excluded: it produces no tokens for this text.",
    ]


@pytest.mark.parametrize("command", ["inspect", "which"])
def test_a_text_that_is_no_text_is_refused(command: str, tokbench: Callable[..., Result]) -> None:
    for text in ("\udc80", "\ud800"):
        done = tokbench(command, text, "utf8_bytes")
        assert done.exit_code == 2
        assert done.stderr.startswith("error: the text")


def test_an_empty_text_is_a_row_for_inspect_and_refused_by_which(
    tokbench: Callable[..., Result],
) -> None:
    assert "utf8_bytes       0            –  exact" in tokbench("inspect", "", "utf8_bytes").stdout
    done = tokbench("which", "", "utf8_bytes")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: the text is empty\n",
    )


def test_a_million_characters_are_shown_in_part(
    tokbench: Callable[..., Result], folder: Path
) -> None:
    (folder / "long.txt").write_text("ab " * 333_334, encoding="utf-8")
    done = tokbench("inspect", "--file", "long.txt", "characters")
    assert done.exit_code == 0, done.output
    assert "… 998,002 more tokens; --format json has all" in done.stdout
    assert len(done.stdout) < 20_000
    assert tokbench("which", "long.txt", "characters").exit_code == 0


def test_a_long_text_is_counted_whole_and_described_in_part(
    tokbench: Callable[..., Result], folder: Path
) -> None:
    (folder / "long.txt").write_text("é" * 200_000, encoding="utf-8")
    # the limit of the command itself: CPU seconds of a worker at one text
    done = tokbench(
        "which", "long.txt", "characters", "utf8_bytes", "--set", "limits.seconds=30", "--json"
    )
    assert done.exit_code == 0, done.output
    found = {one["tokenizer"]: one for one in json.loads(done.stdout)["tokenizers"]}
    assert [found[key]["tokens"] for key in ("characters", "utf8_bytes")] == [200_000, 400_000]
    assert [len(one["pieces"]) for one in found.values()] == [2_000, 2_000]
    assert found["utf8_bytes"]["pieces_left_out"] == 398_000
    assert "… 199,960 more" in tokbench("which", "long.txt", "characters").stdout
    for shape in ("text", "markdown", "html"):
        done = tokbench("inspect", "--file", "long.txt", "characters", "--format", shape)
        assert "… 198,000 more tokens; --format json has all" in done.stdout
        assert len(done.stdout) < 400_000
    done = tokbench("inspect", "--file", "long.txt", "characters", "--format", "json")
    assert len(json.loads(done.stdout)[0]["pieces"]) == 200_000


def view(*texts: str) -> Inspection:
    pieces = tuple(Piece(id=i, content=t.encode()) for i, t in enumerate(texts))
    return Inspection(
        tokenizer="t" * 70, tokens=len(pieces), pieces=pieces, n_bytes=9, round_trip="exact"
    )


@pytest.mark.parametrize("width", [60, 80, 140])
def test_lines_fit_the_terminal(width: int) -> None:
    found = inspect_text.lines([view(*["東京", "word", " "] * 40)], width=width, pieces=True)
    shown = ["".join(text for text, _ in line) for line in found]
    assert max(map(cell_width, shown)) <= max(width, 70)
    assert sum(" | " in line for line in shown) >= 3


def test_the_page_runs_nothing_and_shows_hostile_tokens_as_text() -> None:
    text = inspect_text.page(
        [view("<script>alert(1)</script>", "</span>", '" onclick="x', "\x1b[31m")]
    )
    assert "<script" not in text
    assert "</span></span>" not in text
    assert '" onclick' not in text
    assert "\x1b" not in text
    assert "default-src 'none'" in text


def terminal_output(folder: Path, **variables: str) -> str:
    pty = pytest.importorskip("pty", reason="needs a pseudo terminal")
    parent, child = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    command = [sys.executable, "-m", "tokbench", "inspect", "then x", "vocab.txt"]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=child,
        stderr=subprocess.DEVNULL,
        env={**environment, **variables},
    ) as process:
        os.close(child)
        data = b""
        try:
            while chunk := os.read(parent, 65536):
                data += chunk
        except OSError:  # the other end is closed
            pass
        process.wait(120)
    os.close(parent)
    return data.decode()


def test_colours_are_for_terminals_that_show_them(folder: Path) -> None:
    coloured = terminal_output(folder, TERM="xterm", NO_COLOR="")
    assert "\x1b[30;44mthe\x1b[0m | \x1b[30;45mn\x1b[0m" in coloured
    assert "\x1b" not in terminal_output(folder, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in terminal_output(folder, TERM="dumb")


def test_where_no_tokenizer_can_be_loaded_there_is_no_table() -> None:
    done = CliRunner().invoke(main, ["inspect", "hi", "owner/name", "--offline"])
    assert (done.exit_code, done.stdout) == (3, "")
    assert "owner/name cannot be reached" in done.stderr
