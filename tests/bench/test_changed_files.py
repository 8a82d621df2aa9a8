"""The hash that is recorded is the hash of the text that was read, whatever happens meanwhile."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.cache import private_folder
from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus import sampling
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.file_state import known_file
from tokbench.bench.corpus.slices import Slice, slices_folder
from tokbench.bench.errors import CorpusError

LONG_AGO = 10**18


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def write(path: Path, text: str) -> None:
    """Put a file in place under a time stamp that is always the same."""
    new = path.with_name("new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
    os.utime(path, ns=(LONG_AGO, LONG_AGO))


ENTRIES = {
    "files": {"source": "files", "path": "a.txt"},
    "streamed": {"source": "huggingface", "path": "text", "data_files": "a.txt", "split": "train"},
    "prepared": {
        "source": "huggingface", "path": "text", "data_files": "a.txt", "split": "train",
        "streaming": False,
    },
    "folder": {
        "source": "huggingface", "path": "./d", "split": "train", "streaming": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("source", ENTRIES)
def test_a_file_of_the_same_size_and_time_is_read_anew(make, tmp_path: Path, source: str) -> None:
    path = tmp_path / "d" / "a.txt" if source == "folder" else tmp_path / "a.txt"
    path.parent.mkdir(exist_ok=True)
    for text in ("one two three", "ten elf ab cd", "one two three"):
        write(path, text)
        one = make(**ENTRIES[source])
        assert texts(one) == [text]
        assert one.meta.sources[0]["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def meddle(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Do something between two rows of a reading: when the first row is taken."""

    def set_up(action: Callable[[], None]) -> None:
        class Meddling(sampling.Head):
            def admit(self, id: str, n_bytes: int) -> bool:
                if not self._admitted:
                    action()
                return super().admit(id, n_bytes)

        monkeypatch.setattr(sampling, "Head", Meddling)

    return set_up


def test_a_file_that_changes_while_it_is_read_is_an_error_and_leaves_no_slice(
    make, tmp_path: Path, meddle: Any
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("hello\nagain\n", encoding="utf-8")
    other = (tmp_path / "b.txt").write_text
    meddle(lambda: other("HELLO\nagain\n", encoding="utf-8"))
    with pytest.raises(CorpusError, match="b.txt changed while it was being read; run again"):
        make(source="files", path="*.txt")
    assert not list(slices_folder().glob("*"))


def test_a_file_that_was_changed_and_put_back_is_an_error_too(
    make, tmp_path: Path, meddle: Any
) -> None:
    path = tmp_path / "a.txt"
    write(path, "hello\nagain\n")

    def there_and_back() -> None:
        write(path, "HELLO\nagain\n")
        write(path, "hello\nagain\n")

    meddle(there_and_back)
    with pytest.raises(CorpusError, match="a.txt changed while it was being read"):
        make(source="files", path="a.txt")


def test_a_file_that_appears_while_a_glob_is_read_is_an_error(
    make, tmp_path: Path, meddle: Any
) -> None:
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    meddle(lambda: (tmp_path / "b.txt").touch())
    with pytest.raises(CorpusError, match="b.txt changed while it was being read"):
        make(source="files", path="*.txt")


def test_a_file_that_grows_is_read_no_further_than_it_was_long(
    make, tmp_path: Path, meddle: Any
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("0123456\n" * 300_000, encoding="utf-8")

    def grow() -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write("0123456\n" * 100_000)

    meddle(grow)
    with pytest.raises(CorpusError, match="a.txt changed while it was being read"):
        make(source="files", path="a.txt")


def test_a_file_is_hashed_once_as_long_as_it_is_known_to_be_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text", encoding="utf-8")
    blocks: list[str] = []
    known_file(path, "a.txt", blocks.append)
    known_file(path, "a.txt", blocks.append)  # another write within this tick would not be seen
    assert blocks == ["a.txt", "a.txt"]
    time.sleep(2.1)
    known_file(path, "a.txt", blocks.append)
    known_file(path, "a.txt", blocks.append)
    assert len(blocks) == 3


def test_hashing_counts_towards_the_seconds_of_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * 3 * 2**20)
    budget = Budget(Limits(corpus_seconds=0.001))
    time.sleep(0.01)
    with pytest.raises(CorpusError, match=r"a.txt: timed out after 0.001 s.*corpus_seconds"):
        known_file(path, "a.txt", budget.look)


# what killed runs leave


def test_what_a_killed_process_left_is_swept_and_what_is_at_work_stays(tmp_path: Path) -> None:
    dead, made = tmp_path / ".building-dead", tmp_path / ".building-being-made"
    for folder in (dead, made):
        folder.mkdir()
    (dead / ".lock").touch()
    (dead / "rows.arrow").write_bytes(b"0" * 10)
    with private_folder(tmp_path, "building") as mine:
        (mine / "rows.arrow").touch()
        with private_folder(tmp_path, "building") as other:
            assert mine.exists()
            assert other != mine
    assert sorted(tmp_path.iterdir()) == [made]
    os.utime(made, (1, 1))
    with private_folder(tmp_path, "building"):
        assert not made.exists()
