"""A sample of documents with their variants, what the ids did, and the clearest example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tokbench.bench.model import Finding, IntArray
from tokbench.bench.run.probe import Subject
from tokbench.suites.robustness.following import (
    Followed,
    Original,
    Placed,
    differing,
    follow,
    placed,
)
from tokbench.suites.robustness.variants import Variant

SHOWN = 12
"""Tokens of a witness that are listed on either side."""


@dataclass(frozen=True, kw_only=True)
class Varied:
    """The variant of one document of the sample; no tokens where the library failed."""

    name: str
    place: int
    """Place of the document in the sample."""
    variant: Variant
    tokens: Placed | None = None
    followed: Followed | None = None


@dataclass(kw_only=True)
class VariedSample:
    """The documents of a slice that are varied, and their variants by class."""

    originals: Sequence[Original]
    varied: dict[str, list[Varied]] = field(default_factory=dict)

    def ask(self, subject: Subject, variants: Sequence[Varied]) -> None:
        """Encode variants and compare each with its original."""
        answers = placed(subject, [one.variant.text for one in variants])
        for one, tokens in zip(variants, answers, strict=True):
            done = one
            if tokens is not None:
                followed = follow(self.originals[one.place], one.variant, tokens)
                done = replace(one, tokens=tokens, followed=followed)
            self.varied.setdefault(one.name, []).append(done)

    def of(self, name: str) -> Sequence[Varied]:
        """Return the variants of a class."""
        return self.varied.get(name, ())

    def counts(self, names: Sequence[str]) -> IntArray:
        """Return all counts, shape (fields of `Followed`, classes, documents)."""
        found = np.zeros((len(Followed._fields), len(names), len(self.originals)), np.int64)
        for i, name in enumerate(names):
            for one in self.of(name):
                if one.followed is not None:
                    found[:, i, one.place] = one.followed
        return found

    def witnesses(self, names: Sequence[str]) -> Iterator[Witness]:
        """Yield, for each class, the shortest example of tokens touched beyond an edit."""
        for name in names:
            found = [
                Witness.of(self.originals[one.place], one, one.tokens, one.followed.touched)
                for one in self.of(name)
                if one.tokens and one.followed and one.followed.touched
            ]
            if found:
                yield min(found, key=lambda one: one.size)


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A variant whose edits changed tokens beyond them, and the ids where both differ."""

    name: str
    row: int
    touched: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, original: Original, varied: Varied, tokens: Placed, touched: int) -> Witness:
        """Take the part in which the ids differ."""
        mine, theirs = differing(original.tokens.ids, tokens.ids)
        return cls(
            name=varied.name,
            row=original.row,
            touched=touched,
            before=original.tokens.ids[mine],
            after=tokens.ids[theirs],
        )

    @property
    def size(self) -> int:
        """Tokens on both sides."""
        return len(self.before) + len(self.after)

    def finding(self, subject: Subject, corpus: str, language: str, document: str) -> Finding:
        """Return the tokens of both, as text."""
        contents = subject.tokenizer.vocabulary.token_bytes
        before, after = (
            [_shown(contents[i]) for i in ids[:SHOWN]] for ids in (self.before, self.after)
        )
        return Finding(
            kind="note",
            reason="examples",
            message=f"{self.name} changes tokens beyond the edit: "
            f"{' | '.join(map(repr, before))} becomes {' | '.join(map(repr, after))}",
            tokenizer=subject.key,
            corpus=corpus,
            language=language,
            document_id=document,
            data={
                "class": f"robustness:{self.name}",
                "touched": self.touched,
                "before": before,
                "after": after,
            },
        )


def _shown(content: bytes | None) -> str:
    return "[no text]" if content is None else content.decode(errors="replace")
