"""Files that are not what they look like, are packed, hidden, or found under another spelling."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus.slices import Slice, materialise
from tokbench.bench.errors import CorpusError

FILES = {"source": "files"}
HUB = {"source": "huggingface", "split": "train"}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
HTML = b'<!DOCTYPE html>\n<html lang="en"><p>404</p></html>\n'


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


# not what they look like


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.parquet", "a.txt.gz", "a.json"])
def test_a_git_lfs_pointer_is_refused_by_that_name(make, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(POINTER)
    with pytest.raises(CorpusError, match=f"{name} is a Git LFS pointer.*`git lfs pull`"):
        make(**FILES, path=name)


def test_a_pointer_is_no_code_either(make, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(POINTER)
    with pytest.raises(CorpusError, match="a.py is a Git LFS pointer"):
        make("python", **FILES, path="a.py", format="txt", unit="document", kind="code")


@pytest.mark.parametrize(("loader", "name"), [("text", "a.txt"), ("json", "a.jsonl")])
def test_datasets_gets_no_pointer_and_no_page_either(
    make, tmp_path: Path, loader: str, name: str
) -> None:
    for content, told in ((POINTER, "is a Git LFS pointer"), (HTML, "is an HTML page")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CorpusError, match=told):
            make(**HUB, path=loader, data_files=name)


@pytest.mark.parametrize(
    "text",
    ["hello there\nsecond line\n", "привет\nмир\n", "สวัสดี\n", "नमस्ते दुनिया\nदो\n", "hi",
     "你好，世界。\n再见。\n", "안녕하세요 여러분\n", "ひらがな\nカタカナ\n", "Ελλάδα\n", "שלום עולם\n",
     "สวัสดี ชาวโลก\nពិភពលោក\n", "ሰላም ልዑል\n", "გამარჯობა\n", "مرحبا بالعالم\n"],
)  # fmt: skip
@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_without_a_mark_is_refused(make, tmp_path: Path, text: str, coding: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(coding))
    with pytest.raises(CorpusError, match="looks like UTF-16 or UTF-32 without"):
        make(**FILES, path="a.txt")


@pytest.mark.parametrize(
    "text", ["1\t2\t3\t4\n5\t6\t7\t8\n", "a\n\nb\n\nc\n", "tab\there\n", "text\na\0b\n"]
)
def test_control_characters_of_ordinary_text_are_fine(make, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert texts(make(**FILES, path="a.txt", unit="document")) == [text]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.parquet", "a.jsonl.gz"])
def test_a_page_in_place_of_a_download_is_refused(make, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(HTML)
    with pytest.raises(CorpusError, match="is an HTML page"):
        make(**FILES, path=name)


def test_html_is_code_where_it_is_called_code(make, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(HTML)
    one = make("html", **FILES, path="a.html", format="txt", unit="document", kind="code")
    assert texts(one) == [HTML.decode()]


def test_nul_characters_are_counted_and_noted(make, tmp_path: Path) -> None:
    rows = [{"text": "left\0right\0"}, {"text": "plain"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    one = make(**FILES, path="a.jsonl")
    assert "1 document with 2 NUL characters (U+0000)" in one.meta.notes[0]


# packed, or a list


def _zip(data: bytes, *names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, data)
    return sink.getvalue()


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)  # the same name of the test in every process


def _zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)  # type: ignore[no-any-return]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": _gzip,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": _zstd,
    "zip": lambda data: _zip(data, "rows.jsonl", "__MACOSX/._rows.jsonl"),
}
ROWS = b"".join(b'{"text": "row %d"}\n' % i for i in range(3))


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_files_are_read(make, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(PACKED[suffix](ROWS))
    assert texts(make(**FILES, path=f"a.jsonl.{suffix}")) == ["row 0", "row 1", "row 2"]


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_what_is_packed_in_several_pieces_is_read_whole(make, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(PACKED[suffix](ROWS) + PACKED[suffix](ROWS))
    assert make(**FILES, path=f"a.jsonl.{suffix}").meta.documents == 6


@pytest.mark.parametrize("suffix", PACKED)
def test_a_packed_file_that_was_cut_short_is_named(make, tmp_path: Path, suffix: str) -> None:
    data = PACKED[suffix](ROWS)
    (tmp_path / f"a.jsonl.{suffix}").write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match=rf"a.jsonl.{suffix} is truncated or not a \w+ file"):
        make(**FILES, path=f"a.jsonl.{suffix}")


def test_a_zip_file_of_one_needs_no_other_suffix_and_of_two_is_refused(make, tmp_path) -> None:
    (tmp_path / "one.zip").write_bytes(_zip(ROWS, "deep/rows.jsonl"))
    assert make(**FILES, path="one.zip").meta.documents == 3
    (tmp_path / "two.zip").write_bytes(_zip(ROWS, "a.jsonl", "b.jsonl"))
    with pytest.raises(CorpusError, match=r"two.zip holds 2 files; .* unpack it"):
        make(**FILES, path="two.zip")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.tar", b"", "a.tar: .tar files are not supported, only .gz, .bz2"),
        ("a.tar.gz", _gzip(b""), ".tar files are not supported"),
        ("a.txt", _gzip(b"text"), r"a.txt is packed with gzip \(.gz\); add that suffix"),
        ("a.txt", _zstd(b"text"), r"a.txt is packed with Zstandard \(.zst\)"),
        ("a.parquet.gz", _gzip(b""), "Parquet is compressed inside already; unpack this file"),
        ("a.what", b"", "set `format: txt`"),
    ],
)  # fmt: skip
def test_what_cannot_be_unpacked_says_what_to_do(
    make, tmp_path: Path, name: str, content: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=told):
        make(**FILES, path=name)


def test_a_json_list_of_texts_is_a_list_of_documents(make, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["one", "two"]', encoding="utf-8")
    assert texts(make(**FILES, path="a.json")) == ["one", "two"]


@pytest.mark.parametrize("mark", ["", "\ufeff", " \n"])
def test_a_json_list_is_read_row_by_row(make, tmp_path: Path, mark: str) -> None:
    (tmp_path / "a.json").write_text(
        mark + '[\n {"id": "x", "text": "a"},\n {"id": "y", "text": "b"}\n]\n', encoding="utf-8"
    )
    one = make(**FILES, path="a.json", id="id")
    assert (texts(one), one.document_ids()) == (["a", "b"], ["x", "y"])


def test_json_lines_may_be_called_json(make, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(ROWS)
    assert make(**FILES, path="a.json").meta.documents == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('[{"text": "a"}', "a.json, row 1 is missing: the list does not end"),
        ('[{"text": "a"} {"text": "b"}]', "row 1 is missing"),
        ('[{"text": "a"}] x', "text follows the end of the list"),
        ('[{"text": "a"}, 1]', "row 1 is a int; every row is one object"),
        ('[{"text": "a"}, {"text": }]', "row 1 is not JSON"),
        ('{\n "text": "a"\n}', "neither a list of objects nor JSON Lines"),
        ('[{"text":' + "[" * 100_000, "row 0 is nested too deeply"),
    ],
)
def test_a_list_that_cannot_be_read_is_told_by_its_row(
    make, tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(CorpusError, match=told):
        make(**FILES, path="a.json")


@pytest.mark.parametrize(
    "text",
    ['{"text": "a", "text": "b"}\n', '[{"text": "a"}, {"text": "a", "text": "b"}]',
     '{"id": 1, "text": {"en": "a", "en": "b"}}\n'],
)  # fmt: skip
@pytest.mark.parametrize("source", [FILES, {**HUB, "path": "json"}])
def test_a_key_that_occurs_twice_in_a_row_is_refused(
    make, tmp_path: Path, text: str, source: dict[str, Any]
) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    where = {"path": "a.json"} if source is FILES else {"data_files": "a.json"}
    with pytest.raises(CorpusError, match=r"the key '(text|en)' occurs twice in one object"):
        make(**{**source, **where})


@pytest.mark.parametrize("coding", ["cp1252", "cp1251", "shift_jis", "gbk", "euc-kr", "big5"])
def test_other_encodings_are_not_taken_for_utf_16(make, tmp_path: Path, coding: str) -> None:
    text = {
        "cp1252": "größer, schöner ",
        "cp1251": "привет мир ",
        "shift_jis": "日本語のテキスト。",
    }
    text |= {"gbk": "你好，世界。", "euc-kr": "안녕하세요 여러분 ", "big5": "你好，世界。"}
    (tmp_path / "a.txt").write_bytes((text[coding] * 300 + "\n").encode(coding))
    with pytest.raises(CorpusError, match="line 1 is not UTF-8"):
        make(**FILES, path="a.txt")


def test_a_line_of_a_hundred_thousand_levels_is_named(make, tmp_path: Path) -> None:
    deep = '{"text": "a"}\n{"text":' + "[" * 100_000
    (tmp_path / "a.jsonl").write_text(deep, encoding="utf-8")
    with pytest.raises(CorpusError, match="a.jsonl, line 2 is nested too deeply"):
        make(**FILES, path="a.jsonl")


# where they are


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    for name in (
        "a.txt",
        "._a.txt",
        ".venv/lib/b.txt",
        "sub/c.txt",
        "sub/.ipynb_checkpoints/c.txt",
    ):
        (tmp_path / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / name).write_text(name, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("d/*.txt", ["a.txt"]),
        ("d/**/*.txt", ["a.txt", "sub/c.txt"]),
        ("d/.*.txt", ["._a.txt"]),
        ("d/.venv/**/*.txt", [".venv/lib/b.txt"]),
        ("d/sub/.ipynb*/*.txt", ["sub/.ipynb_checkpoints/c.txt"]),
    ],
)
def test_globs_leave_hidden_files_out_unless_named(
    make, hidden: Path, pattern: str, found: list[str]
) -> None:
    one = make(**FILES, path=pattern)
    assert texts(one) == found
    assert len(one.meta.sources) == len(found)
    assert texts(make(**HUB, path="text", data_files=pattern)) == found


def test_a_folder_is_answered_with_a_glob(make, hidden: Path) -> None:
    with pytest.raises(CorpusError, match=r"'d/sub' is a folder; use d/sub/\*.txt"):
        make(**FILES, path="d/sub")


def test_the_home_folder_may_be_written_with_a_tilde(make, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.txt").write_text("home", encoding="utf-8")
    one = make(**FILES, path="~/x.txt", folder=Path("/"))
    assert (texts(one), one.meta.sources[0]["path"]) == (["home"], "~/x.txt")


@pytest.mark.parametrize("written", ["d\u00e9/donn\u00e9es.txt", "d\u00e9/*\u00e9es.txt"])
def test_a_decomposed_name_is_found_by_its_composed_spelling(
    make, tmp_path: Path, written: str
) -> None:
    name = unicodedata.normalize("NFD", "d\u00e9/donn\u00e9es.txt")
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("found", encoding="utf-8")
    assert texts(make(**FILES, path=written)) == ["found"]


def test_a_name_that_is_near_is_offered(make, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("x", encoding="utf-8")
    with pytest.raises(
        CorpusError, match="file 'word.txt' does not exist; did you mean 'words.txt'"
    ):
        make(**FILES, path="word.txt")


def test_what_is_no_regular_file_is_named(make, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(CorpusError, match="'a.txt' is a FIFO, not a regular file"):
        make(**FILES, path="a.txt")
    for options in (
        {**FILES, "path": "zero.txt"},
        {**HUB, "path": "text", "data_files": "zero.txt"},
    ):
        with pytest.raises(CorpusError, match="'zero.txt' is a device, not a regular file"):
            make(**options)


def test_an_address_is_refused_without_its_password(make) -> None:
    with pytest.raises(
        CorpusError, match=r"\(https://example.org/...\) is not a local file"
    ) as told:
        make(**HUB, path="json", data_files="https://user:secret@example.org/x.jsonl")
    assert "secret" not in str(told.value)


# bounds


@pytest.fixture
def limited(entry: Any, tmp_path: Path) -> Callable[..., Slice]:
    """Materialise a corpus of files under limits."""

    def read(path: str, **limits: Any) -> Slice:
        corpus = entry(**FILES, path=path, language="en")
        return materialise("mine", corpus, "en", tmp_path, limits=Limits(**limits))

    return read


@pytest.mark.parametrize("line", [b"a\n", b"\n"])
def test_a_file_that_unpacks_without_end_is_an_error_unless_it_is_allowed(
    limited, tmp_path: Path, line: bytes
) -> None:
    with gzip.open(tmp_path / "a.txt.gz", "wb") as file:
        for _ in range(100):
            file.write(line * 1_000_000)
    told = "a.txt.gz: unpacks to more than 200 times its .* bytes; .* `limits.corpus_bytes`"
    with pytest.raises(CorpusError, match=told):
        limited("a.txt.gz")
    with pytest.raises(CorpusError, match="a.txt.gz: more than 5,000,000 bytes were read"):
        limited("a.txt.gz", corpus_bytes="5 MB")


def test_a_zip_file_that_unpacks_without_end_is_found_before_its_rows_are_read(
    limited, tmp_path: Path
) -> None:
    """All of a small ZIP file is read ahead with its first block."""
    with zipfile.ZipFile(tmp_path / "a.txt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"a\n" * 25_000_000)
    with pytest.raises(CorpusError, match=r"a.txt.zip: unpacks to more than 200 times"):
        limited("a.txt.zip", corpus_seconds=10)


@pytest.mark.parametrize(
    ("target", "words"),
    [("a.txt", "its symbolic links form a loop"), ("gone.txt", "is a symbolic link to a file")],
)
def test_a_link_to_nothing_is_told_as_a_link(limited, tmp_path: Path, target, words) -> None:
    (tmp_path / "a.txt").symlink_to(target)
    with pytest.raises(CorpusError, match=words):
        limited("a.txt")


def test_a_small_file_may_unpack_to_what_it_likes(limited, tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a\n" * 10_000))
    assert limited("a.txt.gz").meta.documents == 10_000


def test_the_limit_of_bytes_is_over_all_files_of_a_language(limited, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"0123456789")
    assert limited("*.txt", corpus_bytes=20).meta.bytes == 20
    (tmp_path / "b.txt").write_bytes(b"01234567890")
    with pytest.raises(CorpusError, match=r"b.txt: more than 20 bytes were read.*`limit`"):
        limited("*.txt", corpus_bytes=20)


def test_rows_that_keep_coming_do_not_set_the_clock_back(limited, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"line\n" * 2_000_000)
    with pytest.raises(CorpusError, match=r"a.txt: timed out after 0.01 s .*corpus_seconds"):
        limited("a.txt", corpus_seconds=0.01)
