"""Writing SentencePiece-style tokenizers in formats that others read.

``tokenizer.json`` is that of the `tokenizers` library, ``.model`` that of `sentencepiece`, written
through its own protobuf module (extra ``spm``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.sentencepiece.bpe import SentencePieceBPETokenizer
from tokbench.tokenizers_impl.sentencepiece.pieces import Pieces
from tokbench.tokenizers_impl.sentencepiece.text import SPACE, TextOptions


def bpe_tokenizer_json(tokenizer: SentencePieceBPETokenizer) -> str:
    """Return a ``tokenizer.json`` with the same ids.

    `tokenizers` merges listed pairs, SentencePiece whatever makes a piece: so each piece is
    listed with every way to make it of two others.
    """
    pieces = tokenizer.pieces
    merges = [
        [piece[:cut], piece[cut:]]
        for piece in tokenizer.ranks
        for cut in range(1, len(piece))
        if piece[:cut] in pieces.learned and piece[cut:] in pieces.learned
    ]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": pieces.unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": pieces.byte_fallback,
        "ignore_merges": False,
        "vocab": pieces.ids,
        "merges": merges,
    }
    return to_tokenizer_json(model, pieces)


def to_tokenizer_json(model: Mapping[str, Any], pieces: Pieces) -> str:
    options = pieces.options
    refuse_underbar_bytes(options, "tokenizer.json")
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": pieces.ids[token],
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in pieces.special_tokens
        ],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(options)},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *(strip if options.add_dummy_prefix else []),
            ],
        },
        "model": model,
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)


def _normalizers(options: TextOptions) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    if options.normalization == "nfkc":
        steps.append({"type": "NFKC"})
    if options.remove_extra_whitespaces:
        # not Strip, which takes away tabs and line ends as well
        steps.append(_replace({"Regex": r"\A +| +\z"}, ""))
        steps.append(_replace({"Regex": " {2,}"}, " "))
    steps.append(_replace({"String": " "}, SPACE))
    if options.remove_extra_whitespaces:
        steps.append(_replace({"Regex": rf"{SPACE}+\z"}, ""))
    if options.add_dummy_prefix:
        steps.append({"type": "Prepend", "prepend": SPACE})
    return steps


def _replace(pattern: Mapping[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def bpe_model(tokenizer: SentencePieceBPETokenizer) -> bytes:
    """Return a SentencePiece ``.model`` with the same ids; raises as `to_model` does."""
    pieces = tokenizer.pieces
    # characters come after all merges; their own scores are never compared
    scores = [-float(tokenizer.ranks.get(p, len(tokenizer.ranks))) for p in pieces.texts]
    for index in (*pieces.special_ids, *pieces.byte_ids):
        scores[index] = 0.0
    return to_model("BPE", pieces, scores)


def to_model(kind: str, pieces: Pieces, scores: Sequence[float]) -> bytes:
    refuse_underbar_bytes(pieces.options, "a SentencePiece .model")
    pb2 = _protobuf()
    model = pb2.ModelProto()
    _add_pieces(model, pieces, scores)
    _describe(model.trainer_spec, pieces)
    model.trainer_spec.model_type = getattr(pb2.TrainerSpec, kind)
    normalizer, options = model.normalizer_spec, pieces.options
    normalizer.name = options.normalization
    normalizer.add_dummy_prefix = options.add_dummy_prefix
    normalizer.remove_extra_whitespaces = options.remove_extra_whitespaces
    normalizer.escape_whitespaces = True
    if options.normalization == "nfkc":
        normalizer.precompiled_charsmap = _nfkc_charsmap(pb2)
    return bytes(model.SerializeToString(deterministic=True))


def _add_pieces(model: Any, pieces: Pieces, scores: Sequence[float]) -> None:
    bytes_ = frozenset(pieces.byte_ids)
    for index, (piece, score) in enumerate(zip(pieces.texts, scores, strict=True)):
        entry = model.pieces.add()
        entry.piece, entry.score = piece, score
        if index == pieces.unknown_id:
            entry.type = entry.UNKNOWN
        elif index in pieces.special_ids:
            entry.type = entry.CONTROL
        elif index in bytes_:
            entry.type = entry.BYTE


def _describe(trainer: Any, pieces: Pieces) -> None:
    trainer.vocab_size = len(pieces.texts)
    trainer.byte_fallback = pieces.byte_fallback
    trainer.unk_piece, trainer.unk_id = pieces.unknown, pieces.unknown_id
    for token, role in (("<s>", "bos"), ("</s>", "eos"), ("<pad>", "pad")):
        present = token in pieces.special_tokens
        setattr(trainer, f"{role}_id", pieces.ids[token] if present else -1)


def _nfkc_charsmap(pb2: Any) -> bytes:
    """Return the library's own table for NFKC, taken from a model it makes.

    The table covers single characters and common sequences; text that it normalizes otherwise
    than Unicode does gets other ids than from tokbench.
    """
    import io

    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b"]),
        model_writer=out,
        vocab_size=8,
        hard_vocab_limit=False,
        normalization_rule_name="nfkc",
        num_threads=1,
        minloglevel=2,
    )
    model = pb2.ModelProto()
    model.ParseFromString(out.getvalue())
    return bytes(model.normalizer_spec.precompiled_charsmap)


def _protobuf() -> Any:
    try:
        from sentencepiece import sentencepiece_model_pb2
    except ImportError as exc:
        raise TokenizerError(
            f"writing a SentencePiece .model needs protobuf ({exc}): pip install 'tokbench[spm]'"
        ) from exc
    return sentencepiece_model_pb2


def refuse_underbar_bytes(options: TextOptions, what: str) -> None:
    if options.underbar == "bytes":
        raise TokenizerError(
            f"{what} cannot say that a literal ▁ becomes bytes: "
            "use underbar: space, or tokbench's own JSON"
        )
