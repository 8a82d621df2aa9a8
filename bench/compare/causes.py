"""The part of a tokenizer that caused a changed segment, as far as two runs show it.

A cause is stated where it is certain: only one part of the fingerprint differs, or a token of one
side does not exist on the other. If several parts differ and the segment does not distinguish them,
they are named together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokbench.bench.compare.align import AlignedSide, TokenIds
from tokbench.bench.compare.comparison import Comparison, changed_parts
from tokbench.bench.errors import ResultsError
from tokbench.bench.results.run_folder import Results

NEVER_MOVE_IDS = ("decoder", "post_processor")


class Kind(NamedTuple):
    """Key of a change: the ids of both sides, as they lie in memory."""

    base: bytes
    candidate: bytes
    matched: bool


@dataclass(frozen=True, kw_only=True)
class VocabularyEntries:
    """The vocabulary of one side, as stored by its run."""

    token_bytes: Sequence[bytes | None]
    kinds: Mapping[int, str]
    complete: bool

    @classmethod
    def of(cls, table: pa.Table, n_entries: int) -> VocabularyEntries:
        """Read a table of `Results.vocabulary`."""
        ids = table["id"].to_pylist()
        token_bytes: list[bytes | None] = [None] * (max(ids, default=-1) + 1)
        for i, content in zip(ids, table["bytes"].to_pylist(), strict=True):
            token_bytes[i] = content
        kinds = table["kind"].to_pylist()
        return cls(
            token_bytes=token_bytes,
            kinds={i: kind for i, kind in zip(ids, kinds, strict=True) if kind != "ordinary"},
            complete=table.num_rows == n_entries,
        )

    @cached_property
    def known(self) -> frozenset[bytes]:
        """The bytes of all entries."""
        return frozenset(content for content in self.token_bytes if content)

    @cached_property
    def byte_lengths(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """By id, 0 where an id has no content."""
        return np.array([len(content or b"") for content in self.token_bytes], np.int64)

    def side(self, ids: Sequence[TokenIds]) -> AlignedSide:
        """Return documents of this side for `align`.

        Raises `ResultsError` for an id that the vocabulary does not have.
        """
        highest = max((int(one.max()) for one in ids if len(one)), default=-1)
        if highest >= len(self.token_bytes):
            raise ResultsError(
                f"a run folder is damaged or was edited: a document holds the id {highest}, which "
                "its vocabulary does not have"
            )
        return AlignedSide(ids=ids, token_bytes=self.token_bytes, byte_lengths=self.byte_lengths)

    def read(self, ids: bytes) -> tuple[bytes | None, ...]:
        """Return the pieces of some ids."""
        return tuple(self.token_bytes[i] for i in np.frombuffer(ids, np.uint32).tolist())


@dataclass(frozen=True, kw_only=True)
class Causes:
    """Finds the cause of a changed segment, as far as the two runs show it."""

    base: VocabularyEntries
    candidate: VocabularyEntries
    parts: Sequence[str]
    """Parts of the fingerprint that differ and can move ids."""
    versions: str
    """Changed library versions, in words."""

    def of(self, kind: Kind) -> str:
        """Return the cause of one change."""
        if not self.parts:
            return self.versions or "no recorded part"
        if len(self.parts) == 1:
            return self.parts[0]
        if "special_tokens" in self.parts and self._names_special(kind):
            return "special_tokens"
        if "normalizer" in self.parts and not kind.matched:
            return "normalizer"
        if "vocabulary" in self.parts and self._is_missing(kind):
            return "vocabulary"
        rest = [part for part in self.parts if part != "special_tokens"]
        return " or ".join(rest) if len(rest) < 4 else f"one of {len(rest)} parts that differ"

    def _names_special(self, kind: Kind) -> bool:
        return any(
            entries.kinds.get(i) in ("special", "added")
            for entries, ids in ((self.base, kind.base), (self.candidate, kind.candidate))
            for i in np.frombuffer(ids, np.uint32).tolist()
        )

    def _is_missing(self, kind: Kind) -> bool:
        """Return whether a token of one side is missing from the other's vocabulary."""
        pairs = (
            (self.base, kind.base, self.candidate),
            (self.candidate, kind.candidate, self.base),
        )
        return any(
            piece is not None and piece not in other.known
            for mine, ids, other in pairs
            if other.complete
            for piece in mine.read(ids)
        )


def causes_between(
    base: Results, candidate: Results, comparison: Comparison, tokenizer: str
) -> Causes:
    """Return the causes of one tokenizer's changes between two runs that keep ids."""
    entries = [
        VocabularyEntries.of(r.vocabulary(tokenizer), r.run["tokenizers"][tokenizer]["n_entries"])
        for r in (base, candidate)
    ]
    sides = comparison.base, comparison.candidate
    parts = changed_parts(*(side.tokenizers[tokenizer].parts for side in sides))
    versions = changed_versions(comparison)
    return Causes(
        base=entries[0],
        candidate=entries[1],
        parts=[part for part in parts if part not in NEVER_MOVE_IDS],
        versions=f"library version ({', '.join(versions)})" if versions else "",
    )


def changed_versions(comparison: Comparison) -> list[str]:
    """Return libraries whose versions differ, as ``name old → new``."""
    before, after = comparison.base.versions, comparison.candidate.versions
    return [
        f"{name} {before.get(name, 'absent')} → {after.get(name, 'absent')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
