"""The example packages for Morfessor and TkTkT, each where its library is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.errors import TokenizerError
from tokbench.plugins import LoadContext, Tokenizer

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
TEXTS = ["talking walks", "He talked, and WALKED: naïve 東京 42!", "", "  \n", "talktalk"]

Load = Callable[..., Tokenizer]


def module_of(package: str) -> Any:
    name = package.replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / package / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def morfessor(tmp_path: Path) -> Load:
    pytest.importorskip("morfessor", reason="not installed: Morfessor")

    def load(segmentation: str) -> Tokenizer:
        (tmp_path / "morphs.txt").write_text(segmentation, encoding="utf-8")
        plugin = module_of("tokbench-morfessor").Morfessor(file="morphs.txt")
        tokenizer: Tokenizer = plugin.load(LoadContext(folder=tmp_path))
        return tokenizer

    return load


SEGMENTATION = "# a comment\n5 talk\n4 talk + ing\n3 walk + ing\n2 walk + ed\n1 walk + s\n"


def test_words_are_cut_as_morfessor_cuts_them(morfessor: Load) -> None:
    import morfessor as library

    tokenizer = morfessor(SEGMENTATION)
    model = library.BaselineModel()
    model.load_segmentations(
        [(5, "talk", ["talk"]), (4, "talking", ["talk", "ing"]), (3, "walking", ["walk", "ing"]),
         (2, "walked", ["walk", "ed"]), (1, "walks", ["walk", "s"])]
    )  # fmt: skip
    content = tokenizer.vocabulary.token_bytes
    for word in ("talked", "talking", "walks", "talktalk"):
        (ids,) = tokenizer.encode_batch([word])
        assert [content[i] for i in ids] == [m.encode() for m in model.viterbi_segment(word)[0]]


def test_every_text_comes_back_from_morphs_and_bytes(morfessor: Load) -> None:
    tokenizer = morfessor(SEGMENTATION)
    assert tokenizer.decode_batch(tokenizer.encode_batch(TEXTS)) == TEXTS
    content = tokenizer.vocabulary.token_bytes
    for text, ids in zip(TEXTS, tokenizer.encode_batch(TEXTS), strict=True):
        assert b"".join(content[i] or b"" for i in ids) == text.encode()


@pytest.mark.parametrize("segmentation", ["", "no counts here\n", "x talk + ing\n"])
def test_what_is_no_segmentation_is_an_error(morfessor: Load, segmentation: str) -> None:
    with pytest.raises(TokenizerError, match=r"morphs.txt"):
        morfessor(segmentation)


@pytest.fixture
def byte_level(tmp_path: Path) -> Path:
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator(["talking walking talked walked talks the talk"] * 9, trainer)
    library.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


@pytest.mark.parametrize(
    "model", ["L2R_Greedy", "R2L_Greedy", "L2R_R2L_Alternating", "LongestFirst"]
)
def test_models_of_tktkt_keep_every_text(byte_level: Path, model: str) -> None:
    pytest.importorskip("tktkt.models.greedy.directional", reason="not installed: tktkt")
    plugin = module_of("tokbench-tktkt").TkTkT(file="tokenizer.json", model=model)
    tokenizer = plugin.load(LoadContext(folder=byte_level))
    assert tokenizer.decode_batch(tokenizer.encode_batch(TEXTS)) == TEXTS


def test_the_longest_match_of_tktkt_is_that_of_tokbench(byte_level: Path) -> None:
    pytest.importorskip("tktkt.models.greedy.directional", reason="not installed: tktkt")
    from tokbench.bench.config.schema import load_entry

    plugin = module_of("tokbench-tktkt").TkTkT(file="tokenizer.json", model="L2R_Greedy")
    theirs = plugin.load(LoadContext(folder=byte_level))
    of = {"type": "huggingface", "file": "tokenizer.json"}
    entry = load_entry({"type": "inference", "of": of, "encoder": "longest"})
    ours = entry.load(LoadContext(folder=byte_level))
    for mine, other in zip(ours.encode_batch(TEXTS), theirs.encode_batch(TEXTS), strict=True):
        assert list(mine) == list(other)


def test_without_tktkt_the_error_says_what_to_install(byte_level: Path) -> None:
    if importlib.util.find_spec("tktkt") is not None:
        pytest.skip("tktkt is installed")
    plugin = module_of("tokbench-tktkt").TkTkT(file="tokenizer.json", model="L2R_Greedy")
    with pytest.raises(TokenizerError, match=r"pip install tokbench-tktkt\[tktkt\]"):
        plugin.load(LoadContext(folder=byte_level))


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Library
    from tokenizers import models

    Library(models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")).save(str(tmp_path / "t.json"))
    plugin = module_of("tokbench-tktkt").TkTkT(file="t.json", model="L2R_Greedy")
    with pytest.raises(TokenizerError, match="is not byte-level"):
        plugin.load(LoadContext(folder=tmp_path))
