"""The adversarial strings hold what they say, and are the same everywhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.suites.ids.adversarial import NEARLY_SPACE, WHITE_SPACE, adversarial
from tokbench.suites.ids.comparing import has_lone_surrogate

SPELLINGS = ["<end>", "<start>"]


def digest() -> str:
    texts = adversarial(7, 3, SPELLINGS)
    joined = "\0".join(f"{t.category}\0{t.text}" for t in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_strings_are_the_same_under_any_hash_seed(seed: str) -> None:
    command = [sys.executable, "-c", "import test_adversarial as t; print(t.digest())"]
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


def test_lone_surrogates_are_in_their_own_category_and_nowhere_else() -> None:
    texts = adversarial(0, 5, SPELLINGS)
    with_one = {t.category for t in texts if has_lone_surrogate(t.text)}
    assert with_one == {"lone_surrogates"}
    assert all(has_lone_surrogate(t.text) for t in texts if t.category == "lone_surrogates")


def test_every_code_point_is_in_some_text() -> None:
    joined = "".join(t.text for t in adversarial(0, 0, []) if t.category == "every_code_point")
    wanted = {c for c in range(0x40000) if not 0xD800 <= c <= 0xDFFF} | set(range(0xE0000, 0xF0000))
    assert wanted <= set(map(ord, joined))


def test_every_kind_of_white_space_is_run() -> None:
    assert len(WHITE_SPACE) == len(set(WHITE_SPACE)) == 25
    runs = {t.text for t in adversarial(0, 0, []) if t.category == "white_space_runs"}
    for character in WHITE_SPACE + NEARLY_SPACE:
        assert {character, character * 4000, f"a{character * 17}"} <= runs


def test_no_run_is_longer_than_allowed() -> None:
    texts = adversarial(0, 0, [], longest_run=100, code_points=False)
    assert max(len(t.text) for t in texts) <= 3 * 100 + 20


def test_spellings_are_asked_for_whole_and_cut_short() -> None:
    texts = {
        t.text for t in adversarial(0, 0, SPELLINGS) if t.category == "special_token_spellings"
    }
    assert {"<end>", "a<end>", "<start><start>", "<end", "start>"} <= texts
