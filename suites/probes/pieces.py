"""How tokens cut strings: cut points in characters, for probes that look inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tokbench.bench.run.probe import Subject


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One string, and where its tokens are."""

    text: str
    tokens: int
    """All tokens, those that stand for nothing in the text too."""
    places: tuple[int, ...] | None
    """Bytes inside the text at which a token starts or ends; None where no place is known."""

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text between cuts; a piece that ends inside a character shows as U+FFFD."""
        if self.places is None:
            return (self.text,)
        data = self.text.encode()
        edges = (0, *self.places, len(data))
        return tuple(
            data[a:b].decode("utf-8", "replace") for a, b in zip(edges, edges[1:], strict=False)
        )


def cut(subject: Subject, texts: Sequence[str]) -> list[Cut]:
    """Return the cuts of each text; raises `TokenizerError` when the library fails."""
    batch, encoded, boundaries = subject.cuts(texts)
    found = []
    for i, text in enumerate(batch.texts):
        first, last = int(encoded.offsets[i]), int(encoded.offsets[i + 1])
        start, end = int(batch.offsets[i]), int(batch.offsets[i + 1])
        places = None
        if boundaries.known[i]:
            edges = np.concatenate([boundaries.starts[first:last], boundaries.ends[first:last]])
            inside = np.unique(edges[(edges > start) & (edges < end)] - start)
            places = tuple(inside.tolist())
        found.append(Cut(text=text, tokens=last - first, places=places))
    return found
