"""BPE over characters: words merged together equal the definition; published models' ids."""

from __future__ import annotations

from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl import merging
from tokbench.tokenizers_impl.sentencepiece.bpe import (
    SentencePieceBPE,
    SentencePieceBPETokenizer,
    to_json,
)
from tokbench.tokenizers_impl.sentencepiece.text import SPACE, byte_piece

SCORES = {
    "aa": -1,
    "▁a": -2,
    "ab": -2,
    "aaa": -2,
    "bab": -3,
    "bc": -4,
    "▁▁": -9,
    "▁▁▁": -9,
    "▁▁▁▁": -9,
    "a": 0,
    "b": 0,
    "▁": 0,
}
"""Some of one rank; "c" is part of a piece and none itself."""
BYTES = [byte_piece(b) for b in range(256)]


def with_scores(*, byte_fallback: bool) -> SentencePieceBPETokenizer:
    pieces = ["<unk>", *(BYTES if byte_fallback else []), *SCORES]
    return SentencePieceBPETokenizer(
        pieces,
        scores=[SCORES.get(piece, 0) for piece in pieces],
        byte_fallback=byte_fallback,
    )


@pytest.mark.parametrize("byte_fallback", [True, False])
@pytest.mark.parametrize("few", [0, 3])
@settings(deadline=None, max_examples=60)
@given(texts=st.lists(st.text("aaabc▁▁xé🙂", max_size=25), min_size=1, max_size=20))
def test_words_merged_together_equal_the_definition(
    texts: list[str], byte_fallback: bool, few: int
) -> None:
    tokenizer = with_scores(byte_fallback=byte_fallback)
    expected = [tokenizer.encode_marked_slowly(text) for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FEW", few)
        assert tokenizer.encode_marked_batch(texts) == expected
        assert tokenizer.encode_marked_batch(texts) == expected  # now from the table


def test_of_equal_scores_the_leftmost_pair_is_joined() -> None:
    tokenizer = with_scores(byte_fallback=False)
    pieces = tokenizer.pieces.texts
    found = [[pieces[i] for i in tokenizer.encode_marked(text)] for text in ("▁ab", "bab", "▁" * 6)]
    assert found == [["▁a", "b"], ["bab"], ["▁▁▁▁", "▁▁"]]


def test_scores_are_written_and_read_back(tmp_path: Path) -> None:
    tokenizer = with_scores(byte_fallback=True)
    (tmp_path / "own.json").write_text(to_json(tokenizer), "utf-8")
    again = SentencePieceBPE(file="own.json").load(LoadContext(folder=tmp_path))
    assert again.fingerprint == tokenizer.fingerprint
    assert again.encode_batch(["ab  aaab"]) == tokenizer.encode_batch(["ab  aaab"])


@pytest.mark.parametrize("model", ["llama2/tokenizer.model", "mistral/tokenizer_v1.model"])
def test_ids_equal_those_of_sentencepiece_with_published_pieces(
    model: str, data_folder: Path, mixed_texts: list[str]
) -> None:
    library = sentencepiece.SentencePieceProcessor(
        model_file=str(data_folder / "tokenizers" / model)
    )
    ids = range(library.get_piece_size())
    pieces = [library.id_to_piece(i) for i in ids]
    mine = SentencePieceBPETokenizer(
        pieces,
        scores=[library.get_score(i) for i in ids],
        special_tokens=[pieces[i] for i in ids if library.is_control(i) or library.is_unknown(i)],
        byte_fallback=True,
    )
    runs = [" " * n + "x" + "\t" * n + "\n" * n for n in range(40)]
    texts = [*mixed_texts, *runs, f"{SPACE} a{SPACE}"]
    assert mine.encode_batch(texts) == library.encode(texts, num_threads=1)
