"""Texts that both runs store and whose tokens changed: the same text, cut by base and candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.results.run_folder import Results

N_TEXTS = 8
"""Texts of each tokenizer on each corpus."""

Row = Mapping[str, Any]


class CutToken(NamedTuple):
    """A token of a text: its id, the bytes of the text that it covers, whether both sides cut it."""

    id: int
    content: bytes
    shared: bool


@dataclass(frozen=True, kw_only=True)
class TextPair:
    """One text as base and candidate cut it."""

    tokenizer: str
    corpus: str
    language: str
    document_id: str
    base: tuple[CutToken, ...]
    candidate: tuple[CutToken, ...]

    @property
    def change(self) -> int:
        """Tokens of the candidate minus tokens of the base."""
        return len(self.candidate) - len(self.base)


def text_pairs(base: Results, candidate: Results, comparison: Comparison) -> Iterator[TextPair]:
    """Yield for each tokenizer and corpus whose ids changed some texts whose lengths moved most.

    Only texts that both runs hold in `segments/` under the same id, word for word, and whose
    tokens have places in the text.
    """
    changed = {
        (v.key.tokenizer, v.key.corpus)
        for v in comparison.verdicts
        if v.key.metric == "ids" and v.outcome != "same" and v.key.tokenizer and v.key.corpus
    }
    for corpus in sorted({str(corpus) for _, corpus in changed}):
        if not (base.has_segments(corpus) and candidate.has_segments(corpus)):
            continue
        texts = [_by_document(side.segments(corpus).to_pylist()) for side in (base, candidate)]
        for tokenizer in sorted(str(name) for name, where in changed if where == corpus):
            yield from _chosen(_pairs(tokenizer, corpus, *texts))


def _chosen(pairs: Iterable[TextPair]) -> list[TextPair]:
    """Return those that moved most, the first of every language before the second of any."""
    seen: Counter[str] = Counter()
    turns = []
    for pair in sorted(pairs, key=lambda p: (-abs(p.change), p.language, p.document_id)):
        turns.append((seen[pair.language], pair))
        seen[pair.language] += 1
    return [pair for _, pair in sorted(turns, key=lambda turn: turn[0])][:N_TEXTS]


Texts = Mapping[tuple[str, str], Sequence[Row]]
"""Rows of a text and its cuts, by language and document."""


def _by_document(rows: Sequence[Row]) -> Texts:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["language"], row["document_id"]), []).append(row)
    return found


def _pairs(tokenizer: str, corpus: str, base: Texts, candidate: Texts) -> Iterator[TextPair]:
    for place in base.keys() & candidate.keys():
        mine, theirs = _cut(base[place], tokenizer), _cut(candidate[place], tokenizer)
        if mine is None or theirs is None or mine.text != theirs.text or mine.ids == theirs.ids:
            continue
        yield TextPair(
            tokenizer=tokenizer,
            corpus=corpus,
            language=place[0],
            document_id=place[1],
            base=mine.tokens(theirs),
            candidate=theirs.tokens(mine),
        )


class _Cut(NamedTuple):
    """A text with the ids of one side and the places of their tokens in its UTF-8."""

    text: bytes
    ids: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def tokens(self, other: _Cut) -> tuple[CutToken, ...]:
        shared = set(other.places)
        return tuple(
            CutToken(token, self.text[slice(*place)], place in shared)
            for token, place in zip(self.ids, self.places, strict=True)
        )


def _cut(rows: Sequence[Row], tokenizer: str) -> _Cut | None:
    text = next((row["text"] for row in rows if row["tokenizer"] is None), None)
    row = next((row for row in rows if row["tokenizer"] == tokenizer), None)
    if text is None or row is None or row["ids"] is None or row["ends"] is None:
        return None
    starts = row["starts"] or [0, *row["ends"][:-1]]
    if not len(starts) == len(row["ends"]) == len(row["ids"]):
        return None
    places = tuple(zip(starts, row["ends"], strict=True))
    return _Cut(text.encode(), tuple(row["ids"]), places)
