"""Why sizes changed: which documents, which segments, and which part of the tokenizer.

Works from two run folders that keep ids, without tokenizers and texts. Every changed segment is
in exactly one language, script, category and cause, so each of these adds up to the whole change.

A cause is stated where it is certain: only one part of the fingerprint differs, or a token of one
side does not exist on the other. If several parts differ and the segment does not distinguish them,
they are named together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tokbench.bench.compare.align import Change, TokenIds, align
from tokbench.bench.compare.causes import Causes, Kind, causes_between
from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explanation import ChangedPart, DocumentChange, Explanation, Segment
from tokbench.bench.compare.unicode_classes import category_of, script_of
from tokbench.bench.markup import listed, word_for
from tokbench.bench.results.run_folder import Results

N_TOP = 20
"""Segments and documents that are listed by name."""

READABLE = 20
"""Length, in pieces of both sides, up to which a segment is informative; longer ones come last."""

BY = ("language", "script", "category", "cause")


@dataclass
class _Count:
    """Sums over segments, while they are collected."""

    segments: int = 0
    base: int = 0
    candidate: int = 0
    added: int = 0
    saved: int = 0

    def add(self, base: int, candidate: int, count: int) -> None:
        self.segments += count
        self.base += base * count
        self.candidate += candidate * count
        self.added += max(candidate - base, 0) * count
        self.saved += max(base - candidate, 0) * count


def explain(
    base: Results, candidate: Results, comparison: Comparison
) -> tuple[tuple[Explanation, ...], tuple[str, ...]]:
    """Return why ids changed, by tokenizer and corpus, and what cannot be explained.

    Raises `ResultsError` when a file of either run is damaged.
    """
    explanations, remarks = [], []
    for tokenizer, corpus in _moved(comparison):
        missing = [r.name for r in (base, candidate) if not _keeps_ids(r, tokenizer)]
        if missing:
            remarks.append(_advice(missing))
            continue
        explanations.append(_explain(base, candidate, comparison, tokenizer, corpus))
    return tuple(explanations), tuple(dict.fromkeys(remarks))


def _advice(names: Sequence[str]) -> str:
    return (
        f"No segments are shown: {listed(names)} {word_for(len(names), 'keeps', 'keep')} "
        "no ids. Set `keep_ids: true` (or --set keep_ids=true), run both sides again and compare "
        "the two run folders."
    )


def without_ids(comparison: Comparison, names: Sequence[str]) -> tuple[str, ...]:
    """Return the note for a side that is not a run folder; nothing if no ids changed."""
    return (_advice(names),) if _moved(comparison) else ()


def _moved(comparison: Comparison) -> list[tuple[str, str]]:
    """Return tokenizer and corpus wherever the ids of a cell changed."""
    return sorted(
        {
            (v.key.tokenizer or "", v.key.corpus or "")
            for v in comparison.verdicts
            if v.key.metric == "ids" and v.outcome == "changed"
        }
    )


def _keeps_ids(results: Results, tokenizer: str) -> bool:
    path = results.folder / "vocabulary" / f"{tokenizer}.parquet"
    return bool(results.run["config"].get("keep_ids")) and path.exists()


def _explain(
    base: Results, candidate: Results, comparison: Comparison, tokenizer: str, corpus: str
) -> Explanation:
    collected = _Collected(causes=causes_between(base, candidate, comparison, tokenizer))
    sides = base.documents(tokenizer, corpus), candidate.documents(tokenizer, corpus)
    changed = {
        v.key.language
        for v in comparison.verdicts
        if (v.key.tokenizer, v.key.corpus) == (tokenizer, corpus)
        and v.key.metric == "ids"
        and v.outcome in ("changed", "same")
    }
    for language in sorted(name for name in changed if name):
        collected.add(language, *(_of_language(table, language) for table in sides))
    return collected.explanation(tokenizer, corpus)


def _of_language(table: pa.Table, language: str) -> pa.Table:
    chosen = table.filter(pc.equal(table["language"], language))
    return chosen.select(["document_id", "tokens", "ids_hash", "ids"]).combine_chunks()


@dataclass
class _Collected:
    """The changes of one tokenizer on one corpus, collected language by language."""

    causes: Causes
    documents: int = 0
    base_tokens: int = 0
    candidate_tokens: int = 0
    renumbered: int = 0
    unmatched: int = 0
    changed: list[DocumentChange] = field(default_factory=list)
    kinds: dict[Kind, Counter[str]] = field(default_factory=dict)
    """How often each change occurs, by language."""

    def add(self, language: str, base: pa.Table, candidate: pa.Table) -> None:
        """Take in one language; both tables hold the same documents in the same order."""
        self.documents += base.num_rows
        tokens = [t["tokens"].to_numpy() for t in (base, candidate)]
        self.base_tokens += int(tokens[0].sum())
        self.candidate_tokens += int(tokens[1].sum())
        hashes = [t["ids_hash"].to_numpy() for t in (base, candidate)]
        rows = np.flatnonzero(hashes[0] != hashes[1])
        names = base["document_id"].to_pylist()
        self.changed += [
            DocumentChange(language, names[i], int(tokens[0][i]), int(tokens[1][i]))
            for i in rows.tolist()
        ]
        found = align(
            self.causes.base.side(_ids(base, rows)),
            self.causes.candidate.side(_ids(candidate, rows)),
        )
        self.renumbered += found.renumbered
        self.unmatched += found.unmatched
        for change in found.changes:
            self._count(language, change)

    def _count(self, language: str, change: Change) -> None:
        kind = Kind(change.base.tobytes(), change.candidate.tobytes(), change.matched)
        self.kinds.setdefault(kind, Counter())[language] += 1

    def explanation(self, tokenizer: str, corpus: str) -> Explanation:
        """Return the sums over all that was taken in."""
        sums: dict[str, dict[str, _Count]] = {by: {} for by in BY}
        segments = [self._segment(kind, counts) for kind, counts in self.kinds.items()]
        for segment, counts in zip(segments, self.kinds.values(), strict=True):
            sizes = len(segment.base), len(segment.candidate)
            for language, count in counts.items():
                for by in BY:
                    name = language if by == "language" else getattr(segment, by)
                    sums[by].setdefault(name, _Count()).add(*sizes, count)
        return Explanation(
            tokenizer=tokenizer,
            corpus=corpus,
            documents=self.documents,
            changed_documents=len(self.changed),
            base_tokens=self.base_tokens,
            candidate_tokens=self.candidate_tokens,
            renumbered=self.renumbered,
            unmatched=self.unmatched,
            parts_differ=tuple(self.causes.parts),
            by={by: _parts(found) for by, found in sums.items()},
            top=tuple(sorted(segments, key=_by_size)[:N_TOP]),
            top_documents=tuple(
                sorted(
                    (d for d in self.changed if d.base_tokens != d.candidate_tokens),
                    key=lambda d: (-abs(d.candidate_tokens - d.base_tokens), d[:2]),
                )[:N_TOP]
            ),
            notes=tuple(self._notes()),
        )

    def _segment(self, kind: Kind, counts: Counter[str]) -> Segment:
        base, candidate = (
            self.causes.base.read(kind.base),
            self.causes.candidate.read(kind.candidate),
        )
        text = b"".join(piece or b"" for piece in base)
        text = text or b"".join(piece or b"" for piece in candidate)
        by_frequency = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return Segment(
            base=base,
            candidate=candidate,
            count=counts.total(),
            languages=tuple(language for language, _ in by_frequency),
            script=script_of(text),
            category=category_of(text) if kind.matched else "bytes do not match",
            cause=self.causes.of(kind),
        )

    def _notes(self) -> Iterator[str]:
        if self.unmatched:
            yield (
                f"In {self.unmatched:,} documents the tokens of the two sides do not spell the "
                "same bytes (text was normalized, or an unknown token replaces text that is not "
                "kept): they are matched piece by piece, so the two sides of a segment need not "
                "cover the same text."
            )
        if not (self.causes.base.complete and self.causes.candidate.complete):
            yield (
                "A vocabulary is too large to be kept whole: only the ids that occurred are known."
            )


def _ids(table: pa.Table, rows: Iterable[int]) -> list[TokenIds]:
    column = table["ids"].combine_chunks() if table.num_rows else None
    if column is None:
        return []
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    offsets = column.offsets.to_numpy()
    flat = column.values.to_numpy()
    return [flat[offsets[i] : offsets[i + 1]] for i in rows]


def _parts(found: Mapping[str, _Count]) -> tuple[ChangedPart, ...]:
    parts = [
        ChangedPart(
            name=name,
            segments=c.segments,
            base_tokens=c.base,
            candidate_tokens=c.candidate,
            added=c.added,
            saved=c.saved,
        )
        for name, c in found.items()
    ]
    return tuple(sorted(parts, key=lambda p: (-abs(p.change), -p.segments, p.name)))


def _by_size(segment: Segment) -> tuple[object, ...]:
    pieces = [piece or b"" for piece in (*segment.base, b"", *segment.candidate)]
    return len(pieces) > READABLE, -abs(segment.change), -segment.count, pieces
