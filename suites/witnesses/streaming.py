"""Decoding as tokens arrive: what a reader of a stream sees, against the whole sequence.

Three ways are compared: the whole sequence by the library, one token after the other by the bytes
of each id with unfinished characters held back, and one token after the other by the library.
The last is what naive streaming does, and it is not the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tokbench.bench.count.incremental import IncrementalDecoder
from tokbench.bench.count.tally import Cell
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Measurement
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, Trip
from tokbench.suites.rows import row
from tokbench.suites.witnesses.specs import HELD_BACK, INCREMENTAL, SINGLE_DECODES

STREAMING_METRICS = (INCREMENTAL, HELD_BACK, SINGLE_DECODES)


@dataclass(kw_only=True)
class _Seen:
    documents: int = 0
    same: int = 0
    single_same: int = 0
    tokens: int = 0
    held: int = 0


def streaming(
    examination: Examination, subject: Subject, cell: Cell, n: int
) -> Iterator[Measurement]:
    """Yield the streaming metrics of a cell over its first n documents."""
    seen = _Seen()
    rows = cell.tally.rows[:n]
    for _, texts in examination.documents(cell.key.corpus, cell.key.language, rows):
        for trip in subject.trips(texts):
            _stream(subject, trip, seen)
    byte_exact = subject.tokenizer.byte_exact
    why = None if seen.documents else Why("no_documents", "no document could be decoded")
    if not byte_exact:
        why = Why("not_offered", "token bytes are not meant to add up to the text")
    held_why = why or (None if seen.tokens else Why("no_tokens", "no tokens: nothing can wait"))
    share = seen.same / seen.documents if byte_exact and seen.documents else None
    held = seen.held / seen.tokens if byte_exact and seen.tokens else None
    single = seen.single_same / seen.documents if seen.documents else None
    yield row(cell, INCREMENTAL, share, n=seen.documents, why=why)
    yield row(cell, HELD_BACK, held, n=seen.tokens, unit="tokens", why=held_why)
    none = None if seen.documents else Why("no_documents", "no document could be decoded")
    yield row(cell, SINGLE_DECODES, single, n=seen.documents, why=none)


def _stream(subject: Subject, trip: Trip, seen: _Seen) -> None:
    if trip.failure is not None:
        return
    seen.documents += 1
    seen.tokens += len(trip.ids)
    distinct = sorted(set(trip.ids))
    alone = dict(zip(distinct, subject.texts([[i] for i in distinct]), strict=True))
    seen.single_same += "".join(alone[i][0] for i in trip.ids) == trip.back
    if subject.tokenizer.byte_exact:
        text, held = _by_bytes(subject, trip)
        seen.same += text == trip.back
        seen.held += held


def _by_bytes(subject: Subject, trip: Trip) -> tuple[str | None, int]:
    decoder = IncrementalDecoder.of(subject.tokenizer, errors="replace")
    parts, held = [], 0
    try:
        for token_id in trip.ids:
            parts.append(decoder.push(token_id))
            held += bool(decoder.pending)
        parts.append(decoder.finish())
    except TokenizerError:
        return None, held
    return "".join(parts), held
