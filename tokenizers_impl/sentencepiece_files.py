"""Writing SentencePiece-style tokenizers in formats that others read.

``tokenizer.json`` is that of the `tokenizers` library, ``.model`` that of `sentencepiece`, written
through its own protobuf module (extra ``spm``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.errors import TokenizerError
from tokenizers_impl.sentencepiece_text import SPACE, TextOptions
from tokenizers_impl.unigram import UnigramTokenizer


def unigram_tokenizer_json(tokenizer: UnigramTokenizer) -> str:
    """Return a ``tokenizer.json`` with the same ids.

    `tokenizers` adds scores in double precision, so that in a rare near-tie it may cut otherwise.
    """
    model = {
        "type": "Unigram",
        "unk_id": tokenizer.ids[tokenizer.unknown],
        "vocab": [list(piece) for piece in tokenizer.pieces],
        "byte_fallback": tokenizer.byte_fallback,
    }
    special = {token: tokenizer.ids[token] for token in tokenizer.special_tokens}
    return tokenizer_json(model, special, tokenizer.options)


def tokenizer_json(
    model: Mapping[str, Any], special: Mapping[str, int], options: TextOptions
) -> str:
    """Return a ``tokenizer.json`` around a model over marked text."""
    _refuse_underbar_bytes(options, "tokenizer.json")
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token, index in special.items()
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
        steps.append(_replace({"Regex": "^ +| +$"}, ""))
        steps.append(_replace({"Regex": " {2,}"}, " "))
    steps.append(_replace({"String": " "}, SPACE))
    if options.remove_extra_whitespaces:
        steps.append(_replace({"Regex": f"{SPACE}+$"}, ""))
    if options.add_dummy_prefix:
        steps.append({"type": "Prepend", "prepend": SPACE})
    return steps


def _replace(pattern: Mapping[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def unigram_model(tokenizer: UnigramTokenizer) -> bytes:
    """Return a SentencePiece ``.model`` with the same ids.

    Raises `TokenizerError` when protobuf is not installed, or for options the format lacks.
    """
    return _model(
        "UNIGRAM",
        [(piece, score) for piece, score in tokenizer.pieces],
        unknown=tokenizer.unknown,
        special_tokens=tokenizer.special_tokens,
        byte_ids=tokenizer.byte_ids,
        options=tokenizer.options,
    )


def _model(
    kind: str,
    pieces: Sequence[tuple[str, float]],
    *,
    unknown: str,
    special_tokens: Sequence[str],
    byte_ids: Sequence[int],
    options: TextOptions,
) -> bytes:
    _refuse_underbar_bytes(options, "a SentencePiece .model")
    pb2 = _protobuf()
    kinds = pb2.ModelProto.SentencePiece
    model = pb2.ModelProto()
    bytes_, special = frozenset(byte_ids), frozenset(special_tokens)
    for index, (piece, score) in enumerate(pieces):
        entry = model.pieces.add()
        entry.piece, entry.score = piece, score
        if piece == unknown:
            entry.type = kinds.UNKNOWN
        elif piece in special:
            entry.type = kinds.CONTROL
        elif index in bytes_:
            entry.type = kinds.BYTE
    trainer = model.trainer_spec
    trainer.model_type = getattr(pb2.TrainerSpec, kind)
    trainer.vocab_size = len(pieces)
    trainer.byte_fallback = bool(byte_ids)
    ids = {piece: index for index, (piece, _) in enumerate(pieces)}
    trainer.unk_piece, trainer.unk_id = unknown, ids[unknown]
    for token, role in (("<s>", "bos"), ("</s>", "eos"), ("<pad>", "pad")):
        setattr(trainer, f"{role}_id", ids[token] if token in special else -1)
    normalizer = model.normalizer_spec
    normalizer.name = options.normalization
    normalizer.add_dummy_prefix = options.add_dummy_prefix
    normalizer.remove_extra_whitespaces = options.remove_extra_whitespaces
    normalizer.escape_whitespaces = True
    if options.normalization == "nfkc":
        normalizer.precompiled_charsmap = _nfkc_charsmap(pb2)
    return bytes(model.SerializeToString(deterministic=True))


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


def _refuse_underbar_bytes(options: TextOptions, what: str) -> None:
    if options.underbar == "bytes":
        raise TokenizerError(
            f"{what} cannot say that a literal ▁ becomes bytes: "
            "use underbar: space, or tokbench's own JSON"
        )
