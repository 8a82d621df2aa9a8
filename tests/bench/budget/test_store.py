"""Counts that are kept: used where nothing changed, and never where anything did."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers

from command_line import tokbench
from tokbench.bench.commands.budget.store import Store

DAY = 24 * 3600


def age(folder: Path, days: int) -> None:
    with sqlite3.connect(folder / "counts.sqlite") as database:
        database.execute("update counts set used = ?", [int(time.time()) - days * DAY])
    database.close()


def test_what_is_used_stays_and_the_rest_goes(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.write("t", {"used": 1, "unused": 2})
    age(tmp_path, 100)
    with Store(tmp_path) as store:
        assert store.read("t", ["used"]) == {"used": 1}
    with Store(tmp_path) as store:
        assert store.read("t", ["used", "unused"]) == {"used": 1}


def test_a_thousand_texts_are_found(tmp_path: Path) -> None:
    counts = {str(i): i for i in range(2000)}
    with Store(tmp_path) as store:
        store.write("t", counts)
        assert store.read("t", counts) == counts
        assert store.read("other", counts) == store.read(None, counts) == {}


def test_a_damaged_store_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "counts.sqlite").write_bytes(b"no database" * 1000)
    with Store(tmp_path) as store:
        store.write("t", {"a": 1})
    with Store(tmp_path) as store:
        assert store.read("t", ["a"]) == {"a": 1}


def test_a_folder_that_cannot_be_made_is_an_empty_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with Store(tmp_path / "file") as store:
        store.write("t", {"a": 1})
        assert store.read("t", ["a"]) == {}


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A budget over one file of three words, checked once; the folder of its counts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    save_tokenizer(["a", "b", "c"])
    (tmp_path / "a.md").write_text("a b c", encoding="utf-8")
    budget = {"tokenizers": ["./tokenizer.json"], "groups": {"a": {"files": "*.md"}}, "total": {"tokens": 9}}  # fmt: skip
    (tmp_path / "tokbench-budget.yaml").write_text(json.dumps(budget), encoding="utf-8")
    assert tokens() == 3
    return tmp_path / "cache" / "budget"


def save_tokenizer(words: list[str]) -> None:
    library = Library(models.WordLevel({w: i for i, w in enumerate([*words, "[UNK]"])}, "[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.save("tokenizer.json")


def tokens() -> int:
    done = tokbench("budget", "--json")
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["files"]
    return int(row["tokens"])


def test_an_unchanged_text_is_not_counted_again(cached: Path) -> None:
    with sqlite3.connect(cached / "counts.sqlite") as database:
        database.execute("update counts set tokens = 7")
    database.close()
    assert tokens() == 7


def test_another_text_or_tokenizer_is_counted(cached: Path) -> None:
    Path("a.md").write_text("a b", encoding="utf-8")
    assert tokens() == 2
    with sqlite3.connect(cached / "counts.sqlite") as database:
        database.execute("update counts set tokens = 7")
    database.close()
    save_tokenizer(["a", "b", "d"])
    assert tokens() == 2
