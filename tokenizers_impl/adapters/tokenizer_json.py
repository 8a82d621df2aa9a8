"""What a tokenizer.json says about its ids, read as plain data.

The file holds a pipeline of normalizer, pre-tokenizer, model and decoder. From it follow the
bytes each id stands for, what the pipeline loses on the way in, and an identity that does not
depend on the library's version or the file's path. Nothing here runs a tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokbench.bench.model import Fingerprint, Merging, Vocabulary
from tokbench.tokenizers_impl import byte_alphabet
from tokbench.tokenizers_impl.files import bounded

Spec = Mapping[str, Any]
"""A parsed tokenizer.json, or one part of it."""

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")
_PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "decoder": "decoders",
}


@dataclass(frozen=True, kw_only=True)
class AddedToken:
    """A token that is looked for in the text before the model sees it."""

    id: int
    content: str
    special: bool
    lstrip: bool = False
    rstrip: bool = False


def steps(spec: Spec, part: str) -> list[Spec]:
    """Return the steps of a part in order, sequences opened.

    >>> steps({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}}, "normalizer")
    [{'type': 'NFC'}]
    """
    return list(_open(spec.get(part), _PARTS[part]))


def _open(step: Spec | None, inner: str) -> Iterator[Spec]:
    if step is None:
        return
    if step.get("type") == "Sequence":
        for each in step[inner]:
            yield from _open(each, inner)
    else:
        yield step


def model_type(spec: Spec) -> str:
    """Return BPE, WordPiece, Unigram or WordLevel; older files leave it to be seen.

    >>> model_type({"model": {"vocab": {}, "merges": []}})
    'BPE'
    """
    model = spec["model"]
    if model.get("type"):
        return str(model["type"])
    if "merges" in model:
        return "BPE"
    if isinstance(model["vocab"], list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def pieces(spec: Spec) -> dict[int, str]:
    """Return the model's pieces by id, without added tokens."""
    vocab = spec["model"]["vocab"]
    if isinstance(vocab, list):
        return {i: piece for i, (piece, _score) in enumerate(vocab)}
    return {i: piece for piece, i in vocab.items()}


def added_tokens(spec: Spec) -> list[AddedToken]:
    """Return the file's added tokens, special ones included, by ascending id."""
    return sorted(
        (
            AddedToken(
                id=token["id"],
                content=token["content"],
                special=token["special"],
                lstrip=token["lstrip"],
                rstrip=token["rstrip"],
            )
            for token in spec.get("added_tokens") or ()
        ),
        key=lambda token: token.id,
    )


def _types(spec: Spec, *parts: str) -> set[str]:
    return {str(step["type"]) for part in parts for step in steps(spec, part)}


def is_byte_level(spec: Spec) -> bool:
    """Whether pieces are written in GPT-2's byte alphabet."""
    return "ByteLevel" in _types(spec, "normalizer", "pre_tokenizer")


def space_mark(spec: Spec) -> str | None:
    """Return the character that stands for a space in pieces, usually ▁ (U+2581)."""
    for step in steps(spec, "normalizer"):
        if step["type"] == "Replace" and step["pattern"] == {"String": " "}:
            return str(step["content"])
    for step in (*steps(spec, "pre_tokenizer"), *steps(spec, "decoder")):
        if step["type"] == "Metaspace":
            return str(step["replacement"])
    return None


def has_byte_fallback(spec: Spec) -> bool:
    """Whether characters without a piece are written as one piece per byte."""
    return bool(spec["model"].get("byte_fallback"))


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """How to read the bytes off a piece."""

    byte_level: bool
    byte_fallback: bool
    space: str | None
    prefix: str
    suffix: str

    def content(self, piece: str) -> bytes:
        if self.byte_fallback and (match := _BYTE_PIECE.fullmatch(piece)):
            return bytes.fromhex(match[1])
        text = self.bare(piece)
        if self.byte_level and (raw := byte_alphabet.to_bytes(text)) is not None:
            return raw
        return (text.replace(self.space, " ") if self.space else text).encode()

    def bare(self, piece: str) -> str:
        """Without the marks of continuation and word end, which stand for nothing."""
        if self.prefix and piece != self.prefix:
            piece = piece.removeprefix(self.prefix)
        if self.suffix and piece != self.suffix:
            piece = piece.removesuffix(self.suffix)
        return piece

    def symbols(self, piece: str) -> list[str]:
        """Return the characters that BPE starts from, each with the marks of its place."""
        bare = self.bare(piece)
        first = self.prefix if bare != piece and piece.startswith(self.prefix) else ""
        found = [(self.prefix if i else first) + c for i, c in enumerate(bare)]
        if self.suffix and bare != piece and piece.endswith(self.suffix):
            found[-1] += self.suffix
        return found


