"""Options that contradict each other are refused, and wrong files say what they are not."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.adapters.tekken import Tekken
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken

SINGLES = b"".join(base64.b64encode(bytes([b])) + b" %d\n" % b for b in range(256))


@pytest.mark.parametrize(
    ("kind", "options", "advice"),
    [
        (Tiktoken, {}, "exactly one of encoding, file and sample"),
        (Tiktoken, {"encoding": "gpt2", "file": "x"}, "exactly one of"),
        (Tiktoken, {"encoding": "none_such"}, "'cl100k_base'"),
        (Tiktoken, {"encoding": "gpt5"}, "write `encoding: o200k_base`"),
        (Tiktoken, {"encoding": "gpt2", "pattern": "x"}, "belong to file only"),
        (Tiktoken, {"file": "a", "pattern": "gpt2"}, "is the name of an encoding, not a regular"),
        (Tiktoken, {"file": "x"}, "needs its pattern"),
        (Tiktoken, {"file": "x", "pattern": "x", "spec": "y"}, "either pattern or spec"),
        (Tiktoken, {"file": "x", "pattern": "x", "spec_key": "y"}, "spec_key needs spec"),
        (HuggingFace, {}, "exactly one of file, hub and sample"),
        (HuggingFace, {"file": "a.json", "revision": "main"}, "revision belongs to hub only"),
        (HuggingFace, {"file": "a.json", "lowercase": True}, "lowercase belongs to a vocab.txt"),
        (HuggingFace, {"file": "vocab.txt"}, "needs lowercase: true or false"),
        (SentencePiece, {"file": "a", "threads": 2}, "Extra inputs are not permitted"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    kind: type[TokenizerPlugin], options: dict[str, Any], advice: str
) -> None:
    with pytest.raises(ValidationError, match=advice):
        kind(**options)


@pytest.mark.parametrize(
    ("content", "plugin", "advice"),
    [
        (b"{}", HuggingFace(file="f"), "not a tokenizer.json.*tekken"),
        (b'{"model": {"vocab": {}}}', HuggingFace(file="f"), "cannot load it"),
        (b"\x80\xfe", HuggingFace(file="f"), "type sentencepiece"),
        (SINGLES, SentencePiece(file="f"), "type tiktoken"),
        (b"\x80", SentencePiece(file="f"), "not a SentencePiece model"),
        (b"{}", Tekken(file="f"), "type huggingface"),
        (b"a b c\n", Tiktoken(file="f", pattern="."), r"f:1: expected a base64 token"),
        (SINGLES[:-9], Tiktoken(file="f", pattern="."), r"no rank for 1 of .*0xFF"),
        (SINGLES + b"YWI= 7\n", Tiktoken(file="f", pattern="."), "two tokens have one rank"),
        (SINGLES, Tiktoken(file="f", pattern="("), "refuses the pattern"),
        (
            SINGLES,
            Tiktoken(file="f", pattern=".", special_tokens={"<s>": 3}),
            "'<s>' has id 3.*free from 256 on",
        ),
        (SINGLES, Tiktoken(file="f", spec="f"), "pat_str and special_tokens at its top"),
    ],
)
def test_a_wrong_file_says_what_is_wrong_and_what_to_do(
    content: bytes, plugin: TokenizerPlugin, advice: str, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(TokenizerError, match=advice):
        plugin.load(LoadContext(folder=tmp_path))


def test_a_text_file_that_is_no_vocabulary_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    with pytest.raises(TokenizerError, match=r"notes.txt: no line is \[UNK\]"):
        HuggingFace(file="notes.txt", lowercase=True).load(LoadContext(folder=tmp_path))


def test_reading_the_options_imports_no_tokenizer_library() -> None:
    adapters = "huggingface, sentencepiece_model, tekken, tiktoken_encoding"
    code = (
        f"from tokbench.tokenizers_impl.adapters import {adapters}; import sys; "
        "from tokbench.tokenizers_impl.baselines import characters, utf8_bytes; "
        "print(sorted({'tokenizers', 'tiktoken', 'sentencepiece', 'huggingface_hub', 'requests'}"
        " & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_spec_holds_pattern_and_special_tokens(tmp_path: Path) -> None:
    (tmp_path / "ranks").write_bytes(SINGLES)
    spec = {"pat_str": r"\S+|\s+", "special_tokens": {"<s>": 300}}
    (tmp_path / "spec.json").write_text(json.dumps({"mine": spec}))
    tokenizer = Tiktoken(file="ranks", spec="spec.json", spec_key="mine").load(
        LoadContext(folder=tmp_path)
    )
    v = tokenizer.vocabulary
    assert (v.n_ids, v.n_entries, v.n_special, len(v.hole_ids)) == (301, 257, 1, 44)
    written_here = Tiktoken(file="ranks", pattern=r"\S+|\s+", special_tokens={"<s>": 300})
    assert tokenizer.fingerprint == written_here.load(LoadContext(folder=tmp_path)).fingerprint


def test_tekken_ids_come_after_the_special_tokens_and_stop_at_the_size(tmp_path: Path) -> None:
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(content).decode()}
        for i, content in enumerate([*(bytes([b]) for b in range(256)), b"he", b"hel"])
    ]
    config = {"pattern": r"\S+|\s+", "default_vocab_size": 260, "default_num_special_tokens": 3}
    (tmp_path / "t.json").write_text(json.dumps({"config": config, "vocab": vocab}))
    tokenizer = Tekken(file="t.json").load(LoadContext(folder=tmp_path))
    [ids] = tokenizer.encode_batch(["hell"])
    assert [int(i) for i in ids] == [259, 111, 111]  # "hel" has rank 257, past 260 - 3
    assert tokenizer.vocabulary.n_ids == 260
    assert tokenizer.vocabulary.special_ids == {0, 1, 2}
