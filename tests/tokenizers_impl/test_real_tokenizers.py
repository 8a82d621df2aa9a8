"""Real tokenizers give the ids their reference libraries gave, and keep the bytes they claim to.

Runs where the data folder is. TOKBENCH_FULL=1 takes every FLORES devtest sentence in place of
every eleventh.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tokbench.bench.model import HasOffsets, Tokenizer
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.samples import SAMPLES, is_installed
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.adapters.tekken import Tekken
from tokbench.tokenizers_impl.adapters.tiktoken_encoding import Tiktoken

STEP = 1 if os.environ.get("TOKBENCH_FULL") else 11

BYTE_EXACT = {
    *("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base"),
    *("o200k_harmony", "gpt2-hf", "tekken_240911", "llama3", "qwen2.5-qwen3", "qwen3.5-qwen3.6"),
    *("whisper-multilingual", "deepseek-v4", "gemma3"),
}
AFTER_PREFIX_SPACE = {"llama2", "llama2-hf", "mistral-v1", "mistral-v3", "mistral-v1-hf"}


def plugin_for(entry: dict[str, Any], specs: dict[str, Any], match: bool) -> TokenizerPlugin:
    """Return the plug-in a config would name for an entry of the data folder's list."""
    file = entry["path"].removeprefix("tokenizers/")
    if entry["path"].startswith("tiktoken_cache"):
        return Tiktoken(encoding=entry["name"])
    if file in specs:
        return Tiktoken(file=file, spec="tiktoken_specs.json", spec_key=file)
    if "tekken" in file:
        return Tekken(file=file)
    if file.endswith(".model"):
        return SentencePiece(file=file)
    policy: Any = "match" if match else "text"
    lowercase = "uncased" in file if file.endswith(".txt") else None
    return HuggingFace(file=file, lowercase=lowercase, special_tokens=policy)


@pytest.fixture(scope="module")
def specs(data: Path) -> dict[str, Any]:
    """Patterns and special tokens of the rank files, by file."""
    path = data / "tokenizers" / "tiktoken_specs.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def expected(data: Path) -> dict[str, Any]:
    """Texts, and their ids by tokenizer."""
    path = data / "tokenizers" / "expected_ids.json"
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def cache(data: Path) -> Iterator[Path]:
    """tiktoken's own cache, complete."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(data / "tiktoken_cache"))
        yield data / "tiktoken_cache"


@pytest.fixture(scope="module")
def tokenizer(
    real_entry: dict[str, Any], data: Path, specs: dict[str, Any], cache: Path
) -> Tokenizer:
    """The tokenizer of an entry, by the default policy, held only while its tests run."""
    context = LoadContext(folder=data / "tokenizers")
    return plugin_for(real_entry, specs, match=False).load(context)


@pytest.fixture(scope="module")
def sentences(data: Path) -> list[str]:
    """FLORES devtest sentences of all languages, or an even sample of them."""
    parquet = pytest.importorskip("pyarrow.parquet")
    files = sorted((data / "corpora" / "flores200").glob("*.parquet"))
    texts: list[str] = [t for file in files for t in parquet.read_table(file)["text"].to_pylist()]
    assert len(texts) == 49_588
    return texts[::STEP]


def test_the_ids_are_the_reference_ones(
    real_entry: dict[str, Any],
    tokenizer: Tokenizer,
    data: Path,
    specs: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    """The 18th text spells special tokens: files of `tokenizers` are checked as it matches them."""
    texts, want = list(expected["strings"]), expected["ids"][real_entry["name"]]
    got = [[int(i) for i in ids] for ids in tokenizer.encode_batch(texts)]
    plugin = plugin_for(real_entry, specs, match=True)
    if isinstance(plugin, HuggingFace):
        matching = plugin.load(LoadContext(folder=data / "tokenizers"))
        got[17] = [int(i) for i in matching.encode_batch([texts[17]])[0]]
    assert got == want


def test_861_lists_of_ids_are_expected_and_every_one_is_looked_at(
    data: Path, expected: dict[str, Any]
) -> None:
    """The test above runs once for each tokenizer, over every text."""
    index = json.loads((data / "tokenizers" / "index.json").read_text(encoding="utf-8"))
    names = [entry["name"] for entry in index if not entry["path"].endswith("claude.json")]
    assert sorted(names) == sorted(expected["ids"])
    assert sum(len(expected["ids"][name]) for name in names) == 861
    assert all(len(ids) == len(expected["strings"]) for ids in expected["ids"].values())


def test_offsets_go_with_the_plain_ids(
    tokenizer: Tokenizer, expected: dict[str, Any], sentences: list[str]
) -> None:
    if not isinstance(tokenizer, HasOffsets):
        pytest.skip("has no offsets")
    texts = [*expected["strings"], *sentences[::50]]
    ids, spans = tokenizer.encode_batch_with_offsets(texts)
    assert [list(i) for i in ids] == [list(i) for i in tokenizer.encode_batch(texts)]
    for text, of_spans in zip(texts, spans, strict=True):
        assert all(0 <= start <= end <= len(text) for start, end in of_spans)
        assert sorted(of_spans, key=lambda span: span[0]) == list(of_spans)


def test_token_bytes_add_up_to_the_text(
    real_entry: dict[str, Any], tokenizer: Tokenizer, sentences: list[str]
) -> None:
    """Exactly, or after the prefix space, or else for a reason that is named."""
    more = byte_surplus(tokenizer, sentences)
    if real_entry["name"] in BYTE_EXACT:
        assert tokenizer.byte_exact
        assert not tokenizer.prefix_space
        assert not more.any()
    elif real_entry["name"] in AFTER_PREFIX_SPACE:
        assert tokenizer.byte_exact
        assert tokenizer.prefix_space
        begins = np.array([text[:1] in (" ", "▁") for text in sentences])
        no_second_space = real_entry["name"] == "mistral-v1-hf"
        assert (more == (~begins if no_second_space else 1)).all()
    else:
        assert not tokenizer.byte_exact
        assert any(note.startswith("not byte-exact: ") for note in tokenizer.notes)
        assert (more != (1 if tokenizer.prefix_space else 0)).any()


def byte_surplus(tokenizer: Tokenizer, texts: list[str]) -> npt.NDArray[np.int64]:
    """Return the bytes of each text's tokens less the bytes of the text."""
    lengths = np.maximum(tokenizer.vocabulary.byte_lengths, 0)
    encoded = [np.asarray(ids, np.int64) for ids in tokenizer.encode_batch(texts)]
    spelt = np.array([lengths[ids].sum() for ids in encoded])
    return spelt - np.array([len(text.encode()) for text in texts])


