"""Each check of a tokenizer's health passes what is sound, and names what is not."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from byte_tokenizer import Ask, Bytes
from tokbench.bench.model import Ids
from tokbench.bench.run.probe import Subject
from tokbench.suites.health import coverage, entries, layout, special, stability, stored, survival
from tokbench.suites.witnesses.loss_classes import Manner


def test_a_library_that_fails_on_a_byte_fails_the_check_of_bytes(ask: Ask) -> None:
    check = coverage.check_bytes(ask())
    assert (check.verdict, check.text) == (
        "fail",
        "1 of 243 bytes of UTF-8 make the library fail: 0x00",
    )


def test_letters_that_leave_no_token_are_told_from_unknown_ones(ask: Ask) -> None:
    thai = "".join(coverage.letters_of_scripts()["Thai"])
    gone = coverage.check_scripts(ask(change=lambda t: "".join(c for c in t if c not in thai)))
    assert (gone.verdict, gone.text.rpartition(": ")[2]) == ("fail", "Thai")
    unknown = coverage.check_scripts(ask(unknown=thai))
    assert unknown.verdict == "warn"
    assert unknown.text.endswith(" scripts become unknown tokens: Thai")
    assert coverage.check_scripts(ask()).verdict == "pass"


def test_losses_are_classed_with_their_cost_and_dropped_text_is_a_fault(ask: Ask) -> None:
    lower = ask(change=str.lower)
    check = survival.check_hard_strings(lower, Manner.of(lower), seed=0, per_category=2)
    assert "the case of letters changed" in check.text
    assert "capitals are gone" in check.cost
    dropping = ask(change=lambda text: text.replace("a", ""))
    found = survival.Losses()
    [trip] = dropping.trips(["the cat"])
    found.add(trip, Manner())
    assert found.check("documents", "bundled document").verdict == "fail"


def test_a_space_that_is_stripped_makes_two_texts_one(ask: Ask) -> None:
    [stripped, spaces, indented, digits] = layout.checks(ask(change=lambda t: " ".join(t.split())))
    assert (stripped.verdict, stripped.text) == ("warn", "'moon' and ' moon' have the same ids")
    assert (spaces.verdict, indented.verdict) == ("warn", "warn")
    assert digits.text == "digit by digit (1234567890123456 as " + "+".join("1" * 16) + " digits)"


def test_numbers_in_learned_pieces_are_told_from_groups(ask: Ask) -> None:
    learned = [*layout.checks(ask(pieces=(b"123", b"45", b"2024")))][-1]
    assert (learned.verdict, "of up to 4 digits" in learned.text) == ("warn", True)


def test_a_special_token_that_text_is_read_as_is_a_warning(ask: Ask) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Special(Bytes):
        @property
        def vocabulary(self) -> Any:
            return replace(super().vocabulary, special_ids=frozenset({257}))

    spelled = {"<s>": 257, "moon": 300}
    plain = Subject(key="x", tokenizer=Special(special_tokens=spelled))
    assert [check.verdict for check in special.checks(plain)] == ["pass", "pass", "warn", "pass"]
    reads = Subject(key="x", tokenizer=Special(special_tokens=spelled, pieces=(b"<s>",)))
    first = next(iter(special.checks(reads)))
    assert first.verdict == "warn"
    assert first.text.startswith("1 of 2 are read as control tokens when a text spells them")


def test_ids_that_depend_on_earlier_calls_fail(ask: Ask) -> None:
    assert stability.check_stability(ask(), 0).verdict == "pass"
    number = count()
    moody = ask(change=lambda text: f"{text}{next(number) % 5}")
    check = stability.check_stability(moody, 0)
    assert (check.verdict, check.name) == ("fail", "determinism")


@dataclass(frozen=True, kw_only=True)
class Spelled(Bytes):
    """Its vocabulary spells bytes as numbers."""

    wrong: dict[int, str] = field(default_factory=dict)

    def spelling(self, ids: Ids) -> list[str]:
        return [self.wrong.get(int(i), str(i)) for i in ids]


def test_entries_that_are_not_those_of_the_file_fail_and_holes_of_pairs_are_told(
    tmp_path: Path,
) -> None:
    vocab = {str(i): i for i in range(200)}
    file = tmp_path / "tokenizer.json"
    spec = {"model": {"vocab": vocab}, "added_tokens": [{"content": "<x>", "id": 7}]}
    file.write_text(json.dumps({**spec, "truncation": {"max_length": 16}}), encoding="utf-8")
    found = stored.read(file)
    assert found is not None
    assert (len(found.entries), 7 in found.entries) == (199, False)
    assert found.remarks[0].startswith("the file cuts every text at 16 tokens (truncation)")
    assert found.remarks[1] == "1 ids are those of two pieces, such as 7"
    right = entries.check_file(Subject(key="x", tokenizer=Spelled()), found)
    assert (right.verdict, "as in the file" in right.text) == ("warn", True)
    wrong = entries.check_file(Subject(key="x", tokenizer=Spelled(wrong={3: "y"})), found)
    assert (wrong.verdict, wrong.text) == (
        "fail",
        "1 entry differs from the file: id 3 is 'y', in the file '3'",
    )


def test_ranks_and_lists_of_lines_are_read_and_line_ends_of_windows_told(tmp_path: Path) -> None:
    ranks = tmp_path / "x.tiktoken.gz"
    lines = "\n".join(f"{base64.b64encode(bytes([i])).decode()} {i}" for i in range(256))
    ranks.write_bytes(gzip.compress(lines.encode()))
    found = stored.read(ranks)
    assert found is not None
    assert entries.check_file(Subject(key="x", tokenizer=Bytes()), found).verdict == "pass"
    vocab = tmp_path / "vocab.txt"
    vocab.write_bytes(b"[UNK]\r\nthe\r\n##s\r\n")
    read = stored.read(vocab)
    assert read is not None
    assert dict(read.entries) == {0: "[UNK]", 1: "the", 2: "##s"}
    assert read.remarks[0].startswith("3 lines end in CR LF")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b'{"model": {"vocab": 3}}', b"[1]"])
def test_a_file_of_another_kind_says_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert stored.read(tmp_path / "x") is None
