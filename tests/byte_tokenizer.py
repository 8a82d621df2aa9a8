"""A small tokenizer for suites to ask: bytes as ids, with one thing changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tokbench.bench.model import Fingerprint, Ids, Vocabulary
from tokbench.bench.run.probe import Subject

Ask = Callable[..., Subject]


@dataclass(frozen=True, kw_only=True)
class Bytes:
    """Ids are the bytes of the changed text; entries after 255 are pieces, longest first."""

    change: Callable[[str], str] = str
    pieces: tuple[bytes, ...] = ()
    unknown: str = ""
    """Characters written as the unknown id, 256, which decodes to ``<?>``."""
    byte_exact: bool = True
    prefix_space: bool = False
    notes: tuple[str, ...] = ()
    special_tokens: dict[str, int] = field(default_factory=dict)

    @property
    def vocabulary(self) -> Vocabulary:
        content: list[bytes | None] = [bytes([b]) for b in range(256)]
        return Vocabulary(token_bytes=[*content, None, *self.pieces], unknown_ids=frozenset({256}))

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint.of(vocabulary=list(self.pieces))

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        return [self._encode(self.change(text)) for text in texts]

    def _encode(self, text: str) -> list[int]:
        if "\0" in text:
            raise ValueError("no NUL here")
        ids: list[int] = []
        for part in text:
            ids += [256] if part in self.unknown else list(part.encode())
        data = bytes(i if i < 256 else 0 for i in ids)
        at, found = 0, []
        while at < len(data):
            piece = next((p for p in self.pieces if data.startswith(p, at)), None)
            found.append(257 + self.pieces.index(piece) if piece else ids[at])
            at += len(piece) if piece else 1
        return found

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        content = [*self.vocabulary.token_bytes]
        content[256] = b"<?>"
        return [b"".join(content[i] or b"" for i in one).decode("utf-8", "replace") for one in ids]
