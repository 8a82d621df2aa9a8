"""The data of an explanation: why the ids of a tokenizer changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class ChangedPart:
    """Contribution of one language, script, category or cause."""

    name: str
    segments: int = 0
    base_tokens: int = 0
    candidate_tokens: int = 0
    added: int = 0
    """Additional tokens in segments that have more tokens than before."""
    saved: int = 0
    """Tokens saved in segments that have fewer tokens than before."""

    @property
    def change(self) -> int:
        """Change in tokens: added − saved."""
        return self.candidate_tokens - self.base_tokens


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One segmentation that changed to another, over all its occurrences."""

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
        """Change in tokens over all its occurrences."""
        return (len(self.candidate) - len(self.base)) * self.count


class DocumentChange(NamedTuple):
    """A document whose number of tokens changed."""

    language: str
    document_id: str
    base_tokens: int
    candidate_tokens: int


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why the ids of one tokenizer changed on one corpus."""

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
        """Change in tokens over the whole corpus."""
        return self.candidate_tokens - self.base_tokens
