"""sentencepiece: a trained model file, as the library runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.environment import no_garbage_collection
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Merging, Span, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters.heads import unlike
from tokbench.tokenizers_impl.adapters.sentencepiece_proto import (
    ModelFacts,
    read_facts,
    user_defined,
)
from tokbench.tokenizers_impl.convert import numbered_apart
from tokbench.tokenizers_impl.files import read_file, refuse_other_kinds

_SPACE_MARK = "\N{LOWER ONE EIGHTH BLOCK}"


class SentencePiece(TokenizerPlugin):
    """A SentencePiece `.model` file."""

    file: str = Field(description="A SentencePiece `.model` file.")

    def bare(self, context: LoadContext, folder: Path) -> Mapping[str, Any]:
        """Name the library and the model file."""
        model = folder / "sentencepiece.model"
        model.write_bytes(read_file(context.resolve(self.file), self.file, binary=True))
        return {"library": "sentencepiece", "file": str(model)}

    def misfit(self, option: str, head: bytes) -> str | None:
        """Say so where the file does not begin like a model."""
        return unlike(head, "a SentencePiece model")

    def load(self, context: LoadContext) -> SentencePieceTokenizer:
        """Read the file; raise `TokenizerError` when it is not such a model."""
        model = read_file(context.resolve(self.file), self.file, binary=True)
        return build(model, self.file)


@dataclass(frozen=True, kw_only=True, eq=False)
class SentencePieceTokenizer:
    """A model run by the sentencepiece library on one thread."""

    library: Any
    """A `sentencepiece.SentencePieceProcessor`."""
    vocabulary: Vocabulary
    fingerprint: Fingerprint
    byte_exact: bool
    prefix_space: bool
    model_type: str
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Id by spelling, of control pieces; the library never matches them in a text."""
    notes: tuple[str, ...] = ()

    encode_call: ClassVar[str] = 'SentencePieceProcessor.encode(return_type="numpy")'

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one int32 array for each text: the quickest the library has."""
        ids: list[Ids] = self.library.encode(list(texts), return_type="numpy", num_threads=1)
        return ids

    def encode_one(self, text: str) -> Ids:
        """Return one int32 array; the library makes no pool of threads for a single text."""
        ids: Ids = self.library.encode(text, return_type="numpy")
        return ids

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> list[Ids]:
        """Return what `encode_batch` does, by a pool of threads that the library makes anew."""
        ids: list[Ids] = self.library.encode(list(texts), return_type="numpy", num_threads=threads)
        return ids

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        """Return the same ids, and (start, end) in code points for each token."""
        with no_garbage_collection():
            encoded = self.library.encode(list(texts), return_type="offset_mapping", num_threads=1)
            return [e["ids"] for e in encoded], [e["offsets"] for e in encoded]

    def encode_batch_in_pre_tokens(self, texts: Sequence[str]) -> tuple[list[Ids], list[list[int]]]:
        """Return the same ids, and numbers that rise only at pieces the user defined.

        SentencePiece cuts nothing before its model runs; where pieces do not cross a ▁, that
        follows from the vocabulary.
        """
        ids = self.encode_batch(texts)
        apart = np.array(sorted(self._user_defined), np.int64)
        return ids, [numbered_apart(np.isin(one, apart)) for one in ids]

    def spelling(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces as the model has them."""
        return [self.library.id_to_piece(int(i)) for i in ids]

    def merging(self) -> Merging | None:
        """Return how it joins characters, by the score of what they become; None if not BPE."""
        if self.model_type != "bpe":
            return None
        every = list(range(self.library.get_piece_size()))
        pieces: list[str] = self.library.id_to_piece(every)
        scores: list[float] = self.library.get_score(every)
        v = self.vocabulary
        left_out = v.special_ids | v.unknown_ids | v.byte_fallback_ids | self._user_defined
        learned = [i for i in every if i not in left_out]
        learned.sort(key=lambda i: -scores[i])
        ranks = {pieces[i]: rank for rank, i in enumerate(learned)}

        def join(left: str, right: str) -> tuple[int, str] | None:
            rank = ranks.get(left + right)
            return None if rank is None else (rank, left + right)

        return Merging(entries=lambda: ((i, pieces[i]) for i in learned), join=join)

    @cached_property
    def _user_defined(self) -> frozenset[int]:
        """Pieces matched before the model sees the text; the library does not tell them."""
        return user_defined(self.library.serialized_model_proto())

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts by the library's decoder; an unknown token becomes " ⁇ "."""
        if not ids:
            return []
        # The library reads the memory of an array, and some types (8 bits) come out wrong.
        documents = [i if isinstance(i, list) else np.asarray(i, np.int32) for i in ids]
        texts: list[str] = self.library.decode(documents, num_threads=1)
        return texts


