"""Unigram encoding: the best cut, equal to `sentencepiece`; n-best and drawn cuts."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.sentencepiece.text import TextOptions, byte_piece, marked
from tokbench.tokenizers_impl.unigram.cuts import Cut, best_cut, n_best_cuts, sampled_cut
from tokbench.tokenizers_impl.unigram.model import Unigram, UnigramTokenizer, to_json

SCORES = {"▁": -3.0, "▁a": -2.5, "a": -2.0, "b": -2.25, "ab": -4.0, "aab": -6.5, "ba": -4.5}
PIECES = [("<unk>", 0.0), *SCORES.items()]
BYTES = [(byte_piece(b), 0.0) for b in range(256)]


def all_cuts(text: str) -> list[tuple[float, Cut]]:
    """Return every cut by brute force, unknown characters at -16.5."""
    found = []
    for ends in itertools.product((False, True), repeat=max(0, len(text) - 1)):
        bounds = [0, *(i for i, cut in enumerate(ends, 1) if cut), len(text)]
        cut = list(itertools.pairwise(bounds))
        parts = [text[b:e] for b, e in cut]
        if all(p in SCORES or len(p) == 1 for p in parts):
            found.append((sum(SCORES.get(p, -16.5) for p in parts), cut))
    return sorted(found, key=lambda way: -way[0])


def test_it_is_a_tokenizer() -> None:
    assert isinstance(UnigramTokenizer(PIECES), Tokenizer)


def test_an_unknown_character_costs_ten_more_than_the_least_probable_piece() -> None:
    assert UnigramTokenizer(PIECES).unknown_score == -16.5


@given(text=st.text("▁abx", min_size=1, max_size=8))
def test_the_best_cut_is_the_best_of_all_cuts(text: str) -> None:
    cut = best_cut(text, SCORES, unknown_score=-16.5)
    score = sum(SCORES.get(text[b:e], -16.5) for b, e in cut)
    assert score == all_cuts(text)[0][0]


def test_among_equal_sums_the_leftmost_start_wins() -> None:
    scores = {"a": -1.0, "aa": -2.0}
    assert best_cut("aa", scores, unknown_score=-9.0) == [(0, 2)]
    assert best_cut("aaa", scores, unknown_score=-9.0) == [(0, 1), (1, 3)]


@given(text=st.text("▁abx", min_size=1, max_size=8), n=st.integers(1, 12))
def test_n_best_cuts_are_the_first_of_all_cuts(text: str, n: int) -> None:
    expected = [score for score, _ in all_cuts(text)[:n]]
    found = n_best_cuts(text, SCORES, unknown_score=-16.5, n=n)
    assert [score for score, _ in found] == expected
    assert len({tuple(cut) for _, cut in found}) == len(found)


def test_cuts_are_drawn_as_often_as_they_are_probable() -> None:
    draw = random.Random(0)
    drawn = Counter(
        tuple(sampled_cut("▁aab", SCORES, unknown_score=-16.5, temperature=0.5, draw=draw))
        for _ in range(4000)
    )
    cuts = all_cuts("▁aab")
    total = sum(math.exp(0.5 * score) for score, _ in cuts)
    for score, cut in cuts:
        assert drawn[tuple(cut)] / 4000 == pytest.approx(math.exp(0.5 * score) / total, abs=0.03)


@settings(deadline=None)
@given(text=st.text("ab x▁", max_size=60))
def test_cutting_by_words_equals_the_definition(text: str) -> None:
    tokenizer = UnigramTokenizer(PIECES)
    text = marked(text, TextOptions())
    assert tokenizer.encode_marked(text) == tokenizer.encode_marked_slowly(text)


def test_long_texts_are_rounded_as_sentencepiece_rounds_them() -> None:
    near_ties = {"▁": -7.3, "a": -3.1, "b": -4.7, "ab": -7.8001, "ba": -7.80005, "aba": -10.9}
    tokenizer = UnigramTokenizer([("<unk>", 0.0), *near_ties.items()])
    draw = random.Random(3)
    text = "".join(draw.choice("ab▁") for _ in range(30_000))
    assert tokenizer.encode_marked(text) == tokenizer.encode_marked_slowly(text)


def test_neighbouring_unknown_characters_are_one_token() -> None:
    tokenizer = UnigramTokenizer(PIECES)
    assert tokenizer.encode_batch(["axyzb"]) == [[2, 0, 4]]


def test_with_byte_fallback_unknown_characters_become_bytes_and_nothing_is_lost() -> None:
    tokenizer = UnigramTokenizer([*PIECES, *BYTES], byte_fallback=True)
    assert tokenizer.byte_exact
    assert tokenizer.prefix_space
    ids = list(tokenizer.encode_batch(["aü"])[0])
    assert [tokenizer.vocabulary.token_bytes[i] for i in ids] == [b" a", b"\xc3", b"\xbc"]
    for text in ["", " ", "  a  ü ", "\n\t€\u200b", "😀 a"]:
        assert tokenizer.decode_batch(tokenizer.encode_batch([text])) == [text]


def test_a_literal_underbar_becomes_a_space_or_its_bytes() -> None:
    pieces = [*PIECES, *BYTES]
    as_space = UnigramTokenizer(pieces, byte_fallback=True)
    assert as_space.decode_batch(as_space.encode_batch(["a▁b"])) == ["a b"]
    assert "U+2581" in as_space.notes[0]
    as_bytes = UnigramTokenizer(pieces, byte_fallback=True, options=TextOptions(underbar="bytes"))
    assert as_bytes.decode_batch(as_bytes.encode_batch(["a▁b▁▂▃"])) == ["a▁b▁▂▃"]
    assert as_bytes.notes == ()
    with pytest.raises(TokenizerError, match="switch byte_fallback on"):
        UnigramTokenizer(PIECES, options=TextOptions(underbar="bytes"))


def test_missing_and_doubled_pieces_are_refused() -> None:
    with pytest.raises(TokenizerError, match="no piece '<unk>'"):
        UnigramTokenizer([("a", -1.0)])
    with pytest.raises(TokenizerError, match="'a' twice"):
        UnigramTokenizer([*PIECES, ("a", -1.0)])
    with pytest.raises(TokenizerError, match="all 256 byte pieces, and '<0x00>' is missing"):
        UnigramTokenizer(PIECES, byte_fallback=True)


def test_the_json_of_our_own_reads_back_equal(tmp_path: Path) -> None:
    options = TextOptions(normalization="nfkc", remove_extra_whitespaces=True)
    tokenizer = UnigramTokenizer(PIECES, options=options)
    (tmp_path / "unigram.json").write_text(to_json(tokenizer), "utf-8")
    again = Unigram(file="unigram.json").load(LoadContext(folder=tmp_path))
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode_batch(["ab  ⓐ"]) == tokenizer.encode_batch(["ab  ⓐ"])


@pytest.mark.parametrize(
    "model",
    ["t5/spiece.model", "xlm-roberta/sentencepiece.bpe.model", "laser50k/laser_50k.model"],
)
def test_ids_equal_those_of_sentencepiece_on_equally_normalized_text(
    model: str,
    data_folder: Path,
    mixed_texts: list[str],
    corpus_texts: Callable[[str, str, int], list[str]],
) -> None:
    library = sentencepiece.SentencePieceProcessor(
        model_file=str(data_folder / "tokenizers" / model)
    )
    pieces = [
        (library.id_to_piece(i), library.get_score(i)) for i in range(library.get_piece_size())
    ]
    special = [
        p for i, (p, _) in enumerate(pieces) if library.is_control(i) or library.is_unknown(i)
    ]
    mine = UnigramTokenizer(pieces, special_tokens=special)
    # code without end, so that sums are counted anew several times
    long = " ".join(corpus_texts("source_code", "c", 12))
    texts = [*mixed_texts, long]
    expected = library.encode(texts, num_threads=1)
    normalized = [library.normalize(text) for text in texts]
    assert mine.encode_marked_batch(normalized) == expected
    one_by_one = UnigramTokenizer(pieces, special_tokens=special)
    assert [one_by_one.encode_marked(text) for text in normalized[::20]] == expected[::20]


@settings(deadline=None)
@given(texts=st.lists(st.text("ab x▁é", max_size=20), min_size=60, max_size=90))
def test_words_cut_together_equal_the_definition(texts: list[str]) -> None:
    tokenizer = UnigramTokenizer(PIECES)
    found = tokenizer.encode_batch(texts)
    assert found == [tokenizer.encode_marked_slowly(marked(t, TextOptions())) for t in texts]
