"""Two tokenizers that should give the same ids: where they do not, why, and a smallest text.

A difference is explained by the change of the text that makes both agree. Of each explanation
the shortest text is kept, and shrunk while the explanation stays the same. What is compared, and
what a difference means, is for the suites that use this.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.model import Finding, HasSpecialTokens, IntArray, Tokenizer
from tokbench.bench.run.probe import Examination, Subject
from tokbench.bench.workers.guarded_calls import Lost
from tokbench.suites.witnesses.shrink import shrink
from tokbench.suites.witnesses.suite import shown

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
OTHER_REASONS: Mapping[str, str] = {
    "special_token": "the text spells a special token",
    "lone_surrogates": "the text holds a lone surrogate, which no UTF-8 can",
    "failed": "one of them fails",
    "crashed": "one of them ended its process",
    "other": "no known change explains it",
}


class Pair(BaseModel):
    """Two tokenizers of the config, and the differences that are expected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: str = Field(description="Key of a tokenizer.")
    second: str = Field(description="Key of the tokenizer that it is compared with.")
    id_offset: int = Field(0, description="Ids of `second` minus ids of `first`.")
    expected: tuple[str, ...] = Field(
        (), description="Explanations that are expected, such as `nfc`."
    )
    expected_documents: tuple[str, ...] = Field(
        (), description="Ids of documents that may differ for any reason."
    )

    @field_validator("expected")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return known_explanations(names)