def _reading(spec: Spec) -> _Reading:
    model, byte_level = spec["model"], is_byte_level(spec)
    return _Reading(
        byte_level=byte_level,
        byte_fallback=has_byte_fallback(spec),
        space=None if byte_level else space_mark(spec),
        prefix=model.get("continuing_subword_prefix") or "",
        suffix=model.get("end_of_word_suffix") or "",
    )


def unknown_id(spec: Spec) -> int | None:
    """Return the id that stands for text without a piece, None where there is none."""
    model = spec["model"]
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    token = model.get("unk_token")
    if token is None or isinstance(model["vocab"], list):
        return None
    found = model["vocab"].get(token)
    return None if found is None else int(found)


def vocabulary(spec: Spec, *, match_special: bool) -> Vocabulary:
    """Return the facts about every id.

    Special tokens have content only where they are matched in a text, which they then stand for.
    """
    reading, model_pieces, added = _reading(spec), pieces(spec), added_tokens(spec)
    n_ids = max([*model_pieces, *(token.id for token in added)], default=-1) + 1
    bounded(n_ids, "the file")
    content: list[bytes | None] = [None] * n_ids
    for i, piece in model_pieces.items():
        content[i] = reading.content(piece)
    for token in added:
        if is_byte_piece(spec, token.content) and token.id in model_pieces:
            continue  # special or not, it is what byte fallback writes
        content[token.id] = _added_content(token, reading, token.id in model_pieces)
        if token.special and not match_special:
            content[token.id] = None
    unknown = unknown_id(spec)
    if unknown is not None:
        content[unknown] = None
    known = model_pieces.keys() | {token.id for token in added}
    return Vocabulary(
        token_bytes=content,
        special_ids=frozenset(token.id for token in added if token.special),
        unknown_ids=frozenset() if unknown is None else frozenset({unknown}),
        byte_fallback_ids=frozenset(_byte_ids(spec, model_pieces)),
        added_ids=frozenset(token.id for token in added if not token.special),
        hole_ids=frozenset(range(n_ids)) - known,
        inside_ids=frozenset(_marked(model_pieces, str.startswith, reading.prefix)),
        ending_ids=frozenset(_marked(model_pieces, str.endswith, reading.suffix)),
    )


def _marked(
    model_pieces: Mapping[int, str], has: Callable[[str, str], bool], mark: str
) -> Iterator[int]:
    if mark:
        yield from (i for i, piece in model_pieces.items() if piece != mark and has(piece, mark))


def merging(spec: Spec, vocabulary: Vocabulary) -> Merging | None:
    """Return how the model joins characters of its pieces, None where it is not BPE.

    In pieces of byte-level models each character is a byte.
    """
    if model_type(spec) != "BPE":
        return None
    reading = _reading(spec)
    ranks = {_pair(pair): rank for rank, pair in enumerate(spec["model"]["merges"])}
    left_out = (
        vocabulary.special_ids
        | vocabulary.unknown_ids
        | vocabulary.byte_fallback_ids
        | vocabulary.added_ids
    )

    def entries() -> Iterator[tuple[int, Sequence[str]]]:
        for i, piece in pieces(spec).items():
            if i not in left_out:
                yield i, reading.symbols(piece)

    def join(left: str, right: str) -> tuple[int, str] | None:
        rank = ranks.get((left, right))
        return None if rank is None else (rank, left + right.removeprefix(reading.prefix))

    return Merging(entries=entries, join=join)


def _pair(pair: str | Sequence[str]) -> tuple[str, str]:
    left, right = pair.split(" ") if isinstance(pair, str) else pair
    return left, right


def is_byte_piece(spec: Spec, piece: str) -> bool:
    """Whether a piece stands for one byte of a character that has no piece."""
    return has_byte_fallback(spec) and _BYTE_PIECE.fullmatch(piece) is not None


def _added_content(token: AddedToken, reading: _Reading, in_model: bool) -> bytes:
    """An added token is literal text; one that the model has too can also come from merges."""
    if in_model and not reading.byte_level and reading.space and not token.special:
        return reading.content(token.content)
    return token.content.encode()


def _byte_ids(spec: Spec, model_pieces: Mapping[int, str]) -> list[int]:
    if not has_byte_fallback(spec):
        return []
    return [i for i, piece in model_pieces.items() if _BYTE_PIECE.fullmatch(piece)]


def prefix_space(spec: Spec) -> bool:
    """Whether a space is put before a text."""
    for step in steps(spec, "normalizer"):
        if step["type"] == "Prepend":
            return True
    return any(_adds_space(step) for step in steps(spec, "pre_tokenizer"))


def _adds_space(step: Spec) -> bool:
    if step["type"] == "Metaspace" and step.get("prepend_scheme") is not None:
        return bool(step["prepend_scheme"] != "never")
    return step["type"] in ("ByteLevel", "Metaspace") and bool(step.get("add_prefix_space", True))


