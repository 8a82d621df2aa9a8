"""Morfessor as a tokenizer of tokbench: words are cut into the morphs of a trained model.

Morfessor (Creutz and Lagus 2002; Virpioja et al. 2013) learns the morphs of a language from a list
of words, by minimum description length. A word is cut by the Viterbi search of the library; what
no morph spells, and all between words, is written byte by byte, so that every text comes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from tokbench.plugins import (
    Fingerprint,
    Ids,
    LoadContext,
    TokenizerError,
    TokenizerPlugin,
    Vocabulary,
)

WORD = re.compile(r"\w+")


class Morfessor(TokenizerPlugin):
    """A segmentation that `morfessor-train -S` wrote: text, since Morfessor's binary is a pickle."""

    file: str = Field(
        description="lines `COUNT morph + morph`, as `morfessor-train -S` writes them"
    )

    def load(self, context: LoadContext) -> MorfessorTokenizer:
        """Read the segmentation and build the model."""
        try:
            import morfessor
        except ImportError as exc:
            raise TokenizerError(f"this needs `pip install Morfessor` ({exc})") from exc
        model = morfessor.BaselineModel()
        model.load_segmentations(segmentations(context.resolve(self.file)))
        return MorfessorTokenizer(model)


def segmentations(path: Path) -> list[tuple[int, str, list[str]]]:
    """Return count, word and morphs of each line; lines that begin with # are left out."""
    found = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise TokenizerError(f"{path.name}: cannot be read: {exc}") from exc
    for number, line in enumerate(lines, 1):
        count, _, rest = line.strip().partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        morphs = rest.split(" + ")
        if not count.isdecimal() or not all(morphs):
            raise TokenizerError(f"{path.name}:{number}: write COUNT morph + morph")
        found.append((int(count), "".join(morphs), morphs))
    if not found:
        raise TokenizerError(f"{path.name}: holds no segmentation")
    return found


class MorfessorTokenizer:
    """Ids 0 to 255 are bytes, the others the morphs of the model in the order of code points."""

    byte_exact = True
    prefix_space = False
    notes: Sequence[str] = ()

    def __init__(self, model: Any) -> None:
        self._model = model
        morphs = sorted(morph for morph, _ in model.get_constructions())
        self._ids = {morph: 256 + i for i, morph in enumerate(morphs)}
        self._words: dict[str, tuple[int, ...]] = {}
        bytes_first = [bytes([b]) for b in range(256)]
        self.vocabulary = Vocabulary(token_bytes=[*bytes_first, *(m.encode() for m in morphs)])
        self.fingerprint = Fingerprint.of(vocabulary=dict(model.get_constructions()))

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text."""
        return [list(self._encode(text)) for text in texts]

    def _encode(self, text: str) -> Iterator[int]:
        end = 0
        for found in WORD.finditer(text):
            yield from text[end : found.start()].encode()
            yield from self._word(found[0])
            end = found.end()
        yield from text[end:].encode()

    def _word(self, word: str) -> tuple[int, ...]:
        if word not in self._words:
            morphs, _ = self._model.viterbi_segment(word)
            ids = [[self._ids[m]] if m in self._ids else list(m.encode()) for m in morphs]
            self._words[word] = tuple(i for some in ids for i in some)
        return self._words[word]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the text of each list of ids."""
        content = self.vocabulary.token_bytes
        return [b"".join(content[i] or b"" for i in one).decode("utf-8", "replace") for one in ids]
