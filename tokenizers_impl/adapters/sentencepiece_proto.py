"""The few facts of a SentencePiece model file that its library does not tell.

The file is a protocol buffer; reading four numbers off it does not need the protobuf library.
Field numbers are those of sentencepiece_model.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
_TYPE, _USER_DEFINED = 3, 4
_MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What decides how a text becomes pieces, apart from the pieces."""

    model_type: str
    byte_fallback: bool
    whitespace_as_suffix: bool
    normalizer: str
    charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool


def read_facts(model: bytes) -> ModelFacts:
    """Return the facts; raise `ValueError` when the bytes are no protocol buffer."""
    parts: dict[int, bytes] = {}
    for number, value in fields(model):
        if number in (_TRAINER, _NORMALIZER) and isinstance(value, bytes):
            parts[number] = value
    trainer = dict(fields(parts.get(_TRAINER, b"")))
    normalizer = dict(fields(parts.get(_NORMALIZER, b"")))
    return ModelFacts(
        model_type=_MODEL_TYPES.get(_number(trainer.get(3, 1)), "unknown"),
        byte_fallback=bool(trainer.get(35, 0)),
        whitespace_as_suffix=bool(trainer.get(24, 0)),
        normalizer=_content(normalizer.get(1, b"")).decode(),
        charsmap=_content(normalizer.get(2, b"")),
        add_dummy_prefix=bool(normalizer.get(3, 1)),
        remove_extra_whitespaces=bool(normalizer.get(4, 1)),
        escape_whitespaces=bool(normalizer.get(5, 1)),
    )


def user_defined(model: bytes) -> frozenset[int]:
    """Return the ids of the pieces that the user defined."""
    pieces = (value for number, value in fields(model) if number == _PIECE)
    return frozenset(
        i
        for i, piece in enumerate(pieces)
        if dict(fields(_content(piece))).get(_TYPE) == _USER_DEFINED
    )


def _number(value: int | bytes) -> int:
    return value if isinstance(value, int) else 0


def _content(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a message: a number, or the bytes of anything longer.

    >>> list(fields(bytes([0x08, 0x96, 0x01, 0x12, 0x02, 0x68, 0x69])))
    [(1, 150), (2, b'hi')]
    """
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(message, position)
            yield tag >> 3, value
            continue
        if kind == 2:
            length, position = _varint(message, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} at byte {position}")
        if position + length > len(message):
            raise ValueError(f"a field of {length} bytes at byte {position} runs past the end")
        yield tag >> 3, message[position : position + length]
        position += length


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """The number at a position, seven bits a byte, and the position after it."""
    if position < len(message) and message[position] < 0x80:  # nearly all are this short
        return message[position], position + 1
    value = shift = 0
    while position < len(message):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number runs past the end")
