"""Two tokenizers declared to be one vocabulary, compared id by id.

Documents whose ids agree are known from the tallies' hashes; only those that differ are encoded
again. For each the first divergence is explained, by the change of the text that makes both
agree, and the shortest text of each explanation is shown.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from bench.calls import Lost
from bench.examine import Examination, Subject
from bench.model import Finding, IntArray, Measurement, MetricSpec
from bench.plugins import TokenizerSuite
from bench.tally import Cell, CellKey
from suites.fuzz import fuzz
from suites.shrink import shrink
from suites.witnesses import shown

AGREEMENT = MetricSpec(
    name="id_agreement",
    unit="share",
    direction="higher",
    definition="Share of documents for which two tokenizers declared to be one vocabulary give "
    "the same ids; params name both and count the differing documents by explanation.",
)
UNEXPECTED = MetricSpec(
    name="unexpected_id_differences",
    unit="documents",
    direction="lower",
    additive=True,
    definition="Documents whose ids differ for no reason that the config expects.",
)

SUITE = "differential"
Ids = tuple[int, ...]
Answer = Ids | str


def _form(form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> Callable[[str], str]:
    return lambda text: unicodedata.normalize(form, text)


CHANGES: Mapping[str, Callable[[str], str]] = {
    "nfc": _form("NFC"),
    "nfd": _form("NFD"),
    "nfkc": _form("NFKC"),
    "nfkd": _form("NFKD"),
    "lower_case": str.lower,
    "prefix_space": lambda text: f" {text}",
    "trimmed_space": str.strip,
    "merged_space": lambda text: " ".join(text.split()),
}
"""Explanations: a tokenizer that makes this change agrees with the other once both get it."""

MEANING = {
    "nfc": "normalizes to NFC",
    "nfd": "normalizes to NFD",
    "nfkc": "normalizes to NFKC",
    "nfkd": "normalizes to NFKD",
    "lower_case": "lower-cases",
    "prefix_space": "puts a space before the text",
    "trimmed_space": "trims white space",
    "merged_space": "merges white space",
}
OTHER_REASONS = ("special_token", "failed", "other")


class Pair(BaseModel):
    """Two tokenizers of the config, and the differences that are expected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: str
    second: str
    id_offset: int = Field(default=0, description="ids of second minus ids of first")
    expected: tuple[str, ...] = ()
    """Explanations that are no surprise, such as ``nfc``; see `CHANGES` and `OTHER_REASONS`."""
    expected_documents: tuple[str, ...] = ()
    """Ids of documents that may differ for any reason."""

    @field_validator("expected")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        known = (*CHANGES, *OTHER_REASONS)
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} is no explanation; there are: {', '.join(known)}")
        return names