def known_explanations(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as they are; raise `ValueError` for an unknown one."""
    known = (*CHANGES, *OTHER_REASONS)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown explanation {name!r}; use one of: {', '.join(known)}")
    return names


@dataclass(frozen=True, kw_only=True)
class LoadedPair:
    """A pair, loaded."""

    pair: Pair
    first: Subject
    second: Subject

    @classmethod
    def of(cls, pair: Pair, examination: Examination) -> Self:
        """Return the comparison of a pair that is asked together."""
        return cls(
            pair=pair,
            first=examination.subject(pair.first),
            second=examination.subject(pair.second),
        )

    @cached_property
    def spellings(self) -> list[str]:
        """How special tokens of either are spelled, sorted."""
        return sorted(self.first.spellings | self.second.spellings)

    def asked(self, texts: Sequence[str]) -> list[tuple[Answer, Answer]]:
        """Return the ids of both for each text, as each of them says them."""
        return list(zip(self.first.ids(texts), self.second.ids(texts), strict=True))

    def answers(self, texts: Sequence[str]) -> list[tuple[Answer, Answer]]:
        """Return the ids of both for each text, those of the second written as the first's."""
        return [(first, self.as_first(second)) for first, second in self.asked(texts)]

    def as_first(self, answer: Answer) -> Answer:
        """Return ids of the second as ids of the first: offset taken off, roles set side by side.

        An id that has no partner becomes a negative number, which no id is.
        """
        if isinstance(answer, str) or not self.pair.id_offset:
            return answer
        return tuple(self._partner(i) for i in answer)

    def _partner(self, second: int) -> int:
        if second in self._roles:
            return self._roles[second]
        first = second - self.pair.id_offset
        known = 0 <= first < self.first.tokenizer.vocabulary.n_ids
        return first if known and first not in self._special_of_first else -1 - second

    @cached_property
    def _special_of_first(self) -> frozenset[int]:
        vocabulary = self.first.tokenizer.vocabulary
        return vocabulary.special_ids | vocabulary.unknown_ids

    @cached_property
    def _roles(self) -> dict[int, int]:
        """The first's id, or none, for each special and unknown id of the second.

        An offset is about ordinary entries: XLM-R has its pieces one higher in `tokenizers` than
        in SentencePiece, but the unknown token at 3 instead of 0.
        """
        first, second = (side.tokenizer for side in (self.first, self.second))
        special = second.vocabulary.special_ids | second.vocabulary.unknown_ids
        found = {i: -1 - i for i in special}
        spelled = _spelled_ids(first)
        found |= {i: spelled[name] for name, i in _spelled_ids(second).items() if name in spelled}
        unknown = sorted(first.vocabulary.unknown_ids)
        if unknown:
            found |= dict.fromkeys(second.vocabulary.unknown_ids, unknown[0])
        return found

    def differs(self, texts: Sequence[str]) -> list[bool]:
        """Say of each text whether the ids differ. Two that both fail agree, whatever they say."""
        return [_differ(first, second) for first, second in self.answers(texts)]

    def explain(self, texts: Sequence[str]) -> list[str]:
        """Name for each text what makes both agree.

        ``second:nfc`` where second normalizes and first does not. A text that is explained as it
        is, such as one that a library fails on, is not changed: the changed one would fail too.
        """
        plain = self.answers(texts)
        found = [self._as_it_is(t, *both) for t, both in zip(texts, plain, strict=True)]
        left = [i for i, explanation in enumerate(found) if explanation is None]
        changed = iter(self.answers([c(texts[i]) for i in left for c in CHANGES.values()]))
        for i in left:
            found[i] = _by_change(plain[i], [next(changed) for _ in CHANGES])
        return [explanation or "other" for explanation in found]

    def _as_it_is(self, text: str, first: Answer, second: Answer) -> str | None:
        if isinstance(first, Lost) or isinstance(second, Lost):
            return "crashed"
        if has_lone_surrogate(text):
            return "lone_surrogates"
        if isinstance(first, str) or isinstance(second, str):
            return "failed"
        return "special_token" if any(one in text for one in self.spellings) else None

    def reason(self, explanation: str) -> str:
        """Say an explanation in words."""
        side, _, name = explanation.partition(":")
        if not name:
            return OTHER_REASONS[explanation]
        return f"{self.pair.first if side == 'first' else self.pair.second} {MEANING[name]}"

    def expected(self, explanation: str, document_id: str | None) -> bool:
        """Whether the config lists it."""
        name = explanation.rpartition(":")[2]
        return name in self.pair.expected or document_id in self.pair.expected_documents


def has_lone_surrogate(text: str) -> bool:
    r"""Whether a text cannot be written as UTF-8.

    >>> has_lone_surrogate("a\ud800"), has_lone_surrogate("\U0001F600")
    (True, False)
    """
    return any("\ud800" <= character <= "\udfff" for character in text)


def _spelled_ids(tokenizer: Tokenizer) -> Mapping[str, int]:
    """Return the ids of special tokens by spelling; empty where a tokenizer does not say."""
    if not isinstance(tokenizer, HasSpecialTokens):
        return {}
    special: object = tokenizer.special_tokens
    if isinstance(special, Mapping):
        return special
    entries = getattr(tokenizer, "ids", {})  # our own models list spellings and index all entries
    return {name: entries[name] for name in tokenizer.special_tokens if name in entries}


def _differ(first: Answer, second: Answer) -> bool:
    return first != second and not (isinstance(first, str) and isinstance(second, str))


def _by_change(
    plain: tuple[Answer, Answer], changed: Sequence[tuple[Answer, Answer]]
) -> str | None:
    """Return the first change after which both agree, and who makes it by itself."""
    for name, (a, b) in zip(CHANGES, changed, strict=True):
        if a == b or name == "prefix_space":
            side = _who_changes(*plain, a, b)
            if side:
                return f"{side}:{name}"
    return None


def _who_changes(first: Answer, second: Answer, a: Answer, b: Answer) -> str | None:
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
    """What differed somewhere: texts by explanation, and the shortest text of each."""

    reasons: Counter[str] = field(default_factory=Counter)
    unexpected: int = 0
    refused: int = 0
    """Texts that both fail on, which are no difference."""
    examples: dict[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def differing(self) -> int:
        """Texts that differ, for whatever reason."""
        return self.reasons.total()

    def look_at(
        self, comparison: LoadedPair, texts: Sequence[str], ids: Sequence[str | None]
    ) -> None:
        """Compare texts, and explain and count those that differ."""
        answers = comparison.answers(texts)
        self.refused += sum(isinstance(a, str) and isinstance(b, str) for a, b in answers)
        differing = [i for i, (a, b) in enumerate(answers) if _differ(a, b)]
        explanations = comparison.explain([texts[i] for i in differing])
        for i, explanation in zip(differing, explanations, strict=True):
            self.add(comparison, explanation, texts[i], ids[i])

    def add(
        self, comparison: LoadedPair, explanation: str, text: str, document_id: str | None
    ) -> None:
        """Count one text that differs."""
        self.reasons[explanation] += 1
        self.unexpected += not comparison.expected(explanation, document_id)
        kept = self.examples.get(explanation)
        if kept is None or len(text) < len(kept[0]):
            self.examples[explanation] = text, document_id


def suspects(cell: Cell, other: Cell, pair: Pair) -> tuple[IntArray, int]:
    """Return the rows whose ids may differ, and how many rows both tokenizers have."""
    rows, mine, theirs = np.intersect1d(
        cell.tally.rows, other.tally.rows, assume_unique=True, return_indices=True
    )
    if pair.id_offset:
        return rows, len(rows)
    differ = cell.tally.ids_hash[mine] != other.tally.ids_hash[theirs]
    return rows[differ], len(rows)


def witnesses(
    comparison: LoadedPair, found: Differences, suite: str, key: CellKey | None
) -> Iterator[Finding]:
    """Yield a smallest text for each explanation."""
    for explanation in sorted(found.examples):
        text, document_id = found.examples[explanation]
        small = _smallest(comparison, explanation, text)
        yield _finding(comparison, explanation, small, document_id, suite, key, found)


def _smallest(comparison: LoadedPair, explanation: str, text: str) -> str:
    if explanation == "crashed":
        return text  # each try would cost a process

    def fails(texts: Sequence[str]) -> list[bool]:
        verdicts = comparison.differs(texts)
        suspects = [text for text, differs in zip(texts, verdicts, strict=True) if differs]
        found = iter(comparison.explain(suspects))
        return [differs and next(found) == explanation for differs in verdicts]

    return shrink(text, fails) or text


def _finding(
    comparison: LoadedPair,
    explanation: str,
    text: str,
    document_id: str | None,
    suite: str,
    key: CellKey | None,
    found: Differences,
) -> Finding:
    ((first, second),) = comparison.asked([text])
    at = _first_difference(first, comparison.as_first(second))
    pair = comparison.pair
    expected = comparison.expected(explanation, document_id)
    data: dict[str, Any] = {
        "class": f"{suite}:{explanation}",
        "meaning": comparison.reason(explanation),
        "first": pair.first,
        "second": pair.second,
        "text": text,
        "first_ids": first if isinstance(first, str) else list(first),
        "second_ids": second if isinstance(second, str) else list(second),
        "position": at,
        "expected": expected,
        "texts": found.reasons[explanation],
        "repeats": _differ(first, comparison.as_first(second)),
        **({"id_offset": pair.id_offset} if pair.id_offset else {}),
    }
    return Finding(
        kind="witness",
        reason="ids_differ",
        tokenizer=pair.first,
        corpus=key.corpus if key else None,
        language=key.language if key else None,
        document_id=document_id,
        message=(
            f"{comparison.reason(explanation)}: {pair.first} and {pair.second} differ on "
            f"{shown(text)} from token {at} on ({_shown_ids(first)} and {_shown_ids(second)}); "
            f"{found.reasons[explanation]} texts, {'expected' if expected else 'not expected'}"
        ),
        data=data,
    )


def _first_difference(first: Answer, second: Answer) -> int:
    """Return the first position at which two answers differ, 0 where one is no ids."""
    if isinstance(first, str) or isinstance(second, str):
        return 0
    unequal = (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(unequal, min(len(first), len(second)))


def _shown_ids(answer: Answer) -> str:
    if isinstance(answer, str):
        return answer.partition("\n")[0][:120]
    shown_ids = " ".join(map(str, answer[:8]))
    return f"{shown_ids} …" if len(answer) > 8 else shown_ids or "none"
