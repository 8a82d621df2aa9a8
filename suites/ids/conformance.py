"""Engines of one vocabulary, held against a reference id by id before anybody looks at their speed.

A round trip proves nothing here: wrong ids can decode to the right text. Documents whose ids agree
are known from the tallies' hashes; those that differ, and the adversarial strings, are asked in
a process that may be lost, since engines have been seen to abort on them. The verdict:

- `exact`: the ids of the reference on every text that was asked;
- `exact except`: other ids, or none, only on texts of kinds that the config allows by name;
- `wrong`: anything else. Reports mark its speed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tokbench.bench.count.tally import Cell, CellKey
from tokbench.bench.errors import TokenizerError
from tokbench.bench.markup import plural
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.run.probe import Examination, TokenizerSuite
from tokbench.suites.ids.adversarial import adversarial
from tokbench.suites.ids.comparing import (
    Differences,
    LoadedPair,
    Pair,
    known_explanations,
    suspects,
    witnesses,
)
from tokbench.suites.ids.ways import DIFFERING_BY_WAY, OtherIds, joined_and_cut, other_ids

NONCONFORMING = MetricSpec(
    name="nonconforming_texts",
    unit="texts",
    direction="lower",
    additive=True,
    definition="Documents of a corpus, or adversarial strings of a category, on which an engine "
    "does not give the ids of its reference, for a reason that the config does not allow.",
    formula="|{text : ids(engine, text) ≠ ids(reference, text), reason not allowed}|. A failure "
    "of one of the two is a difference, a failure of both is none.",
    source="tokbench. The explanations are those of the suite `differential`.",
    not_meant="0 does not prove an engine right: it says that none of the texts asked showed a "
    "difference. Their number is `n`.",
    trap="Checking decode(encode(text)) == text: many lists of ids decode to one text, and only "
    "one of them is what a model was trained on.",
)

Verdict = Literal["exact", "exact except", "wrong"]
JOINED_DOCUMENTS = "joined_documents"
"""Category of documents of a slice that were joined and cut at other places."""


class Engine(BaseModel):
    """What an engine is held against."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reference: str = Field(description="Key of the reference.")
    expected: tuple[str, ...] = Field(
        ("lone_surrogates",), description="Explanations that are allowed."
    )
    n_ids: int | None = Field(
        None,
        ge=1,
        description="Highest id + 1 of the engine, where it is known to differ from the "
        "reference's.",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        """Let the name of the reference stand for an engine without further options."""
        return {"reference": value} if isinstance(value, str) else value

    @field_validator("expected")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return known_explanations(names)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core)]}