@pytest.mark.parametrize(
    ("plugin", "entry_name"),
    [
        (Tiktoken(sample="qwen"), "qwen2.5-qwen3"),
        (Tiktoken(sample="qwen3_6"), "qwen3.5-qwen3.6"),
        (HuggingFace(sample="deepseek"), "deepseek-v4"),
        (Tiktoken(encoding="o200k_base"), "o200k_base"),
    ],
    ids=["qwen", "qwen3_6", "deepseek", "o200k_base"],
)
def test_a_sample_is_the_same_tokenizer_as_the_file(
    plugin: TokenizerPlugin, entry_name: str, data: Path, specs: dict[str, Any], tmp_path: Path
) -> None:
    name = getattr(plugin, "sample", None) or getattr(plugin, "encoding", None)
    if not is_installed(SAMPLES[name]):
        pytest.skip(f"package {SAMPLES[name].distribution} is not installed")
    path = data / "tokenizers" / "index.json"
    entries = {e["name"]: e for e in json.loads(path.read_text(encoding="utf-8"))}
    from_file = plugin_for(entries[entry_name], specs, match=False)
    a = plugin.load(LoadContext(folder=tmp_path))
    b = from_file.load(LoadContext(folder=data / "tokenizers"))
    assert a.fingerprint.parts == b.fingerprint.parts


def test_a_vocab_txt_is_the_same_tokenizer_as_the_json_made_of_it(data: Path) -> None:
    context = LoadContext(folder=data / "tokenizers" / "bert-base-uncased")
    a = HuggingFace(file="vocab.txt", lowercase=True).load(context)
    b = HuggingFace(file="tokenizer.json").load(context)
    assert a.fingerprint.sha256 == b.fingerprint.sha256
    cased = HuggingFace(file="vocab.txt", lowercase=False).load(context)
    changed = {
        part for part, sha in a.fingerprint.parts.items() if cased.fingerprint.parts[part] != sha
    }
    assert changed == {"normalizer"}
