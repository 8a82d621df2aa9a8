"""One vocabulary, several encoders: longest match, fewest tokens, merges with dropout."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer
from tokbench.tokenizers_impl.inference.plugin import Inference, InferenceTokenizer
from tokbench.tokenizers_impl.inference.ways import fewest_tokens, longest_match

TEXTS = ["the lowest tide came slower", "newest of the older ones", "naïve 今天\n\tx", "", "aaaa"]
ENTRIES = st.sets(st.binary(min_size=2, max_size=4).map(lambda b: bytes(97 + c % 2 for c in b)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    text = "the lowest tide came slower than the newest of the older ones"
    ByteBPETrainer(vocab_size=320).train([text] * 4, folder)
    return folder


def load(folder: Path, file: str = "model.json", **options: Any) -> InferenceTokenizer:
    kind = "byte_bpe" if file == "model.json" else "huggingface"
    entry = {"of": {"type": kind, "file": file}, **options}
    return Inference.model_validate(entry).load(LoadContext(folder=folder))


def lists(tokenizer: Any, texts: list[str] = TEXTS) -> list[list[int]]:
    return [[int(i) for i in ids] for ids in tokenizer.encode_batch(texts)]


@settings(max_examples=200, deadline=None)
@given(extra=ENTRIES, piece=st.binary(max_size=9).map(lambda b: bytes(97 + c % 2 for c in b)))
def test_fewest_is_the_best_of_all_cuts(extra: set[bytes], piece: bytes) -> None:
    entries = {data: i for i, data in enumerate([b"a", b"b", *sorted(extra)])}
    cuts = [
        [piece[a:b] for a, b in zip((0, *inner), (*inner, len(piece)), strict=True)]
        for n in range(len(piece))
        for inner in combinations(range(1, len(piece)), n)
    ]
    possible = [cut for cut in cuts if all(part in entries for part in cut)]
    best = min(possible, key=lambda cut: (len(cut), [-len(part) for part in cut]), default=[])
    assert fewest_tokens(piece, entries, 4) == [entries[part] for part in best]


def test_a_piece_that_no_entries_cover_has_no_cut() -> None:
    assert longest_match(b"ax", {b"a": 0}, 1) is None
    assert fewest_tokens(b"ax", {b"a": 0}, 1) is None


@pytest.mark.parametrize("file", ["model.json", "tokenizer.json"])
def test_longest_is_what_wordpiece_of_the_library_does_with_the_entries(
    folder: Path, file: str
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    oracle = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(
            library.get_vocab(), unk_token="!", continuing_subword_prefix="",
            max_input_chars_per_word=10_000,
        )
    )  # fmt: skip
    oracle.pre_tokenizer = library.pre_tokenizer
    assert lists(load(folder, file, encoder="longest")) == [oracle.encode(t).ids for t in TEXTS]


@pytest.mark.parametrize("file", ["model.json", "tokenizer.json"])
@pytest.mark.parametrize("options", [{}, {"dropout": 1e-300, "seed": 1}])
def test_merges_without_dropout_are_the_tokenizer_itself(
    folder: Path, file: str, options: dict[str, Any]
) -> None:
    tokenizer = load(folder, file, **options)
    assert lists(tokenizer) == lists(tokenizer.base)


@pytest.mark.parametrize("file", ["model.json", "tokenizer.json"])
def test_with_every_merge_dropped_bytes_are_left(folder: Path, file: str) -> None:
    tokenizer = load(folder, file, dropout=1, seed=1)
    assert [len(ids) for ids in lists(tokenizer)] == [len(text.encode()) for text in TEXTS]


@pytest.mark.parametrize(
    "options",
    [
        {"encoder": "longest"}, {"encoder": "fewest"}, {"dropout": 0.3, "seed": 5},
        {"split": 0.5, "seed": 5}, {"encoder": "fewest", "split": 2, "seed": 5},
    ],
)  # fmt: skip
def test_every_text_comes_back_byte_for_byte(folder: Path, options: dict[str, Any]) -> None:
    tokenizer = load(folder, **options)
    content = tokenizer.vocabulary.token_bytes
    for text, ids in zip(TEXTS, lists(tokenizer), strict=True):
        assert b"".join(content[i] or b"" for i in ids) == text.encode()
    assert list(tokenizer.decode_batch(lists(tokenizer))) == TEXTS
    ids, numbers = tokenizer.encode_batch_in_pre_tokens(TEXTS)
    assert [len(one) for one in ids] == [len(one) for one in numbers]


def test_what_is_drawn_depends_on_seed_and_text_and_on_no_batch(folder: Path) -> None:
    one, same, other = (load(folder, dropout=0.4, seed=s) for s in (1, 1, 2))
    assert lists(one) == lists(same) == [lists(one, [text])[0] for text in TEXTS]
    assert lists(one) != lists(other)
    assert one.fingerprint.sha256 == same.fingerprint.sha256 != other.fingerprint.sha256


def test_more_dropout_is_more_tokens(folder: Path) -> None:
    counts = [
        sum(map(len, lists(load(folder, dropout=rate, seed=3)))) for rate in (0.01, 0.3, 0.7, 1.0)
    ]
    assert counts == sorted(counts)
    assert len(set(counts)) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [({"dropout": 0.1}, "give a seed"), ({"split": 0.1}, "give a seed"),
     ({"encoder": "longest", "dropout": 0.1, "seed": 1}, "encoder longest makes none")],
)  # fmt: skip
def test_lots_without_a_seed_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Inference.model_validate({"of": {"type": "utf8_bytes"}, **options})


def test_a_tokenizer_that_loses_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[UNK]\na\n", encoding="utf-8")
    entry = {"type": "wordpiece", "file": "vocab.txt", "lowercase": True}
    with pytest.raises(TokenizerError, match="keeps every byte"):
        Inference(of=entry, encoder="longest").load(LoadContext(folder=tmp_path))


@pytest.mark.real
def test_of_published_vocabularies_merges_are_themselves_and_fewest_is_least(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data / "tiktoken_cache"))
    parquet = pytest.importorskip("pyarrow.parquet")
    files = sorted((data / "corpora" / "flores200").glob("*devtest*.parquet"))
    texts = [t for file in files for t in parquet.read_table(file)["text"].to_pylist()[:4]]
    for of in (
        {"type": "tiktoken", "encoding": "gpt2"},
        {"type": "sentencepiece", "file": "tokenizers/mistral/tokenizer_v1.model"},
        {"type": "huggingface", "file": "tokenizers/deepseek-v4/tokenizer.json"},
    ):
        context = LoadContext(folder=data)
        own = Inference(of=of).load(context)
        assert lists(own, texts) == lists(own.base, texts)
        fewest, longest = (
            Inference(of=of, encoder=way).load(context) for way in ("fewest", "longest")
        )
        counts = [sum(map(len, lists(t, texts))) for t in (fewest, longest, own)]
        assert counts[0] == min(counts)