def build(model: bytes, source: str) -> SentencePieceTokenizer:
    """Return the tokenizer of a model's bytes; `source` names it in errors."""
    facts, library = _read(model, source)
    every = list(range(library.get_piece_size()))
    pieces: list[str] = library.id_to_piece(every)
    control = [i for i, is_control in enumerate(library.is_control(every)) if is_control]
    losses = list(_losses(facts))
    return SentencePieceTokenizer(
        library=library,
        vocabulary=_vocabulary(library, pieces, control),
        fingerprint=_fingerprint(library, facts, pieces, control),
        byte_exact=not losses,
        prefix_space=facts.add_dummy_prefix,
        model_type=facts.model_type,
        special_tokens={pieces[i]: i for i in control},
        notes=tuple(f"not byte-exact: {loss}" for loss in losses),
    )


def _read(model: bytes, source: str) -> tuple[ModelFacts, Any]:
    import sentencepiece

    try:
        facts = read_facts(model)
        return facts, sentencepiece.SentencePieceProcessor(model_proto=model)
    except (ValueError, RuntimeError, OSError) as exc:
        refuse_other_kinds(model, source)
        raise TokenizerError(
            f"{source} is not a SentencePiece model ({exc}); a file of base64 ranks, such as "
            "Llama 3's tokenizer.model, is of type tiktoken"
        ) from exc


def _vocabulary(library: Any, pieces: Sequence[str], control: Sequence[int]) -> Vocabulary:
    every = list(range(len(pieces)))
    unknown = [i for i, is_unknown in enumerate(library.is_unknown(every)) if is_unknown]
    byte = [i for i, is_byte in enumerate(library.is_byte(every)) if is_byte]
    content: list[bytes | None] = [p.replace(_SPACE_MARK, " ").encode() for p in pieces]
    for i in (*control, *unknown):
        content[i] = None
    for i in byte:
        content[i] = bytes.fromhex(pieces[i][3:5])  # <0x0A>
    return Vocabulary(
        token_bytes=content,
        special_ids=frozenset(control),
        unknown_ids=frozenset(unknown),
        byte_fallback_ids=frozenset(byte),
    )


def _fingerprint(
    library: Any, facts: ModelFacts, pieces: Sequence[str], control: Sequence[int]
) -> Fingerprint:
    every = list(range(len(pieces)))
    return Fingerprint.of(
        vocabulary=[piece.encode() for piece in pieces],
        scores=np.asarray(library.get_score(every), "<f4").tobytes(),
        special_tokens={
            "control": list(control),
            "unknown": [i for i, yes in enumerate(library.is_unknown(every)) if yes],
            "unused": [i for i, yes in enumerate(library.is_unused(every)) if yes],
        },
        normalizer={
            "charsmap": facts.charsmap,
            "add_dummy_prefix": facts.add_dummy_prefix,
            "remove_extra_whitespaces": facts.remove_extra_whitespaces,
            "escape_whitespaces": facts.escape_whitespaces,
        },
        options={
            "model_type": facts.model_type,
            "byte_fallback": facts.byte_fallback,
            "whitespace_as_suffix": facts.whitespace_as_suffix,
        },
    )


def _losses(facts: ModelFacts) -> Iterator[str]:
    """What keeps token bytes from adding up to the text's."""
    if facts.charsmap:
        yield f"the normalizer {facts.normalizer or 'of the file'} changes text"
    if facts.remove_extra_whitespaces:
        yield "leading, trailing and repeated spaces are removed"
    if not facts.byte_fallback:
        yield f"the {facts.model_type} model writes text without a piece as an unknown token"
