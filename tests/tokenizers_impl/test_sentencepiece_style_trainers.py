"""Our trainers over raw text: deterministic, lossless by default, loadable elsewhere."""

from __future__ import annotations

import builtins
import itertools
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError, TrainingError
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.joins import learned_joins, recounted_joins
from tokbench.tokenizers_impl.sentencepiece import bpe, bpe_trainer
from tokbench.tokenizers_impl.sentencepiece.bpe import (
    SentencePieceBPE,
    SentencePieceBPETokenizer,
    merged_by_rank,
    merged_with_heap,
)
from tokbench.tokenizers_impl.sentencepiece.bpe_trainer import SentencePieceBPETrainer
from tokbench.tokenizers_impl.sentencepiece.words import SentencePieceStyleTrainer
from tokbench.tokenizers_impl.unigram import model
from tokbench.tokenizers_impl.unigram.files import unigram_model
from tokbench.tokenizers_impl.unigram.model import Unigram, UnigramTokenizer
from tokbench.tokenizers_impl.unigram.seeds import find_seeds
from tokbench.tokenizers_impl.unigram.trainer import UnigramTrainer, train_pieces

TEXTS = [
    "The river runs under the little stone house; the bird is over the river.",
    "A runner ran, running under the running water. Rivers run!  Twice.",
    "Ein Fluß, naïve café 東京タワー 123 running\nund 456 नमस्ते.",
    "The little bird runs over the water and the stone.",
] * 5
OTHERS = [
    "",
    " ",
    "  two  spaces ",
    "tabs\tand\nlines\r\n",
    "Zürich 東京 😀 ﬁ ①",
    "The naïve run—ner",
]
KINDS: list[type[SentencePieceStyleTrainer]] = [UnigramTrainer, SentencePieceBPETrainer]


def trained(kind: type[SentencePieceStyleTrainer], folder: Path, **options: Any) -> Any:
    options = {"vocab_size": 420, **options}
    model = kind.model_validate(options).train(TEXTS, folder)
    plugin = Unigram if kind is UnigramTrainer else SentencePieceBPE
    return plugin(file=model.tokenizer["file"]).load(LoadContext(folder=folder)), model


