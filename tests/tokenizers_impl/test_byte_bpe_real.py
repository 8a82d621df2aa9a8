"""Byte-level BPE with real vocabularies and real text, against tiktoken and published figures."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.tokenizers_impl.byte_bpe import fast
from tokbench.tokenizers_impl.byte_bpe.fast import FastEncoder
from tokbench.tokenizers_impl.byte_bpe.formats import load_model
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges, textbook_merges
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, encode
from tokbench.tokenizers_impl.byte_bpe.rank_files import model_from_ranks
from tokbench.tokenizers_impl.byte_bpe.trainer import build_model, count_pieces, first_merges
from tokbench.tokenizers_impl.pretokenize import from_pattern, pre_tokenization

DATA = Path(os.environ.get("TOKBENCH_DATA") or Path(__file__).parents[3] / "shared" / "data")
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not DATA.is_dir(), reason=f"no test data at {DATA}; set TOKBENCH_DATA to its folder"
    ),
]

ENCODINGS = ["gpt2", "cl100k_base", "o200k_base", "llama3"]

TEXTS = st.text(
    # Characters on whose category Python, `regex` and tiktoken's tables agree.
    st.characters(exclude_categories=("Cs", "Cn")).filter(
        lambda c: regex.fullmatch(rf"\p{{{unicodedata.category(c)}}}", c) is not None
    )
    | st.sampled_from(list("aB'sT  \n\r.,/12é東\u0301❤")),
    max_size=40,
)


def tiktoken_encoding(name: str) -> Any:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    if name != "llama3":
        return tiktoken.get_encoding(name)
    spec = json.loads((DATA / "tokenizers/tiktoken_specs.json").read_text())
    ranks = load_tiktoken_bpe(str(DATA / "tokenizers/llama3/tokenizer.model"))
    return tiktoken.Encoding(mergeable_ranks=ranks, **spec["llama3/tokenizer.model"])


@pytest.fixture(scope="module", params=ENCODINGS)
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Any, BytePairModel, FastEncoder]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(DATA / "tiktoken_cache"))
        theirs = tiktoken_encoding(request.param)
        ranks = theirs._mergeable_ranks
        model = model_from_ranks(ranks, rule=from_pattern(theirs._pat_str))
        patch.setattr(fast, "_FEW_CHARACTERS", 0)
        yield theirs, model, FastEncoder(model)


def corpus_files() -> list[Path]:
    return sorted((DATA / "corpora").glob("*/*.parquet"))


def texts_of(path: Path, step: int) -> list[str]:
    import pyarrow.parquet as pq

    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return [text for text in texts[::step] if text]


def test_ids_are_those_of_tiktoken_on_real_text(
    both: tuple[Any, BytePairModel, FastEncoder],
) -> None:
    theirs, _, fast = both
    step = 1 if os.environ.get("TOKBENCH_ALL") else 40
    for path in corpus_files():
        texts = texts_of(path, step)
        for text, ids in zip(texts, fast.encode_batch(texts), strict=True):
            assert list(ids) == theirs.encode_ordinary(text), (path.name, text)


def test_the_readable_encoder_gives_the_ids_of_tiktoken(
    both: tuple[Any, BytePairModel, FastEncoder],
) -> None:
    theirs, model, _ = both
    for path in corpus_files():
        for text in texts_of(path, 1000):
            assert encode(model, text) == theirs.encode_ordinary(text), (path.name, text)


def test_ids_are_those_of_tiktoken_on_any_text(
    both: tuple[Any, BytePairModel, FastEncoder],
) -> None:
    theirs, model, fast = both

    @settings(max_examples=100, deadline=None)
    @given(text=TEXTS)
    def check(text: str) -> None:
        expected = theirs.encode_ordinary(text)
        assert encode(model, text) == expected
        assert list(fast.encode_batch([text])[0]) == expected

    check()


def test_without_the_shortcut_some_entries_of_llama_3_are_never_reached() -> None:
    path = DATA / "tokenizers/llama3/tokenizer.model"
    with_shortcut = load_model(path, format="tiktoken", rule=pre_tokenization("cl100k"))
    without = replace(with_shortcut, whole_pieces=None)
    reached = {joined for _, _, joined in with_shortcut.merges} | set(with_shortcut.byte_ids)
    pieces = with_shortcut.whole_pieces or {}
    lost = [data for data, token in pieces.items() if token not in reached]
    assert lost
    whole = [d.decode() for d in lost if _is_one_piece(d)]
    assert whole
    for text in whole[:20]:
        assert len(encode(with_shortcut, text)) == 1
        assert len(encode(without, text)) > 1


def _is_one_piece(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return len(pre_tokenization("cl100k").split(text)) == 1


@pytest.mark.parametrize("name", ["gpt2/tokenizer.json"])
def test_a_real_tokenizer_json_gives_the_ids_of_tokenizers(name: str) -> None:
    import tokenizers

    library = tokenizers.Tokenizer.from_file(str(DATA / "tokenizers" / name))
    fast = FastEncoder(load_model(DATA / "tokenizers" / name))
    for path in corpus_files()[::10]:
        texts = texts_of(path, 100)
        for text, ids in zip(texts, fast.encode_batch(texts), strict=True):
            assert list(ids) == library.encode(text, add_special_tokens=False).ids


def test_the_published_merges_of_alice() -> None:
    text = (DATA / "corpora/prose/alice_in_wonderland.en.txt").read_text(encoding="utf-8")
    rule = pre_tokenization("none")
    merges = fast_merges(count_pieces([text], rule).pieces, 2048 - 256)
    model = build_model(merges, rule)
    learned = [(model.entries[256 + i], merges[i][2]) for i in range(12)]
    assert learned[:6] == [
        (b"e ", 4377),
        (b"  ", 4208),
        (b" t", 3263),
        (b" a", 2295),
        (b" th", 2206),
        (b"in", 1998),
    ]
    assert learned[11] == (b" the ", 1229)
    figures = {}
    for size in (512, 1024, 2048):
        (ids,) = FastEncoder(first_merges(model, size - 256)).encode_batch([text])
        figures[size] = len(text.encode()) / len(ids)
    assert figures[512] == pytest.approx(2.17, abs=0.01)
    assert figures[1024] == pytest.approx(2.92, abs=0.01)
    assert figures[2048] == pytest.approx(3.73, abs=0.01)


def test_both_trainers_learn_the_same_from_real_text() -> None:
    text = (DATA / "corpora/prose/taylor_swift_wikipedia.en.txt").read_text(encoding="utf-8")
    pieces = count_pieces([text], pre_tokenization("cl100k")).pieces
    assert fast_merges(pieces, 60) == textbook_merges(pieces, 60)


def test_the_tie_case_gives_one_list_of_merges() -> None:
    path = DATA.parent / "cases" / "ties.txt"
    if not path.is_file():
        pytest.skip(f"no failure cases at {path.parent}")
    lines = path.read_text().splitlines()
    rule = pre_tokenization("gpt2")
    merges = fast_merges(count_pieces(lines, rule).pieces, 8)
    assert merges == fast_merges(count_pieces(lines[::-1], rule).pieces, 8)
    assert merges == textbook_merges(count_pieces(lines, rule).pieces, 8)


def test_bytes_never_seen_in_training_are_not_lost() -> None:
    path = DATA.parent / "cases" / "no_alphabet.jsonl"
    if not path.is_file():
        pytest.skip(f"no failure cases at {path.parent}")
    rule = pre_tokenization("gpt2")
    model = build_model(fast_merges(count_pieces(["plain ASCII"] * 3, rule).pieces, 20), rule)
    for line in path.read_text(encoding="utf-8").splitlines():
        text = json.loads(line)["text"]
        data = b"".join(model.entries[i] for i in encode(model, text))
        assert data.decode() == text
