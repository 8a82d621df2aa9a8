"""AutoTokenizer, fast and slow, from folders; the Hub is in tests/hub."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.adapters.transformers_auto import Transformers

transformers = pytest.importorskip("transformers", reason="needs the extra transformers")
pytestmark = pytest.mark.filterwarnings("ignore")


def load(folder: Path, path: str, **options: object) -> object:
    return Transformers(path=path, **options).load(LoadContext(folder=folder))


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    """A folder with three words and a template that adds a special token."""
    spec = {
        "version": "1.0",
        "added_tokens": [
            {"id": 0, "content": "<s>", "special": True, "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False}
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"<s>": 0, "[UNK]": 1, "one": 2, "two": 3},
                  "unk_token": "[UNK]"},
    }  # fmt: skip
    folder = tmp_path / "fast"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(spec), encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "unk_token": "[UNK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


def test_a_fast_tokenizer_gives_its_ids_and_adds_none(fast) -> None:
    tokenizer = load(fast, "fast")
    assert [list(ids) for ids in tokenizer.encode_batch(["one two", "two"])] == [[2, 3], [3]]
    assert tokenizer.vocabulary.n_ids == 4


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    transformers.ByT5Tokenizer(extra_ids=0).save_pretrained(tmp_path / "byt5")
    return tmp_path


def test_a_slow_tokenizer_gives_its_ids_and_bytes(slow) -> None:
    tokenizer = load(slow, "byt5")
    (ids,) = tokenizer.encode_batch(["Hé"])
    assert list(ids) == [75, 198, 172]  # bytes 48 C3 A9, three above their value
    assert [tokenizer.vocabulary.token_bytes[i] for i in ids] == [b"H", b"\xc3", b"\xa9"]
    assert tokenizer.decode_batch([ids]) == ["Hé"]


def test_special_tokens_in_a_text_are_text(slow) -> None:
    tokenizer = load(slow, "byt5")
    (ids,) = tokenizer.encode_batch(["</s>"])
    assert len(ids) == 4
    (matched,) = load(slow, "byt5", special_tokens="match").encode_batch(["</s>"])
    assert list(matched) == [tokenizer.special_tokens["</s>"]]


def test_torch_is_not_imported(fast) -> None:
    load(fast, "fast")
    assert "torch" not in sys.modules


def test_code_of_a_repository_is_not_run(tmp_path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    config = {"auto_map": {"AutoTokenizer": ["mine.Mine", None]}, "tokenizer_class": "Mine"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "mine.py").write_text("raise SystemExit('ran')", encoding="utf-8")
    with pytest.raises(TokenizerError, match="needs code from its repository, which is never run"):
        load(tmp_path, "code")


def test_a_folder_that_is_not_there_is_said(tmp_path) -> None:
    with pytest.raises(TokenizerError, match="folder './nowhere' does not exist"):
        load(tmp_path, "./nowhere")
