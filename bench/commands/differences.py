"""How two trained vocabularies differ, and how well each matches a reference segmentation of words.

The reference is a file of the user: one word per line, its parts separated by spaces (``un happi
ness``). A cut counts where it lies inside the word. Precision is the share of a tokenizer's cuts
that are in the file, recall the share of the file's cuts that it makes, both over all words
together (as Morpho Challenge counts boundaries, each word once).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import mean
from typing import Any

from tokbench.bench.commands.inspect import Piece
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import percent, table
from tokbench.bench.model import Tokenizer
from tokbench.bench.run.probe import Subject

SHOWN = 12
"""Number of entries printed that only one vocabulary has."""


@dataclass(frozen=True, kw_only=True)
class TrainedSide:
    """One of two vocabularies."""

    key: str
    entries: int
    alone: tuple[bytes, ...]
    """Contents that only this one has, in the order of their ids."""
    mean_bytes: float
    """Of an entry."""
    cuts: tuple[int, int, int] | None
    """Cuts made, cuts of the file, cuts in both; None without a file."""

    @property
    def precision(self) -> float | None:
        """Share of its cuts that the file has; None if it makes no cut."""
        return self.cuts[2] / self.cuts[0] if self.cuts and self.cuts[0] else None

    @property
    def recall(self) -> float | None:
        """Share of the file's cuts that it makes."""
        return self.cuts[2] / self.cuts[1] if self.cuts and self.cuts[1] else None

    def to_json(self) -> dict[str, Any]:
        """Return plain values; contents are in hexadecimal."""
        return {
            "key": self.key,
            "entries": self.entries,
            "mean_bytes": self.mean_bytes,
            "alone": [content.hex() for content in self.alone],
            "precision": self.precision,
            "recall": self.recall,
        }


def read_segmentation(path: Path) -> list[tuple[str, ...]]:
    """Read segmented words, one per line.

    Raises `UsageError` for a file that cannot be read or in which no word has two parts.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"--segmentation {path}: cannot be read as UTF-8 text: {exc}") from exc
    words = [tuple(line.split()) for line in lines if line.strip()]
    if not any(len(word) > 1 for word in words):
        raise UsageError(
            f"--segmentation {path}: contains no segmented word; separate the parts "
            "by spaces, as in `un happi ness`"
        )
    return words


def check_two(keys: Collection[str]) -> None:
    """Raise `UsageError` unless there are exactly two keys."""
    if len(keys) != 2:
        raise UsageError(
            f"--differences compares two tokenizers, but there are {len(keys)}; choose two with "
            "--tokenizer"
        )


def differences(
    tokenizers: Mapping[str, Tokenizer], words: Sequence[tuple[str, ...]] | None
) -> list[TrainedSide]:
    """Compare two tokenizers."""
    contents = {key: _contents(tokenizer) for key, tokenizer in tokenizers.items()}
    sides = []
    for key, tokenizer in tokenizers.items():
        [other] = [set(found) for name, found in contents.items() if name != key]
        sides.append(
            TrainedSide(
                key=key,
                entries=len(contents[key]),
                alone=tuple(one for one in contents[key] if one not in other),
                mean_bytes=mean(map(len, contents[key])),
                cuts=None if words is None else _cuts(Subject(key=key, tokenizer=tokenizer), words),
            )
        )
    return sides


def _contents(tokenizer: Tokenizer) -> list[bytes]:
    """Return the distinct contents of all ids, without special tokens."""
    vocabulary = tokenizer.vocabulary
    return list(
        dict.fromkeys(
            content
            for token, content in enumerate(vocabulary.token_bytes)
            if content and token not in vocabulary.special_ids
        )
    )


def _cuts(subject: Subject, words: Sequence[tuple[str, ...]]) -> tuple[int, int, int]:
    texts = [" " + "".join(word) for word in words]  # as words stand in running text
    batch, encoded, boundaries = subject.cuts(texts)
    made = wanted = both = 0
    for i, word in enumerate(words):
        begin, end = encoded.offsets[i : i + 2].tolist()
        at = int(batch.offsets[i]) + 1
        size = len("".join(word).encode())
        found = {int(start) - at for start in boundaries.starts[begin:end]} & {*range(1, size)}
        gold = set(accumulate(len(part.encode()) for part in word[:-1]))
        made, wanted, both = made + len(found), wanted + len(gold), both + len(found & gold)
    return made, wanted, both


def render(sides: Sequence[TrainedSide]) -> str:
    """Return a table of both, and the first entries that only one has."""
    header = ["tokenizer", "entries", "only here", "mean bytes"]
    scored = any(side.cuts is not None for side in sides)
    header += ["cuts", "precision", "recall"] if scored else []
    rows = []
    for side in sides:
        row = [side.key, f"{side.entries:,}", f"{len(side.alone):,}", f"{side.mean_bytes:.2f}"]
        if side.cuts is not None:
            row += [f"{side.cuts[0]:,}", percent(side.precision), percent(side.recall)]
        rows.append(row)
    parts = [table(header, rows, right=range(1, len(header)))]
    for side in sides:
        shown = "  ".join(Piece(id=0, content=one).shown for one in side.alone[:SHOWN])
        parts.append(f"only in {side.key}, in order of learning: {shown or 'none'}")
    return "\n".join(parts)
