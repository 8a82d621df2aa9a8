"""`tokbench init` writes a config that `validate` calls fine, from files and flags, and asks nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.commands.fresh.init import draft
from tokbench.bench.errors import UsageError

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for language, lines in (("en", "one\ntwo\n"), ("no", "en\nto\n")):
        (tmp_path / f"news.{language}.txt").write_text(lines, encoding="utf-8")
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "sw.jsonl").write_text('{"id": 1, "text": "moja"}\n', encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("[UNK]\none\ntwo\n##s\n", encoding="utf-8")
    (tmp_path / "mine.tiktoken").write_text("no ranks", encoding="utf-8")
    (tmp_path / "it's a #name.txt").write_text("x\n", encoding="utf-8")
    return tmp_path


def test_what_it_writes_is_fine_and_can_be_run(folder: Path, tokbench: Tokbench) -> None:
    made = tokbench(folder, "init", "--offline")
    assert made.returncode == 0, made.stderr
    assert "left out: " in made.stderr
    assert tokbench(folder, "validate", "tokbench.yaml", "--offline").stdout.endswith(": fine\n")
    again = tokbench(folder, "init", "--offline")
    assert (again.returncode, "give --force" in again.stderr) == (2, True)


def test_files_that_differ_by_a_language_are_one_corpus_and_equal_lines_are_parallel(
    folder: Path,
) -> None:
    made = draft(folder)
    news = made.config.run.corpora["news"]
    assert (list(news.options()), news.parallel, news.pivot) == (["en", "no"], True, "en")
    assert "parallel: true  # all files have 2 lines; are they translations?" in made.text
    assert sorted(made.config.run.corpora) == ["it-s-a-#name", "news", "talks"]
    assert list(made.config.tokenizers)[1:] == ["o200k_base", "cl100k_base"]


def test_flags_say_what_names_do_not(folder: Path) -> None:
    made = draft(
        folder,
        name="mine",
        tokenizers=["utf8_bytes"],
        named=["fr=news.no.txt", "en=news.en.txt"],
        parallel=True,
        pivot="fr",
    )
    [corpus] = made.config.run.corpora.values()
    assert (made.config.run.name, list(corpus.options()), corpus.pivot) == (
        "mine",
        ["fr", "en"],
        "fr",
    )
    assert "utf8_bytes" in made.config.tokenizers
    with pytest.raises(UsageError, match="--pivot sw"):
        draft(folder, parallel=True, pivot="sw")
    with pytest.raises(UsageError, match="write LANGUAGE=FILE"):
        draft(folder, named=["en=gone.txt"])


def test_an_empty_folder_gets_bundled_text_and_tokenizers_by_name(tmp_path: Path) -> None:
    made = draft(tmp_path, name="empty")
    assert "# no text was found: bundled sentences" in made.text
    assert list(made.config.tokenizers) == ["o200k_base", "cl100k_base"]


def test_many_files_without_a_language_are_one_corpus_by_a_glob_that_matches_just_them(
    tmp_path: Path,
) -> None:
    for number in range(12):
        (tmp_path / f"part-{number}.txt").write_text("a\n", encoding="utf-8")
    for name in ("emma", "dune", "walden", "ulysses", "ivanhoe"):
        (tmp_path / "books").mkdir(exist_ok=True)
        (tmp_path / "books" / f"{name}.txt").write_text("a\n", encoding="utf-8")

    def paths() -> dict[str, object]:
        corpora = draft(tmp_path).config.run.corpora
        return {name: getattr(corpus, "path", None) for name, corpus in corpora.items()}

    assert paths() == {"part": ("part-*.txt",), "books": ("books/*.txt",)}
    (tmp_path / "part-x.txt").write_text("a\n", encoding="utf-8")
    assert paths() == {"texts": ("*.txt",), "books": ("books/*.txt",)}
    (tmp_path / "news.en.txt").write_text("a\n", encoding="utf-8")  # `*.txt` would take it, too
    assert len(paths()) == 1 + 13 + 1


def test_text_that_a_run_would_refuse_is_left_out_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "news.en.txt").write_bytes(b"caf\xe9\n")
    (tmp_path / "news.fr.txt").write_bytes(b"")
    (tmp_path / "news.de.txt").write_text("gut\n", encoding="utf-8")
    made = draft(tmp_path)
    assert list(made.config.run.corpora["news"].options()) == ["de"]
    latin, empty = made.notes
    assert "news.en.txt, line 1 is not UTF-8: byte 0xe9 at byte 3" in latin
    assert "news.fr.txt is empty" in empty