class Differential(TokenizerSuite):
    """Compare pairs of tokenizers over every corpus of the run and over seeded hard strings."""

    pairs: tuple[Pair, ...] = Field(min_length=1)
    fuzz: int = Field(default=100, ge=0, le=100_000)

    metrics: ClassVar[tuple[MetricSpec, ...]] = (AGREEMENT, UNEXPECTED)

    def together(self, tokenizers: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the pairs, whatever else the run has."""
        return [(pair.first, pair.second) for pair in self.pairs]

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return how far each pair agrees, and a smallest text for each kind of difference."""
        for pair in self.pairs:
            if {pair.first, pair.second} == set(examination.tokenizers):
                comparison = Comparison(
                    pair=pair,
                    first=examination.subject(pair.first),
                    second=examination.subject(pair.second),
                )
                yield from _corpora(examination, comparison)
                if self.fuzz:
                    yield from _fuzz(comparison, examination.seed, self.fuzz)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A pair, loaded."""

    pair: Pair
    first: Subject
    second: Subject

    def answers(self, texts: Sequence[str]) -> list[tuple[Answer, Answer]]:
        """Return the ids of both for each text; those of the second moved by the offset."""
        offset = self.pair.id_offset
        second = [_moved(one, offset) for one in self.second.ids(texts)]
        return list(zip(self.first.ids(texts), second, strict=True))

    def differs(self, texts: Sequence[str]) -> list[bool]:
        """Say of each text whether the ids differ."""
        return [first != second for first, second in self.answers(texts)]

    def explain(self, text: str) -> str:
        """Name what makes both agree: ``second:nfc`` where second normalizes and first does not."""
        ((first, second),) = self.answers([text])
        if isinstance(first, str) or isinstance(second, str):
            return "failed"
        if self._spells_special(text):
            return "special_token"
        changed = self.answers([change(text) for change in CHANGES.values()])
        for name, (a, b) in zip(CHANGES, changed, strict=True):
            if a == b or name == "prefix_space":
                side = _who_changes(first, second, a, b)
                if side:
                    return f"{side}:{name}"
        return "other"

    def _spells_special(self, text: str) -> bool:
        subjects = (self.first, self.second)
        return any(s in text for one in subjects for s in one.spellings)

    def reason(self, explanation: str) -> str:
        """Say an explanation in words."""
        side, _, name = explanation.partition(":")
        if not name:
            return {
                "special_token": "the text spells a special token",
                "failed": "one of them fails",
            }.get(explanation, "no known change explains it")
        return f"{self.pair.first if side == 'first' else self.pair.second} {MEANING[name]}"

    def expected(self, explanation: str, document_id: str | None) -> bool:
        """Whether the config lists it."""
        name = explanation.rpartition(":")[2]
        return name in self.pair.expected or document_id in self.pair.expected_documents


def _moved(answer: Answer, offset: int) -> Answer:
    return answer if isinstance(answer, str) or not offset else tuple(i - offset for i in answer)


def _who_changes(first: Ids, second: Ids, a: Answer, b: Answer) -> str | None:
    """The side whose ids do not move when the text is changed does the change by itself."""
    if b == second and a != first and a == b:
        return "second"
    if a == first and b != second and a == b:
        return "first"
    if a == second and a != first:  # the change makes one what the other was: a prefix space
        return "second"
    return "first" if b == first and b != second else None


@dataclass(kw_only=True)
class Differences:
    """What differed somewhere: documents by explanation, and the shortest text of each."""

    reasons: Counter[str] = field(default_factory=Counter)
    unexpected: int = 0
    examples: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    def add(self, comparison: Comparison, text: str, document_id: str | None) -> None:
        """Explain and count one text that differs."""
        explanation = comparison.explain(text)
        self.reasons[explanation] += 1
        self.unexpected += not comparison.expected(explanation, document_id)
        kept = self.examples.get(explanation)
        if kept is None or len(text) < len(kept[0]):
            self.examples[explanation] = text, document_id


def _corpora(examination: Examination, comparison: Comparison) -> Iterator[Measurement | Finding]:
    for cell in examination.tallies.counted():
        pair, key = comparison.pair, cell.key
        other = examination.tallies.cells.get(CellKey(pair.second, key.corpus, key.language))
        if key.tokenizer != pair.first or other is None or not other.tally.n:
            continue
        rows, n = _suspects(cell, other, pair)
        found = Differences()
        ids = examination.tallies.facts(key).document_ids
        for mine, texts in examination.documents(key.corpus, key.language, rows):
            verdicts = comparison.differs(texts)
            for row, text, differs in zip(mine.tolist(), texts, verdicts, strict=True):
                if differs:
                    found.add(comparison, text, ids[row])
        yield from _measurements(comparison, found, n, key)
        yield from _witnesses(comparison, found, key)


def _suspects(cell: Cell, other: Cell, pair: Pair) -> tuple[IntArray, int]:
    """Return the rows whose ids may differ, and how many rows both tokenizers have."""
    rows, mine, theirs = np.intersect1d(
        cell.tally.rows, other.tally.rows, assume_unique=True, return_indices=True
    )
    if pair.id_offset:
        return rows, len(rows)
    differ = cell.tally.ids_hash[mine] != other.tally.ids_hash[theirs]
    return rows[differ], len(rows)


def _fuzz(comparison: Comparison, seed: int, n: int) -> Iterator[Measurement | Finding]:
    spellings = sorted(comparison.first.spellings | comparison.second.spellings)
    texts = fuzz(seed, n, spellings)
    found = Differences()
    for one, differs in zip(texts, comparison.differs([t.text for t in texts]), strict=True):
        if differs:
            found.add(comparison, one.text, f"fuzz:{one.category}")
    yield from _measurements(comparison, found, len(texts), None)
    yield from _witnesses(comparison, found, None)


def _measurements(
    comparison: Comparison, found: Differences, n: int, key: CellKey | None
) -> Iterator[Measurement]:
    pair = comparison.pair
    differing = sum(found.reasons.values())
    of = {"first": pair.first, "second": pair.second}
    where = {} if key else {"input": "fuzz", "unit_of_n": "strings"}
    counted = {"differing": differing, "reasons": dict(sorted(found.reasons.items()))}
    for metric, value, params in (
        (AGREEMENT, (n - differing) / n if n else None, {**of, **where, **counted}),
        (UNEXPECTED, float(found.unexpected), {**of, **where}),
    ):
        yield Measurement(
            metric=metric,
            suite=SUITE,
            tokenizer=pair.first,
            corpus=key.corpus if key else None,
            language=key.language if key else None,
            value=value,
            n=n,
            params=params,
        )


def _witnesses(
    comparison: Comparison, found: Differences, key: CellKey | None
) -> Iterator[Finding]:
    for explanation in sorted(found.examples):
        text, document_id = found.examples[explanation]

        def fails(texts: Sequence[str], explanation: str = explanation) -> list[bool]:
            differs = comparison.differs(texts)
            return [
                yes and comparison.explain(one) == explanation
                for one, yes in zip(texts, differs, strict=True)
            ]

        lost = any(isinstance(one, Lost) for one in comparison.answers([text])[0])
        # parts of a text that cost a process would cost one too
        small = text if lost else shrink(text, fails) or text
        yield _finding(comparison, explanation, small, document_id, key, found)


def _finding(
    comparison: Comparison,
    explanation: str,
    text: str,
    document_id: str | None,
    key: CellKey | None,
    found: Differences,
) -> Finding:
    ((first, second),) = comparison.answers([text])
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), None)
    at = min(len(first), len(second)) if at is None else at
    pair = comparison.pair
    expected = comparison.expected(explanation, document_id)
    return Finding(
        kind="witness",
        suite=SUITE,
        tokenizer=pair.first,
        corpus=key.corpus if key else None,
        language=key.language if key else None,
        document_id=document_id,
        message=(
            f"{comparison.reason(explanation)}: {pair.first} and {pair.second} differ on "
            f"{shown(text)} from token {at} on ({_ids(first)} and {_ids(second)}); "
            f"{found.reasons[explanation]} texts, {'expected' if expected else 'not expected'}"
        ),
        data={
            "class": f"differential:{explanation}",
            "first": pair.first,
            "second": pair.second,
            "text": text,
            "first_ids": first if isinstance(first, str) else list(first),
            "second_ids": second if isinstance(second, str) else list(second),
            "position": at,
            "expected": expected,
            "texts": found.reasons[explanation],
            "repeats": first != second,
        },
    )


def _ids(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer
    shown_ids = " ".join(map(str, answer[:8]))
    return f"{shown_ids} …" if len(answer) > 8 else shown_ids or "none"
