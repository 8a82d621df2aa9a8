"""Segmentation headroom: the fewest tokens possible, within pre-tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.headroom import Fewest
from suites.measuring import results_of

# merging "bc" first keeps "abc" from being "ab" + "c" or from being found at all: "abcd" is
# a + bc + d for the encoder, and ab + cd with the fewest tokens
TOKENS = [bytes([b]) for b in range(256)] + [b"bc", b"ab", b"cd"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import base64

    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(TOKENS)]
    (tmp_path / "toy.tiktoken").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "eng.txt").write_text("abcd abcd\n", encoding="utf-8")
    return tmp_path


def headroom(folder: Path, pattern: str, kind: str = "tiktoken") -> dict[str, object]:
    toy = {"type": "tiktoken", "file": "toy.tiktoken", "pattern": pattern}
    config = {
        "name": "toy",
        "corpora": {"corpus": {"source": "files", "languages": {"en": "eng.txt"}}},
        "tokenizers": {"t": toy if kind == "tiktoken" else {"type": kind}},
        "suites": ["headroom"],
    }
    with results_of(config, folder) as results:
        (row,) = results.measurements.to_pylist()
    return row


def test_the_encoder_is_held_against_the_shortest_path(folder: Path) -> None:
    # emitted: a bc d, space a bc d = 7 tokens; possible: ab cd, space, ab cd = 5
    assert headroom(folder, r"\w+|\s")["value"] == pytest.approx(1 - 5 / 7)


def test_no_path_crosses_a_pre_token(folder: Path) -> None:
    # a, b, c, d stand alone before anything is merged: nothing could have been saved
    assert headroom(folder, r"\w|\s")["value"] == 0


def test_a_tokenizer_that_does_not_say_where_it_cuts_is_refused(folder: Path) -> None:
    row = headroom(folder, "", kind="utf8_bytes")
    assert (row["status"], row["value"]) == ("refused", None)
    assert row["detail"] == "it does not say where it cuts before it merges"


@given(st.binary(max_size=12).map(lambda data: bytes(97 + b % 4 for b in data)))
def test_the_fewest_are_never_more_than_the_bytes(piece: bytes) -> None:
    n = Fewest(TOKENS)(piece)
    assert -(-len(piece) // 2) <= n <= len(piece)
