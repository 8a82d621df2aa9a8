"""Every text that does not come back: classed, counted, and shown by a smallest witness.

The suite `fidelity` counts from tallies how much survives. This one asks the tokenizers again
about each document that failed, names the classes of its losses, and shrinks one witness for
each class and language. Beside the corpus it asks about seeded hard strings, about the stability
of ids, and about decoding as tokens arrive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.count.tally import EXACT, Cell
from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite, Trip
from tokbench.bench.workers.guarded_calls import Lost
from tokbench.suites.rows import row
from tokbench.suites.witnesses.fuzz import FuzzText, fuzz
from tokbench.suites.witnesses.loss_classes import CLASSES, Loss, Manner, classes_of, losses
from tokbench.suites.witnesses.shrink import shrink
from tokbench.suites.witnesses.specs import FAILURES, FUZZ, FUZZ_FAILURES, STABILITY
from tokbench.suites.witnesses.streaming import STREAMING_METRICS, streaming

MAX_SHRUNK = 4000
"""Characters of a document beyond which it is not shrunk while a shorter one shows the class."""


class Witnesses(TokenizerSuite):
    """Failures of the round trip, one by one.

    `documents` bounds how many failing documents of a cell are classed (all by default);
    `fuzz` is how many strings each of its categories has, 0 for none; `stream` is how many
    documents of a cell are decoded as they arrive.
    """

    documents: int | None = Field(
        None, ge=1, description="Failing documents of a cell that are classified; by default all."
    )
    fuzz: int = Field(
        100,
        ge=0,
        le=100_000,
        description="Seeded strings of each category (scripts, combining marks, emoji, bidi, "
        "controls, long runs and others); 0 for none.",
    )
    stream: int = Field(
        20, ge=0, description="Documents of a cell that are decoded as they arrive."
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        FAILURES,
        STABILITY,
        FUZZ,
        FUZZ_FAILURES,
        *STREAMING_METRICS,
    )

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return failures by class, their witnesses, and what the hard strings show."""
        for subject in examination.subjects():
            manner = Manner.of(subject)
            for cell in examination.tallies.counted():
                if cell.key.tokenizer == subject.key:
                    yield from self._cell(examination, subject, manner, cell)
            if self.fuzz:
                yield from _fuzz(subject, manner, examination.seed, self.fuzz)

    def _cell(
        self, examination: Examination, subject: Subject, manner: Manner, cell: Cell
    ) -> Iterator[Measurement | Finding]:
        failing = cell.tally.rows[cell.tally.documents["round_trip"] != EXACT]
        chosen = failing if self.documents is None else failing[: self.documents]
        ledger = Ledger()
        unstable = 0
        ids = examination.tallies.facts(cell.key).document_ids
        for rows, texts in examination.documents(cell.key.corpus, cell.key.language, chosen):
            trips = subject.trips(texts)
            for number, trip in zip(rows.tolist(), trips, strict=True):
                ledger.add(trip, losses(trip, manner), ids[number])
            unstable += _unstable(subject, trips)
        yield from _failures(cell, ledger, len(failing), len(chosen))
        yield _stability(cell, unstable, len(failing), len(chosen))
        yield from ledger.witnesses(subject, manner, cell)
        if self.stream:
            yield from streaming(examination, subject, cell, self.stream)


@dataclass(kw_only=True)
class Example:
    """The best text so far that shows a class, and where."""

    trip: Trip
    loss: Loss
    document_id: str | None


@dataclass(kw_only=True)
class Ledger:
    """Counts by class, and an example of each."""

    texts: Counter[str] = field(default_factory=Counter)
    spots: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Example] = field(default_factory=dict)

    def add(self, trip: Trip, found: Sequence[Loss], document_id: str | None) -> None:
        """Count one text; of those that show a class alone, the first short one is the example."""
        names = Counter(name for loss in found for name in loss.classes)
        self.texts.update(names.keys())
        self.spots.update(names)
        for loss in found:
            for name in loss.classes:
                best = self.examples.get(name)
                if best is None or _worth(trip, loss) < _worth(best.trip, best.loss):
                    self.examples[name] = Example(trip=trip, loss=loss, document_id=document_id)

    def witnesses(
        self, subject: Subject, manner: Manner, cell: Cell | None = None
    ) -> Iterator[Finding]:
        """Shrink the example of each class, in the order of `CLASSES`."""
        for name in CLASSES:
            if name in self.examples:
                yield _witness(subject, manner, name, self.examples[name], self, cell)


def _worth(trip: Trip, loss: Loss) -> tuple[int, int, int]:
    """Order examples: short enough to shrink, few classes at the spot, a small spot."""
    return len(trip.text) > MAX_SHRUNK, len(loss.classes), loss.spot.end - loss.spot.start


