"""Why the ids of a tokenizer moved: what an explanation holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class ChangedPart:
    """What one language, script, category or cause contributes."""

    name: str
    segments: int = 0
    base_tokens: int = 0
    candidate_tokens: int = 0
    added: int = 0
    """Tokens that segments with more tokens than before have more."""
    saved: int = 0
    """Tokens that segments with fewer tokens than before have less."""

    @property
    def change(self) -> int:
        """Tokens more than before: added − saved."""
        return self.candidate_tokens - self.base_tokens


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One way of cutting that became another, wherever it occurs."""

    base: tuple[bytes | None, ...]
    candidate: tuple[bytes | None, ...]
    count: int
    languages: tuple[str, ...]
    """Most frequent first."""
    script: str
    category: str
    cause: str

    @property
    def change(self) -> int:
        """Tokens more than before, over all its occurrences."""
        return (len(self.candidate) - len(self.base)) * self.count


class DocumentChange(NamedTuple):
    """A document whose number of tokens moved."""

    language: str
    document_id: str
    base_tokens: int
    candidate_tokens: int


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why the ids of one tokenizer moved on one corpus."""

    tokenizer: str
    corpus: str
    documents: int
    changed_documents: int
    """Documents with other ids."""
    base_tokens: int
    candidate_tokens: int
    renumbered: int
    """Tokens of changed documents with the same bytes under another id."""
    unmatched: int
    """Changed documents whose bytes do not match: matched piece by piece."""
    parts_differ: tuple[str, ...]
    by: Mapping[str, tuple[ChangedPart, ...]]
    """Parts by language, script, category and cause, the largest change first."""
    top: tuple[Segment, ...]
    top_documents: tuple[DocumentChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> int:
        """Tokens more than before, over the whole corpus."""
        return self.candidate_tokens - self.base_tokens
