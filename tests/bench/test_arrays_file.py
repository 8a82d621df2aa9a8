"""Arrays are read as they were written; what is damaged, or made to look right, is not read at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xxhash

from tokbench.bench.count import arrays_file
from tokbench.bench.count.token_bytes import Contents, read_contents, write_contents
from tokbench.bench.errors import ResultsError
from tokbench.bench.model import Vocabulary

ARRAYS = {
    "ids": np.array([3, 2**32 - 1], np.uint32),
    "none": np.zeros(0, np.int64),
    "flags": np.array([True, False, True]),
}


def test_header_and_arrays_come_back(tmp_path: Path) -> None:
    arrays_file.write(tmp_path / "a", {"name": "é"}, ARRAYS)
    stored = arrays_file.read(tmp_path / "a")
    assert stored is not None
    assert stored[0] == {"name": "é"}
    assert {name: (v.dtype.str, v.tolist()) for name, v in stored[1].items()} == {
        "ids": ("<u4", [3, 4294967295]),
        "none": ("<i8", []),
        "flags": ("|b1", [True, False, True]),
    }


def test_every_damaged_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    arrays_file.write(path, {"name": "é"}, ARRAYS)
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        assert arrays_file.read(path) is None
        path.write_bytes(data[:at])
        assert arrays_file.read(path) is None
    assert arrays_file.read(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b"{}",
        b"not JSON",
        b"\xff",
        b"[" * 100_000,
        b'{"arrays": 1}',
        b'{"arrays": {"a": ["O", 1]}}',
        b'{"arrays": {"a": ["<i8", -1]}}',
        b'{"arrays": {"a": ["<i8", 1e9]}}',
        b'{"arrays": {"a": ["<i8", 2]}}',
        b'{"arrays": {"a": ["no type", 1]}}',
        b'{"arrays": {}}',
    ],
)
def test_a_file_of_another_layout_is_damaged_though_its_checksum_agrees(
    tmp_path: Path, head: bytes
) -> None:
    payload = len(head).to_bytes(8, "little") + head + bytes(8)
    (tmp_path / "a").write_bytes(xxhash.xxh3_128_digest(payload) + payload)
    assert arrays_file.read(tmp_path / "a") is None


def test_token_bytes_come_back_for_their_tokenizer_only(tmp_path: Path) -> None:
    contents = Contents.of(Vocabulary(token_bytes=[None, b"a", b" b"], special_ids=frozenset({0})))
    write_contents(tmp_path / "c", contents, "f" * 64)
    found = read_contents(tmp_path / "c", "f" * 64)
    assert found is not None
    assert [found.of_id(i) for i in range(3)] == [None, b"a", b" b"]
    assert found.starts_with_space.tolist() == [False, False, True]
    assert read_contents(tmp_path / "c", "0" * 64) is None


def test_a_folder_in_the_way_is_an_error_of_the_results(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ResultsError, match="cannot be written"):
        arrays_file.write(tmp_path / "a", {}, {})