def _unstable(subject: Subject, trips: Sequence[Trip]) -> int:
    asked = [trip for trip in trips if trip.failure is None]
    again = subject.ids([trip.back for trip in asked])
    unstable = sum(one != trip.ids for one, trip in zip(again, asked, strict=True))
    return unstable + len(trips) - len(asked)


def _failures(cell: Cell, ledger: Ledger, failing: int, examined: int) -> Iterator[Measurement]:
    yield row(cell, FAILURES, failing)
    note = {} if examined == failing else {"examined": examined}
    for name in CLASSES:
        if ledger.texts[name]:
            params = {"class": name, "spots": ledger.spots[name], **note}
            yield row(cell, FAILURES, ledger.texts[name], params=params)


def _stability(cell: Cell, unstable: int, failing: int, examined: int) -> Measurement:
    if examined < failing:
        words = f"only {examined} of {failing} failing documents were asked; raise `documents`"
        return row(cell, STABILITY, None, why=Why("not_examined", words))
    n = cell.tally.n
    params = {"unstable": unstable}
    return row(cell, STABILITY, (n - unstable) / n, params=params)


def _witness(
    subject: Subject,
    manner: Manner,
    name: str,
    example: Example,
    ledger: Ledger,
    cell: Cell | None,
) -> Finding:
    def fails(texts: Sequence[str]) -> list[bool]:
        return [name in classes_of(trip, manner) for trip in subject.trips(texts)]

    spot, small = example.loss.spot, None
    if not isinstance(example.trip.failure, Lost):  # parts of it would end this process too
        small = shrink(example.trip.text, fails, start=spot.start, end=spot.end)
    # one text in a call of its own: what failed only in company would show here
    trip = subject.trips([example.trip.text if small is None else small])[0]
    repeats = name in classes_of(trip, manner)
    return Finding(
        kind="witness" if repeats else "warning",
        reason="changed_text" if trip.failure is None else "tokenizer_failed",
        tokenizer=subject.key,
        corpus=cell.key.corpus if cell else None,
        language=cell.key.language if cell else None,
        document_id=example.document_id,
        message=_message(name, trip, repeats),
        data={
            "class": name,
            "meaning": CLASSES[name],
            "text": trip.text,
            "back": trip.back,
            "ids": list(trip.ids),
            "failure": trip.failure,
            "repeats": repeats,
            "texts": ledger.texts[name],
            "spots": ledger.spots[name],
        },
    )


def _message(name: str, trip: Trip, repeats: bool) -> str:
    if trip.failure is not None:
        return f"{name}: {shown(trip.text)} made the library fail: {trip.failure}"
    again = "" if repeats else "; it failed in a batch and did not fail alone"
    return f"{CLASSES[name]}: {shown(trip.text)} came back as {shown(trip.back)}{again}"


def shown(text: str) -> str:
    """Write a short text with its code points, a long one with its ends.

    >>> shown("é"), shown("")
    ("'é' (U+00E9)", 'nothing')
    """
    if not text:
        return "nothing"
    if len(text) > 40:
        return f"{text[:16]!r} … {text[-8:]!r} ({len(text)} characters)"
    if len(text) > 4:
        return repr(text)
    return f"{text!r} ({' '.join(f'U+{ord(c):04X}' for c in text)})"


def _fuzz(
    subject: Subject, manner: Manner, seed: int, per_category: int
) -> Iterator[Measurement | Finding]:
    spellings = sorted(manner.spellings)
    texts = fuzz(seed, per_category, spellings)
    trips = subject.trips([one.text for one in texts])
    ledger = Ledger()
    for one, trip in zip(texts, trips, strict=True):
        ledger.add(trip, losses(trip, manner), f"fuzz:{one.category}")
    yield from _fuzz_shares(subject, texts, trips)
    for name in CLASSES:
        if ledger.texts[name]:
            failed, params = ledger.texts[name], {"class": name, "seed": seed}
            yield _of_strings(subject, FUZZ_FAILURES, failed, len(texts), params)
    yield from ledger.witnesses(subject, manner)


def _fuzz_shares(
    subject: Subject, texts: Sequence[FuzzText], trips: Sequence[Trip]
) -> Iterator[Measurement]:
    categories = np.array([one.category for one in texts])
    exact = np.array([trip.exact for trip in trips])
    for category in dict.fromkeys(one.category for one in texts):
        mine = exact[categories == category]
        yield _of_strings(subject, FUZZ, float(mine.mean()), len(mine), {"category": category})


def _of_strings(
    subject: Subject, metric: MetricSpec, value: float, n: int, params: Mapping[str, object]
) -> Measurement:
    return row(subject.key, metric, value, n=n, unit="strings", params=params)