def losses(spec: Spec) -> list[str]:
    """Return what keeps token bytes from adding up to the text's, each as a phrase.

    Empty for byte-level and byte-fallback tokenizers that do not normalize: the byte-exact ones.

    >>> losses({"model": {"vocab": {}, "merges": []}, "normalizer": {"type": "NFC"},
    ...         "pre_tokenizer": {"type": "ByteLevel"}})
    ['the normalizer NFC changes text']
    """
    return [*_normalizer_losses(spec), *_pre_tokenizer_losses(spec), *_model_losses(spec)]


def _normalizer_losses(spec: Spec) -> Iterator[str]:
    mark = space_mark(spec)
    for step in steps(spec, "normalizer"):
        kind = step["type"]
        marks_spaces = kind == "Replace" and step["pattern"] == {"String": " "}
        if not (marks_spaces or kind == "ByteLevel" or (kind == "Prepend" and mark)):
            yield f"the normalizer {kind} changes text{_details(step)}"


def _details(step: Spec) -> str:
    if step["type"] == "Replace":
        return f" ({next(iter(step['pattern'].values()))!r} to {step['content']!r})"
    named = ("lowercase", "strip_accents", "clean_text", "strip_left", "strip_right")
    on = [name for name in named if step.get(name)]
    if step["type"] == "BertNormalizer" and step.get("strip_accents") is None:
        on += ["strip_accents"] if step.get("lowercase") else []
    return f" ({', '.join(on)})" if on else ""


# What these leave in place is every character; ByteLevel and Metaspace are looked at apart.
_KEEPS_ALL = {"ByteLevel", "Metaspace", "Digits", "UnicodeScripts", "FixedLength"}
_KEEPS_UNLESS_REMOVED = {"Split", "Punctuation"}


def _pre_tokenizer_losses(spec: Spec) -> Iterator[str]:
    for position, step in enumerate(steps(spec, "pre_tokenizer")):
        kind = step["type"]
        if kind in _KEEPS_UNLESS_REMOVED:
            if step.get("behavior") == "Removed":
                yield f"the pre-tokenizer {kind} removes what is between its pieces"
        elif kind not in _KEEPS_ALL:
            yield f"the pre-tokenizer {kind} drops spaces"
        elif position and _adds_space(step) and step.get("prepend_scheme") != "first":
            yield f"the pre-tokenizer {kind} puts a space before every piece"


def _model_losses(spec: Spec) -> Iterator[str]:
    kind = model_type(spec)
    if is_byte_level(spec) and kind == "BPE":
        return  # a byte without a piece is a fault of the file: see missing_bytes
    if kind in ("BPE", "Unigram") and has_byte_fallback(spec):
        n_bytes = len(_byte_ids(spec, pieces(spec)))
        if n_bytes < 256:
            yield f"the model has pieces for {n_bytes} of the 256 bytes only"
    else:
        yield f"the {kind} model writes text without a piece as an unknown token"


def missing_bytes(spec: Spec) -> int:
    """Return how many of the 256 bytes a byte-level file has no piece for; 0 for other kinds."""
    if not is_byte_level(spec):
        return 0
    vocab = set(pieces(spec).values())
    return sum(character not in vocab for character in byte_alphabet.BYTE_OF)


def fingerprint(spec: Spec, options: Mapping[str, Any]) -> Fingerprint:
    """Return the identity of what decides the ids, equal for equal content."""
    model = spec["model"]
    parts: dict[str, object] = {
        "vocabulary": _piece_list(spec),
        "options": {"type": model_type(spec), **_without_nulls(_model_options(model)), **options},
        "special_tokens": _without_nulls(spec.get("added_tokens") or []),
    }
    for part in _PARTS:
        parts[part] = _without_nulls(spec.get(part))
    if model.get("merges") is not None:
        parts["merges"] = [_merge(pair) for pair in model["merges"]]
    if isinstance(model["vocab"], list):
        parts["scores"] = np.array([score for _piece, score in model["vocab"]], "<f8").tobytes()
    return Fingerprint.of(**parts)


def _piece_list(spec: Spec) -> list[bytes | None]:
    by_id = pieces(spec)
    return [by_id[i].encode() if i in by_id else None for i in range(max(by_id, default=-1) + 1)]


def _merge(pair: str | Sequence[str]) -> bytes:
    """Older files write a merge as two pieces with a space between, newer ones as a pair."""
    return (pair if isinstance(pair, str) else " ".join(pair)).encode()


def _model_options(model: Spec) -> Spec:
    # `dropout` is switched off at load, so it decides nothing.
    apart = {"type", "vocab", "merges", "dropout"}
    return {key: value for key, value in model.items() if key not in apart}


def _without_nulls(value: Any) -> Any:
    """A null option and an absent one mean the same."""
    if isinstance(value, dict):
        return {key: _without_nulls(v) for key, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