class Conformance(TokenizerSuite):
    """Hold engines against references, on every corpus of the run and on adversarial strings."""

    engines: Mapping[str, Engine] = Field(
        min_length=1, description="References by engine, such as `{my_engine: o200k_base}`."
    )
    fuzz: int = Field(
        100, ge=0, le=100_000, description="Seeded strings of each category; 0 for none."
    )
    longest_run: int = Field(
        20_000, ge=1, description="Code points of the longest run of one character."
    )
    code_points: bool = Field(True, description="Ask about every code point, 9 MB of text.")
    ways: int = Field(
        50,
        ge=0,
        description="Documents of each slice that are joined and cut at other places, and asked in "
        "batches of other shapes, in other orders, again, and on 2 and 8 threads where the engine has "
        "such a call; 0 for none.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (NONCONFORMING, DIFFERING_BY_WAY)

    def together(self, tokenizers: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return each engine with its reference."""
        return [(key, engine.reference) for key, engine in self.engines.items()]

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return differences by place, their witnesses, and a verdict on the engine."""
        for key, engine in self.engines.items():
            if {key, engine.reference} == set(examination.tokenizers):
                _check(key, engine, examination)
                yield from self._engine(key, engine, examination)

    def _engine(
        self, key: str, engine: Engine, examination: Examination
    ) -> Iterator[Measurement | Finding]:
        pair = Pair(first=key, second=engine.reference, expected=engine.expected)
        comparison = LoadedPair.of(pair, examination)
        ledger = EngineLedger()
        for place in self._places(comparison, examination):
            ledger.add(place)
            yield place.measurement(pair)
            yield from witnesses(comparison, place.found, "conformance", place.key)
        if self.ways:
            yield from self._other_ways(comparison, examination, ledger)
        yield ledger.verdict(pair)

    def _other_ways(
        self, comparison: LoadedPair, examination: Examination, ledger: EngineLedger
    ) -> Iterator[Measurement | Finding]:
        """Ask the engine in other ways, and for documents joined and cut, with its reference."""
        cut = Differences()
        n = 0
        for cell in examination.tallies.counted():
            if cell.key.tokenizer != comparison.pair.first:
                continue
            rows = examination.drawn(cell, self.ways, "conformance")
            found = examination.documents(cell.key.corpus, cell.key.language, rows)
            texts = [text for _, some in found for text in some]
            seed = f"{examination.seed}/{cell.key.corpus}/{cell.key.language}"
            parts = joined_and_cut(texts, seed)
            n += len(parts)
            cut.look_at(comparison, parts, ["joined"] * len(parts))
            for one in other_ids(comparison.first, [*texts, *parts], seed):
                ledger.add_way(one)
                yield one.measurement(cell.key, len(texts) + len(parts))
                if one.texts:
                    yield one.finding(cell.key)
        place = ComparedTexts(found=cut, n=n, category=JOINED_DOCUMENTS)
        ledger.add(place)
        yield place.measurement(comparison.pair)
        yield from witnesses(comparison, cut, "conformance", None)

    def _places(self, comparison: LoadedPair, examination: Examination) -> Iterator[ComparedTexts]:
        yield from _corpora(comparison, examination)
        texts = adversarial(
            examination.seed,
            self.fuzz,
            comparison.spellings,
            longest_run=self.longest_run,
            code_points=self.code_points,
        )
        for category, some in groupby(texts, key=lambda one: one.category):
            found = Differences()
            asked = [one.text for one in some]
            found.look_at(comparison, asked, [f"adversarial:{category}"] * len(asked))
            yield ComparedTexts(found=found, n=len(asked), category=category)


def _check(key: str, engine: Engine, examination: Examination) -> None:
    """Raise `TokenizerError` where the two cannot be one vocabulary."""
    facts = examination.tallies.tokenizers
    wanted = engine.n_ids or facts[engine.reference].n_ids
    if facts[key].n_ids != wanted:
        whose = "the config says" if engine.n_ids else f"{engine.reference} has"
        raise TokenizerError(
            f"{key} has {facts[key].n_ids:,} ids where {whose} {wanted:,}: not the same "
            "vocabulary, or not all of it; load the right one, or say `n_ids` if it is meant"
        )


@dataclass(frozen=True, kw_only=True)
class ComparedTexts:
    """A language of a corpus or a category of strings: texts asked, and what differed."""

    found: Differences
    n: int
    key: CellKey | None = None
    category: str | None = None
    gone: str | None = None
    """Why the engine has no ids at all here."""

    def measurement(self, pair: Pair) -> Measurement:
        """Return the count of texts that differ without leave."""
        params: dict[str, Any] = {
            "reference": pair.second,
            "differing": self.found.differing,
            "reasons": dict(sorted(self.found.reasons.items())),
            "refused_by_both": self.found.refused,
        }
        if self.category:
            params |= {"category": self.category, "unit_of_n": "strings"}
        return Measurement(
            metric=NONCONFORMING,
            tokenizer=pair.first,
            corpus=self.key.corpus if self.key else None,
            language=self.key.language if self.key else None,
            value=None if self.gone else float(self.found.unexpected),
            n=self.n,
            params=params,
            status="failed" if self.gone else "ok",
            reason="tokenizer_failed" if self.gone else None,
            detail=self.gone,
        )


def _corpora(comparison: LoadedPair, examination: Examination) -> Iterator[ComparedTexts]:
    pair, cells = comparison.pair, examination.tallies.cells
    for other in examination.tallies.counted():
        if other.key.tokenizer != pair.second:
            continue
        key = CellKey(pair.first, other.key.corpus, other.key.language)
        mine = cells.get(key)
        if mine is not None and mine.tally.n:
            yield _cell(comparison, examination, mine, other)
        else:
            reason = mine.detail if mine else None
            reason = reason or "the engine's part of the run could not be counted"
            yield ComparedTexts(found=Differences(), n=other.tally.n, key=key, gone=reason)


def _cell(
    comparison: LoadedPair, examination: Examination, mine: Cell, other: Cell
) -> ComparedTexts:
    """Ask again about rows whose hashes differ, and about those that only the engine failed on."""
    rows, n = suspects(mine, other, comparison.pair)
    failed = np.intersect1d(np.array(mine.tally.failed_rows, np.int64), other.tally.rows)
    found = Differences()
    ids = examination.tallies.facts(mine.key).document_ids
    wanted = np.concatenate([rows, failed])
    for some, texts in examination.documents(mine.key.corpus, mine.key.language, wanted):
        found.look_at(comparison, texts, [ids[row] for row in some.tolist()])
    return ComparedTexts(found=found, n=n + len(failed), key=mine.key)


@dataclass(kw_only=True)
class EngineLedger:
    """All places of one engine, added up to a verdict."""

    documents: int = 0
    strings: int = 0
    joined: int = 0
    unexpected: int = 0
    differing: Counter[str] = field(default_factory=Counter)
    gone: int = 0
    refused: int = 0

    def add(self, place: ComparedTexts) -> None:
        """Take a place in."""
        self.documents += place.n if place.key else 0
        joined = place.category == JOINED_DOCUMENTS
        self.joined += place.n if joined else 0
        self.strings += 0 if place.key or joined else place.n
        self.unexpected += place.n if place.gone else place.found.unexpected
        self.gone += place.n if place.gone else 0
        self.refused += place.found.refused
        for explanation, n in place.found.reasons.items():
            self.differing[explanation.rpartition(":")[2]] += n

    def add_way(self, found: OtherIds) -> None:
        """Take in what another way of asking gave."""
        if found.texts:
            self.unexpected += found.texts
            self.differing[found.way] += found.texts

    @property
    def kind(self) -> Verdict:
        """The verdict in a word or two."""
        if self.unexpected:
            return "wrong"
        return "exact except" if self.differing else "exact"

    def verdict(self, pair: Pair) -> Finding:
        """Return the verdict with its numbers."""
        return Finding(
            kind="warning" if self.unexpected else "note",
            reason="verdict",
            tokenizer=pair.first,
            message=self._said(pair),
            data={
                "verdict": self.kind,
                "reference": pair.second,
                "documents": self.documents,
                "strings": self.strings,
                "joined": self.joined,
                "unexpected": self.unexpected,
                "allowed": self.differing.total() + self.gone - self.unexpected,
                "differing": dict(sorted(self.differing.items())),
                "refused_by_both": self.refused,
            },
        )

    def _said(self, pair: Pair) -> str:
        asked = f"{self.documents:,} documents and {self.strings:,} adversarial strings"
        if self.joined:
            asked += f", {plural(self.joined, 'text')} of documents joined and cut"
        if self.refused:
            asked += f", of which both refuse {self.refused:,}"
        by_reason = ", ".join(f"{n:,} {name}" for name, n in sorted(self.differing.items()))
        if self.kind == "exact":
            return f"exact: the ids of {pair.second} on {asked}"
        if self.kind == "exact except":
            return f"exact except {by_reason}: else the ids of {pair.second} on {asked}"
        reasons = f" ({by_reason})" if by_reason else ""
        gone = f"; it failed altogether on {self.gone:,} documents" if self.gone else ""
        return f"wrong: on {self.unexpected:,} texts{reasons} not the ids of {pair.second}, of {asked}{gone}"
