"""Research tokenizers of TkTkT on any byte-level vocabulary.

TkTkT (Bauwens, https://github.com/bauwenst/TkTkT) has many ways to cut a pre-token into the
entries of a vocabulary. One adapter brings those that need the vocabulary alone: the pre-tokenizer
and the entries come from a byte-level `tokenizer.json`, the cutting from TkTkT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any, Literal

from pydantic import Field

from tokbench.plugins import (
    Fingerprint,
    Ids,
    LoadContext,
    TokenizerError,
    TokenizerPlugin,
    Vocabulary,
)

MODELS = {
    "L2R_Greedy": "greedy.directional",
    "R2L_Greedy": "greedy.directional",
    "L2R_R2L_Alternating": "greedy.directional",
    "LongestFirst": "greedy.randomaccess",
}
"""Classes of TkTkT that take a vocabulary alone, and their modules."""


class TkTkT(TokenizerPlugin):
    """A model of TkTkT over the entries of a byte-level `tokenizer.json`."""

    file: str = Field(description="a byte-level tokenizer.json without a normalizer")
    model: Literal["L2R_Greedy", "R2L_Greedy", "L2R_R2L_Alternating", "LongestFirst"] = Field(
        description="the class of TkTkT that cuts pre-tokens into entries"
    )

    def load(self, context: LoadContext) -> TkTkTTokenizer:
        """Read the file and build the model."""
        from tokenizers import Tokenizer as Library

        try:
            library = Library.from_file(str(context.resolve(self.file)))
        except Exception as exc:
            raise TokenizerError(f"{self.file}: is no tokenizer.json: {exc}") from exc
        if library.normalizer is not None:
            raise TokenizerError(f"{self.file}: has a normalizer; take a byte-level vocabulary")
        entries = library.get_vocab(with_added_tokens=False)
        letters = byte_letters()
        odd = next((one for one in entries if not set(one) <= letters.keys()), None)
        if odd is not None or not letters.keys() <= entries.keys():
            raise TokenizerError(f"{self.file}: is not byte-level (entry {odd!r})")
        return TkTkTTokenizer(library.pre_tokenizer, entries, self.model)


class TkTkTTokenizer:
    """Pre-tokens from `tokenizers`, entries from TkTkT, ids from the file."""

    byte_exact = True
    prefix_space = False
    notes: Sequence[str] = ()

    def __init__(self, cuts: Any, entries: Mapping[str, int], name: str) -> None:
        try:
            module = import_module(f"tktkt.models.{MODELS[name]}")
            names = import_module("tktkt.interfaces.identifiers")
            steps = import_module("tktkt.interfaces.preprocessors")
        except ImportError as exc:
            raise TokenizerError(
                f"this needs `pip install tokbench-tktkt[tktkt]` in an environment of its own ({exc})"
            ) from exc
        known = names.Vocab(
            sorted(entries, key=entries.__getitem__), names.NoSpecials(), unk_id=None
        )
        self._model = getattr(module, name)(steps.Preprocessor(), known)
        self._cuts, self._entries = cuts, entries
        letters = byte_letters()
        content: list[bytes | None] = [None] * (max(entries.values()) + 1)
        for entry, i in entries.items():
            content[i] = bytes(letters[c] for c in entry)
        holes = frozenset(i for i, one in enumerate(content) if one is None)
        self.vocabulary = Vocabulary(token_bytes=content, hole_ids=holes)
        self.fingerprint = Fingerprint.of(
            vocabulary=content, options=["tktkt", version("tktkt"), name]
        )

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> list[int]:
        words = self._cuts.pre_tokenize_str(text)
        return [self._entries[token] for word, _ in words for token in self._model.tokenise(word)]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the text of each list of ids."""
        content = self.vocabulary.token_bytes
        return [b"".join(content[i] or b"" for i in one).decode("utf-8", "replace") for one in ids]


def byte_letters() -> dict[str, int]:
    """Return the byte of each letter by which byte-level vocabularies (GPT-2) write bytes.

    Printable Latin-1 stands for itself, the other bytes for letters from U+0100 on.
    """
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {chr(b): b for b in shown} | {chr(256 + i): b for i, b in enumerate(hidden)}
