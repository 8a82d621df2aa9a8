"""Tokenizers read from a Hub by unmodified libraries."""

from __future__ import annotations

import importlib.util
import json

import pytest
from stub_hub import COMMIT, OLDER, Fault

SPEC = {
    "version": "1.0",
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "one": 1, "two": 2}, "unk_token": "[UNK]"},
}
FILES = {
    "tokenizer.json": json.dumps(SPEC).encode(),
    "tokenizer_config.json": b'{"tokenizer_class": "PreTrainedTokenizerFast"}',
}
KINDS = {"huggingface": "hub", "transformers": "path"}


@pytest.fixture(params=KINDS)
def options(request) -> dict[str, str]:
    if importlib.util.find_spec(request.param) is None and request.param == "transformers":
        pytest.skip("needs the extra transformers")
    return {"type": request.param, KINDS[request.param]: "owner/words"}


def test_a_tokenizer_is_read(hub, load, options) -> None:
    hub.add("models/owner/words", FILES)
    assert load("one two", **options).value["ids"] == [[1, 2]]


def test_a_pinned_revision_is_the_one_read(hub, load, options) -> None:
    hub.add("models/owner/words", FILES)
    other = {**SPEC, "model": {**SPEC["model"], "vocab": {"[UNK]": 0, "two": 1, "one": 2}}}
    hub.add("models/owner/words", {**FILES, "tokenizer.json": json.dumps(other).encode()}, OLDER)
    assert load("one two", **options, revision=OLDER).value["ids"] == [[2, 1]]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("gated", "requires a login"),
        ("forbidden", "requires access"),
        ("missing", "does not exist on the Hub, or is private"),
    ],
)
def test_refusals_are_told_apart(hub, load, options, how, words) -> None:
    hub.refuse(how)
    assert words in load("one", **options).reason


def test_a_hub_that_refuses_for_now_is_said(hub, load, options) -> None:
    hub.add("models/owner/words", FILES)
    hub.faults.append(Fault(match="resolve", status=503))
    got = load("one", **options)
    assert "refused temporarily" in got.reason or "cannot be reached" in got.reason
    assert got.seconds < 120


def test_a_repository_without_the_file_is_said(hub, load) -> None:
    hub.add("models/owner/words", {"other.txt": b""}, COMMIT)
    got = load("one", type="huggingface", hub="owner/words")
    assert "has no tokenizer.json" in got.reason
