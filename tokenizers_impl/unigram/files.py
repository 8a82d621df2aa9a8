"""Writing Unigram tokenizers in formats that others read; see `sentencepiece/files.py`."""

from __future__ import annotations

from tokbench.tokenizers_impl.sentencepiece.files import to_model, to_tokenizer_json
from tokbench.tokenizers_impl.unigram.model import UnigramTokenizer


def unigram_tokenizer_json(tokenizer: UnigramTokenizer) -> str:
    """Return a ``tokenizer.json`` with the same ids.

    `tokenizers` adds scores in double precision, so that in a rare near-tie it may cut otherwise.
    """
    model = {
        "type": "Unigram",
        "unk_id": tokenizer.pieces.unknown_id,
        "vocab": list(zip(tokenizer.pieces.texts, tokenizer.all_scores, strict=True)),
        "byte_fallback": tokenizer.pieces.byte_fallback,
    }
    return to_tokenizer_json(model, tokenizer.pieces)


def unigram_model(tokenizer: UnigramTokenizer) -> bytes:
    """Return a SentencePiece ``.model`` with the same ids.

    Raises `TokenizerError` when protobuf is not installed, or for options the format lacks.
    """
    return to_model("UNIGRAM", tokenizer.pieces, tokenizer.all_scores)