@pytest.mark.parametrize("kind", KINDS)
def test_by_default_nothing_is_lost(kind: Any, tmp_path: Path) -> None:
    tokenizer, model = trained(kind, tmp_path)
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.byte_exact
    texts = [*TEXTS, *OTHERS]
    ids = tokenizer.encode_batch(texts)
    assert tokenizer.decode_batch(ids) == texts
    lengths = tokenizer.vocabulary.byte_lengths
    for text, one in zip(texts, ids, strict=True):
        prefix = 1 if text else 0  # the dummy prefix
        assert lengths[list(one)].sum() == len(text.encode()) + prefix
    assert model.documents == len(TEXTS)
    assert model.bytes == sum(len(t.encode()) for t in TEXTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_literal_underbar_survives_as_bytes(kind: Any, tmp_path: Path) -> None:
    tokenizer, _ = trained(kind, tmp_path, underbar="bytes")
    assert tokenizer.decode_batch(tokenizer.encode_batch(["▁▂▃ a▁b"])) == ["▁▂▃ a▁b"]
    assert not (tmp_path / "tokenizer.json").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("normalization", ["identity", "nfkc"])
def test_every_saved_format_loads_back_to_equal_ids(
    kind: Any, prefix: bool, trim: bool, byte_fallback: bool, normalization: str, tmp_path: Path
) -> None:
    tokenizer, _ = trained(
        kind,
        tmp_path,
        vocab_size=420 if byte_fallback else 164,
        write_model=True,
        add_dummy_prefix=prefix,
        remove_extra_whitespaces=trim,
        byte_fallback=byte_fallback,
        normalization=normalization,
    )
    texts = [*TEXTS, *OTHERS, "a▁b▁", "▁"]
    expected = [list(ids) for ids in tokenizer.encode_batch(texts)]
    hugging_face = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [e.ids for e in hugging_face.encode_batch(texts)] == expected
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    assert model.encode(texts) == expected
    assert model.decode(expected) == list(tokenizer.decode_batch(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_order_of_documents_nor_the_hash_seed_matters(
    kind: Any, tmp_path: Path
) -> None:
    shuffled = list(TEXTS)
    random.Random(1).shuffle(shuffled)
    _, model = trained(kind, tmp_path)
    hashes = {model.facts["model_sha256"]}
    hashes.add(kind(vocab_size=420).train(shuffled, tmp_path).facts["model_sha256"])
    code = f"""
from pathlib import Path
from {kind.__module__} import {kind.__name__} as kind
print(kind(vocab_size=420).train({TEXTS!r}, Path({str(tmp_path)!r})).facts["model_sha256"])
"""
    for seed in ("1", "2"):
        output = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        hashes.add(output.strip())
    assert len(hashes) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_piece_reaches_over_a_space_or_a_change_of_class(kind: Any, tmp_path: Path) -> None:
    tokenizer, _ = trained(kind, tmp_path)
    learned = tokenizer.pieces.learned
    assert not [p for p in learned if "▁" in p[1:]]
    assert not [p for p in learned if any(c.isdigit() for c in p) and any(map(str.isalpha, p))]


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_and_bytes_come_first_and_are_never_made_of_text(
    kind: Any, tmp_path: Path
) -> None:
    specials = ("<pad>", "<unk>", "<mask>")
    tokenizer, _ = trained(kind, tmp_path, special_tokens=specials)
    assert tokenizer.pieces.texts[:4] == (*specials, "<0x00>")
    assert tokenizer.vocabulary.special_ids == {0, 1, 2}
    assert not {0, 1, 2} & set(tokenizer.encode_batch(["<mask> <unk> <0x00>"])[0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_trained_is_refused(kind: Any, tmp_path: Path) -> None:
    for texts, message in (("bare", "bare string"), ([], "no documents"), (["\n"], "empty lines")):
        with pytest.raises(TrainingError, match=message):
            kind(vocab_size=420).train(texts, tmp_path)
    with pytest.raises(TrainingError, match="must name '<unk>'"):
        kind(vocab_size=420, special_tokens=("<s>",)).train(TEXTS, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_that_was_missed_is_said(kind: Any, tmp_path: Path) -> None:
    for size, message in ((5000, "no more entries"), (260, "alphabet alone")):
        _, model = trained(kind, tmp_path, vocab_size=size)
        assert message in model.notes[0]
        assert model.vocab_size_reached != size


def test_a_tokenizer_json_given_to_us_is_named_as_such(tmp_path: Path) -> None:
    trained(UnigramTrainer, tmp_path)
    with pytest.raises(TokenizerError, match=r"it is a tokenizer\.json for type huggingface"):
        Unigram(file="tokenizer.json").load(LoadContext(folder=tmp_path))
    with pytest.raises(TokenizerError, match=r"not 'tokbench.sentencepiece_bpe.1'"):
        bpe.from_json((tmp_path / "unigram.json").read_text("utf-8"), tmp_path)


def test_a_model_without_protobuf_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if "sentencepiece" in name and args and "sentencepiece_model_pb2" in (args[2] or ()):
            raise ImportError("No module named 'google'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TokenizerError, match=r"pip install 'tokbench\[spm\]'"):
        unigram_model(UnigramTokenizer([("<unk>", 0.0), ("a", -1.0)]))


@given(text=st.text("abc▁", max_size=30))
def test_the_heap_merges_what_the_definition_merges(text: str) -> None:
    ranks = {p: i for i, p in enumerate(["ab", "bc", "▁a", "aa", "abc", "bcab", "▁abc", "aaa"])}
    assert merged_with_heap(text, ranks) == merged_by_rank(text, ranks)


@settings(max_examples=60, deadline=None)
@given(words=st.dictionaries(st.text("abc", min_size=1, max_size=8), st.integers(1, 9), max_size=9))
def test_joins_of_characters_equal_counting_anew(words: dict[str, int]) -> None:
    kept = learned_joins(words, rule="frequency", min_frequency=2)
    anew = recounted_joins(words, rule="frequency", min_frequency=2)
    assert list(itertools.islice(kept, 40)) == list(itertools.islice(anew, 40))


@settings(max_examples=100, deadline=None)
@given(
    words=st.dictionaries(
        st.text("aaabbcé今🙂", min_size=1, max_size=9), st.integers(1, 9), min_size=1, max_size=9
    ),
    longest=st.sampled_from([2, 3, 16]),
    ties=st.sampled_from(["smallest", "first_seen"]),
)
def test_learned_pieces_equal_joins_counted_anew(
    words: dict[str, int], longest: int, ties: Any
) -> None:
    if longest < 16:  # the definition knows no limit: give it words that cannot exceed it
        words = {word[:longest]: count for word, count in words.items()}
    anew = recounted_joins(words, rule="frequency", min_frequency=2, ties=ties)
    characters = sorted(set("".join(words)))
    expected = dict.fromkeys(join.token for join in itertools.islice(anew, 40))
    found = bpe_trainer.train_pieces(
        words, n_pieces=len(expected) + len(characters), longest=longest, ties=ties
    )
    assert found == [*expected, *characters]


def test_a_piece_that_would_be_too_long_is_passed_over() -> None:
    words = {"abcd": 9, "cd": 1}
    pieces = bpe_trainer.train_pieces(words, n_pieces=20, longest=2, min_frequency=1)
    assert pieces == ["cd", "ab", "a", "b", "c", "d"]


def test_bpe_pieces_of_a_word_in_the_order_they_were_learned() -> None:
    tokenizer = SentencePieceBPETokenizer(["<unk>", "lo", "low", "▁low", "▁", "l", "o", "w"])
    assert tokenizer.encode_batch(["low lo"]) == [[3, 4, 1]]


def brute_force(word: str, scores: dict[str, float]) -> dict[str, float]:
    """Return expected counts over all cuts of a word."""
    cuts = []
    for ends in itertools.product((False, True), repeat=len(word) - 1):
        bounds = [0, *(i for i, cut in enumerate(ends, 1) if cut), len(word)]
        parts = [word[b:e] for b, e in itertools.pairwise(bounds)]
        if all(part in scores for part in parts):
            cuts.append((np.exp(sum(scores[part] for part in parts)), parts))
    total = sum(weight for weight, _ in cuts)
    counts = dict.fromkeys(scores, 0.0)
    for weight, parts in cuts:
        for part in parts:
            counts[part] += weight / total
    return counts


def test_expected_counts_are_those_over_all_cuts() -> None:
    words = {"▁abab": 3, "▁ab": 2, "▁bba": 4}
    seeds, lattice = find_seeds(words, size=50, longest=4)
    scores = np.log(seeds.counts / seeds.counts.sum())
    _, expected = lattice.expected_counts(scores)
    by_piece = dict(zip(seeds.pieces, scores.tolist(), strict=True))
    for piece, count in zip(seeds.pieces, expected, strict=True):
        assert count == pytest.approx(
            sum(n * brute_force(word, by_piece)[piece] for word, n in words.items())
        )


@given(
    words=st.dictionaries(
        st.text("abc", min_size=1, max_size=7), st.integers(1, 5), min_size=1, max_size=6
    )
)
def test_seeds_are_the_substrings_that_occur_twice(words: dict[str, int]) -> None:
    seeds, _ = find_seeds(words, size=10_000, longest=4)
    counts: dict[str, int] = {}
    for word, n in words.items():
        for begin, end in itertools.combinations(range(len(word) + 1), 2):
            counts[word[begin:end]] = counts.get(word[begin:end], 0) + n
    expected = {
        s
        for s, n in counts.items()
        if len(s) == 1 or (len(s) <= 4 and n >= 2 and all(counts.get(s + c, 0) < n for c in "abc"))
    }
    assert set(seeds.pieces) == expected
    assert all(counts[p] == n for p, n in zip(seeds.pieces, seeds.counts, strict=True))


def test_characters_stay_whatever_is_pruned() -> None:
    pieces = train_pieces({"▁abcdefgh": 1, "▁hug": 50}, n_pieces=12)
    assert {p for p, _ in pieces} >= set("▁abcdefghu")
    assert len(pieces) == 12
    assert model.best_cut("▁hug", dict(pieces), unknown_score=-99.0) == [(0, 4)]
